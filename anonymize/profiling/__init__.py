"""What the columns of an unknown table seem to be, and a spec that says so.

`measure` reads the table once: exact counts of what singles people out, and a sample of rows. `shapes` knows texts by
their form, `words` columns by their names; `roles` and `hierarchies` guess from both, `joint` counts what columns give
away together, `capacity` what anonymity costs, `document` writes the spec. Nothing here is shown but names, counts and
guesses; a cell's value only where it is asked for.
"""
