"""A recoding as a thing of its own: a file that says of rows it has never seen what a release would show for them.

`save` makes it from what an algorithm found, `model` is the file, `places` says where a value lies, `recoder` applies
it.
"""

from anonymize.recoding.saved.model import FORMAT_VERSION, Saved, load
from anonymize.recoding.saved.recoder import Counts, Recoded, recoder
from anonymize.recoding.saved.save import save

__all__ = ["FORMAT_VERSION", "Counts", "Recoded", "Saved", "load", "recoder", "save"]
