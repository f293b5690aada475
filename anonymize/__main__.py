"""`python -m anonymize` is the console script."""

from anonymize.cli import main

if __name__ == "__main__":
    main()
