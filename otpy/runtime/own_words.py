"""Names that only otpy's own actor classes may give to themselves."""

from __future__ import annotations

__all__ = ["refuse_own_words"]

OWN_WORDS = frozenset({"is_otpy_actor", "is_supervisor", "names_children", "otpy_children", "stops_by_signal"})
"""What only otpy's own classes say of themselves, for the runtime and the inspector believe it."""


def refuse_own_words(cls: type) -> None:
    """Refuse a class of the user's that has one of them. Raises TypeError.

    One that only says it is a supervisor has no table of children; whoever looks at the tree would stumble.
    """
    for base in cls.__mro__:
        for word in OWN_WORDS & vars(base).keys():
            if base.__module__.partition(".")[0] != "otpy":
                text = f"{base.__name__}.{word}: otpy needs this name itself; call it otherwise"
                raise TypeError(text)
