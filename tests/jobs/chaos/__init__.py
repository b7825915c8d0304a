"""Chaos: programs on one store that are killed, stopped and started again, and what must hold all the same."""
