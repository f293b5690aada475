"""Attributes as ordered lists of leaves: numeric domains, taxonomies, and how taxonomies are built or read."""
