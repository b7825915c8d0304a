"""Floor 2: what actors persist, over restarts of the program; one SQLite file, which the program alone has open."""
