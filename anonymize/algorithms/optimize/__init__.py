"""Machinery of the search for an optimal set of splits: cells, costs, moves, the set-enumeration tree, local search."""
