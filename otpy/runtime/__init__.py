"""Floor 1: the runtime: mailboxes, workers, links, monitors, timers, names, refs and the system that owns them."""
