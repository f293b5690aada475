"""Machinery of single-dimensional recodings: distinct rows, what nodes tell about targets, the recoding of a cut."""
