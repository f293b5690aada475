"""Recursive partitioning of a table, all classes of a batch at a time: what Mondrian's cut rules share."""
