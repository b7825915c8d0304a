"""Floor 2: what users subclass."""
