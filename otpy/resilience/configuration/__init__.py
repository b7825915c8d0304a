"""Last-known-good configuration: fetched, verified, kept on the disk, applied, and given up for the one before."""
