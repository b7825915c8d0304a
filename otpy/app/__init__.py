"""Floor 6: the composition root; knits a system, its control socket and the program's signals together."""
