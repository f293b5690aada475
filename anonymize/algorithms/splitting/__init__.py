"""Recursive partitioning of a table, all classes of a batch at a time: the machinery that Mondrian's cut rules share."""
