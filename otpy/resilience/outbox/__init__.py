"""Store and forward: an outbox on the disk, whose rows reach a receiver over a bad network, once and in order."""
