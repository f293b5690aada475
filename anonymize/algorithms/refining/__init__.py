"""Refinement: rows change their classes for as long as less information is lost."""
