"""What usually helps against a crash, where its text gives it away."""

from __future__ import annotations

from otpy.core.reason import Crashed, Reason

__all__ = ["hint_for"]

THREAD_WORDS = ("same thread", "thread other than", "different thread", "main thread only", "not in main thread")


def hint_for(reason: Reason) -> str | None:
    """A sentence to print below a crash report, or None."""
    if isinstance(reason, Crashed) and any(word in reason.text for word in THREAD_WORDS):
        return 'hint: pool actors change threads between messages; give this one its own with place="thread"'
    return None
