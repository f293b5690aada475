"""Differential privacy: a budget and what is drawn from it, counts by a table's public domain, and the synthetic tables
that follow from such counts. Noise, private selection and accounting are opendp's, which comes with the extra `dp` and
is imported when something is drawn."""
