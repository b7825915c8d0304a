"""Going on without the hub, and coming back to it in order."""
