"""The rows of a release: how they read, in which order, and as frames or lines for the file that is written."""
