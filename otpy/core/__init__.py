"""Floor 0: pure values and functions; nothing here starts a thread or reads a clock."""
