"""``python -m ricordo`` is the command line."""

from ricordo.wiring import main

if __name__ == "__main__":
    main()
