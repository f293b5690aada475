"""anonymize: turns a table about people into one that can be published, and proves it."""

__version__ = "0.1.0"
