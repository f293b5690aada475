"""A recoding as a file of its own, which gives what a release would show for rows it has never seen.

`save` makes it from what an algorithm found, `model` is the file, `places` finds where a value lies, `recoder` applies
it. What a kind of recoding has to say of itself is in `contents`; `regions` and `segments` say it for the two there
are: cuts that part all rows, and values that are parted attribute by attribute.
"""

from anonymize.recoding.saved.model import FORMAT_VERSION, Saved, load
from anonymize.recoding.saved.recoder import Counts, Recoded
from anonymize.recoding.saved.save import save

__all__ = ["FORMAT_VERSION", "Counts", "Recoded", "Saved", "load", "save"]
