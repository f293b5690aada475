"""What the cells of a release say of the people behind them: a meaning for each column, and the file that says it.

Whatever reads a release (`evaluate`, `attack`, `audit`, `reconstruct`, a public report) asks its manifest, and not
which algorithm made it. What has no known meaning is refused by name.
"""

from __future__ import annotations

from anonymize.meaning.kinds import DEFINED, Bounds, Changed, Channel, Detached, Exact, Meaning, Named, Spanning
from anonymize.meaning.manifest import Manifest

__all__ = ["DEFINED", "Bounds", "Changed", "Channel", "Detached", "Exact", "Manifest", "Meaning", "Named", "Spanning"]
