"""Logs as lines with keys: each says which actor has written it, and in which job, whatever logger it used."""

from __future__ import annotations

from otpy.logs.keys import ActorKeys, actor_keys
from otpy.logs.line import Formatter
from otpy.logs.setup import configure

__all__ = ["ActorKeys", "Formatter", "actor_keys", "configure"]
