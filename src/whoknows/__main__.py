"""`python -m whoknows`: the command line."""

from whoknows.apps.cli import main

if __name__ == "__main__":
    main()
