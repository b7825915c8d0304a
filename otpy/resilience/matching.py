"""Which errors are meant: a class, some classes, or a function that is asked."""

from __future__ import annotations

from collections.abc import Callable

from otpy.core.text import safe_repr
from otpy.errors import SpecError

__all__ = ["Errors", "matcher"]

Errors = type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]


def matcher(where: str, option: str, errors: Errors) -> Callable[[BaseException], bool]:
    """A function that tells whether an error is meant. Raises SpecError where it can mean none."""
    kinds = errors if isinstance(errors, tuple) else (errors,)
    if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
        return lambda error: isinstance(error, kinds)  # type: ignore[arg-type]  # as was just asked
    if isinstance(errors, type) or not callable(errors):
        problem = f"{option}={safe_repr(errors)}: a class of errors, a tuple of them, or a function of an error"
        raise SpecError(where, problem)
    return errors
