"""Models trained on a release, and on its original: what either is worth to those who predict."""
