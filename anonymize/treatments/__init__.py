"""Treatments of columns: what is done to values beside or instead of equivalence classes."""
