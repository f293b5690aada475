"""Releases that follow each other: who was shown in which class so far, and what the next release may show.

`state` is the private file that a series is kept in, `key` the key of its pseudonyms.
"""
