"""Synthetic tables: `agrawal`, for classification, and `census`, about people.

A generator yields a table piece by piece. A piece is drawn from a random stream of its own, so the same seed and number
of rows give the same table whatever the number of threads, and a shorter table is the beginning of a longer one.
"""
