"""`python -m otpy`: the command `otpy` where its script is not on the path."""

from __future__ import annotations

from otpy.cli import main

if __name__ == "__main__":
    main(prog_name="otpy")
