"""What the cells of a release say: the one reader of released text outside the second opinion, which has its own.

A file becomes columns of text (`files`), the distinct texts of a quasi-identifier become regions of its domain
(`regions`). How a cell is taken apart `anonymize.domain.cells` says; nothing of how the release was made is used.
"""
