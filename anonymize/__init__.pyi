from anonymize.errors import AnonymizeError as AnonymizeError
from anonymize.python import Spec as Spec
from anonymize.python import attack as attack
from anonymize.python import audit as audit
from anonymize.python import compare as compare
from anonymize.python import evaluate as evaluate
from anonymize.python import explain as explain
from anonymize.python import init as init
from anonymize.python import recode as recode
from anonymize.python import release as release
from anonymize.python import tabulate as tabulate
from anonymize.python import validate as validate
from anonymize.results import Attacked as Attacked
from anonymize.results import AuditReport as AuditReport
from anonymize.results import ComparedReleases as ComparedReleases
from anonymize.results import Evaluated as Evaluated
from anonymize.results import RecodedTable as RecodedTable
from anonymize.results import Release as Release
from anonymize.results import ReleasedTables as ReleasedTables
from anonymize.results import Validated as Validated

__version__: str
