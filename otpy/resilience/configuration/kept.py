"""The record on the disk, and the events and troubles of one configuration: what its holding stands on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otpy.core.text import exception_line
from otpy.events.resilience import ConfigurationRefused, ConfigurationSetAside
from otpy.resilience.configuration.document import Document
from otpy.resilience.errors import ConfigurationError, ConfigurationFileError

if TYPE_CHECKING:
    from otpy.events.event import Event
    from otpy.resilience.configuration.age import Age, Stamp
    from otpy.resilience.configuration.folder import Folder
    from otpy.resilience.configuration.handle import Configuration
    from otpy.resilience.configuration.keeper import Keeper
    from otpy.resilience.configuration.record import Record
    from otpy.resilience.configuration.standing import Trouble

__all__ = ["Kept"]


class Kept:
    """Used in the turns of the actor that keeps the folder; what happens is on the disk first, where it can be."""

    def __init__(self, actor: Keeper, configuration: Configuration[Any], folder: Folder, age: Age) -> None:
        """Of an actor."""
        self._actor, self._configuration, self._plan = actor, configuration, configuration.plan
        self._folder, self._age = folder, age
        self.record = folder.record
        self._refused: tuple[str, str] | None = None  # what was told last

    def load(self, version: int) -> tuple[Any, Document] | None:
        """What `check` makes of one that is kept; None when it cannot be used."""
        try:
            found = self._folder.read(version)
        except ConfigurationFileError as error:
            self.ill("disk", error.problem)
            return None
        self.tell_damaged()
        if found is None:
            self.record = self.record.lost(version)
            return None
        try:
            return self.checked(found[0]), found[0]
        except ConfigurationError as error:
            self.refuse(found[0], error)
            return None

    def commit(self, record: Record) -> bool:
        """Have it on the disk; where that fails it holds until the program ends, and is tried again with the next."""
        try:
            self.write(record)
        except ConfigurationFileError as error:
            self.record = record
            self.ill("disk", error.problem)
            return False
        self.well("disk")
        return True

    def keep_age(self, slack: float) -> None:
        """Have the age on the disk when it is too far off there."""
        if self.record.current is not None and self._age.is_off(slack):
            self.commit(self.record)

    def tell_damaged(self) -> None:
        """Tell of files that were moved aside."""
        damaged, self._folder.damaged = self._folder.damaged, []
        for aside, problem in damaged:
            self.emit(ConfigurationSetAside(**self.who(), aside=aside, problem=problem))

    def write(self, record: Record, stamp: Stamp | None = None) -> None:
        """Have it on the disk, with its age. Raises ConfigurationFileError."""
        self.record = self._folder.commit(replace(record, stamp=stamp or self._age.stamp()))

    def ill(self, trouble: Trouble, why: str) -> None:
        """Something is the matter."""
        self._configuration.standing.ill(self._actor.system, self._actor.ref.path, trouble, why)

    def well(self, *troubles: Trouble) -> None:
        """No longer."""
        self._configuration.standing.well(self._actor.system, self._actor.ref.path, *troubles)

    def emit(self, event: Event) -> None:
        """Tell of something."""
        self._actor.system.events.emit(event)

    def refuse(self, document: object, error: ConfigurationError) -> None:
        """What came cannot be used."""
        version = str(document.version)[:80] if isinstance(document, Document) else "?"
        if self._refused == (version, str(error)):
            return
        self._refused = version, str(error)
        self.emit(ConfigurationRefused(**self.who(), version=version, why=str(error)))

    def who(self) -> dict[str, Any]:  # Any: they are of many kinds
        """The first fields of all its events."""
        return {"path": self._actor.ref.path, "configuration": self._plan.name}

    def checked(self, document: Document) -> Any:  # Any: the user's
        """What `check` makes of a document. Raises ConfigurationError."""
        check = self._plan.check
        if check is None:
            return document.data
        try:
            return check(document.data)
        except Exception as error:  # noqa: BLE001 - the user's code
            raise ConfigurationError(f"it does not pass the check ({exception_line(error, 200)})") from None
