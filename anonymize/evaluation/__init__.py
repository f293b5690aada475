"""A release beside the original: its text read as regions, and what these have lost or give away."""
