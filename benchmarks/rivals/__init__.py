"""The rivals, each driven the way its own documentation shows."""

from __future__ import annotations
