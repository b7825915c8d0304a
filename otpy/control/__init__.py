"""Floor 3: how a running program is seen and mended from another terminal."""
