"""Timelines of crashes of one child, and which of them is one too many: in OTP, and with otpy's exact window."""

from __future__ import annotations

__all__ = ["ROWS"]

LIVES = None

# (max_restarts, max_seconds, crash times in ms, OTP's outcome, otpy's). OTP floors its stamps to whole seconds, so its
# window is up to a second longer: the rows where the outcomes differ have a gap between P and P + 1 seconds.
ROWS = [
    # Case 132, a limit of 1 in 5 s.
    (1, 5.0, [100, 200], 2, 2),
    (1, 5.0, [900, 5900], 2, 2),  # exactly P apart: the edge counts
    (1, 5.0, [0, 5900], 2, LIVES),  # exact clock
    (1, 5.0, [900, 6050], LIVES, LIVES),
    (1, 5.0, [0, 6050], LIVES, LIVES),
    # Case 133, a limit of 1 in 1 s.
    (1, 1.0, [100, 500], 2, 2),
    (1, 1.0, [0, 1900], 2, LIVES),  # exact clock
    (1, 1.0, [900, 1100], 2, 2),
    (1, 1.0, [0, 2000], LIVES, LIVES),
    (1, 1.0, [100, 2100], LIVES, LIVES),
    (1, 1.0, [900, 2100], LIVES, LIVES),
    (1, 1.0, [0, 2100, 4200, 6300], LIVES, LIVES),
    # Case 134.
    (1, 2.0, [0, 2900], 2, LIVES),  # exact clock
    (1, 2.0, [900, 3050], LIVES, LIVES),
    (2, 1.0, [0, 500, 1900], 3, LIVES),  # exact clock
    (2, 1.0, [0, 500, 2050], LIVES, LIVES),
    (2, 1.0, [100, 200, 2050, 2100, 4050, 4100], LIVES, LIVES),
    (2, 2.0, [0, 1000, 2900], 3, LIVES),  # exact clock
    (2, 2.0, [0, 1000, 3050], LIVES, LIVES),
    (2, 3.0, [0, 1000, 2000], 3, 3),
    (2, 3.0, [0, 2000, 4000, 6000, 8000], LIVES, LIVES),
    # the exact edge, and just beyond it
    (0, 5.0, [0], 1, 1),
    (1, 0.5, [0, 500], 2, 2),
    (1, 0.5, [0, 501], LIVES, LIVES),
    (3, 5.0, [0, 1, 2, 3], 4, 4),
    (3, 5.0, [0, 1, 2, 5003], LIVES, LIVES),
]
