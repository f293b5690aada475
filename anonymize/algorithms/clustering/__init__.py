"""Clusters of rows by weighted certainty: what the bottom-up and the top-down method share."""
