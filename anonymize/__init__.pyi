from anonymize.errors import AnonymizeError as AnonymizeError
from anonymize.python import Attacked as Attacked
from anonymize.python import AuditReport as AuditReport
from anonymize.python import Evaluated as Evaluated
from anonymize.python import RecodedTable as RecodedTable
from anonymize.python import Release as Release
from anonymize.python import Spec as Spec
from anonymize.python import attack as attack
from anonymize.python import audit as audit
from anonymize.python import evaluate as evaluate
from anonymize.python import init as init
from anonymize.python import recode as recode
from anonymize.python import release as release

__version__: str
