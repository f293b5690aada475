"""The mathematics of channels: what one does to a table, what it protects, how it is undone.

Everything here is arrays and probabilities; nothing knows a spec, a file or a text.
"""
