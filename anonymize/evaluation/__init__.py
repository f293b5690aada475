"""A release beside the original: its text read as regions, what these have lost, and what models make of them."""
