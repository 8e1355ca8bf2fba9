"""The versions of a model: which are there, loading, serving or leaving."""

import asyncio
import contextlib
import dataclasses
from pathlib import Path

from keras_albert.serving.protocol.statuses import ServingError

STATES = ("START", "LOADING", "AVAILABLE", "UNLOADING", "END")
# Ended versions that are still told of.
KEPT_ENDS = 32


@dataclasses.dataclass
class Version:
    """A version of a model and what became of it.

    Attributes:
        model_name: string.
        number: int.
        folder: path.
        state: one of `STATES`.
        error: `ServingError` that ended it, or `None`.
        model: `LoadedModel` while it is available, else `None`.
        metadata: bytes, what the REST API says of it, once somebody asked.
    """

    model_name: str
    number: int
    folder: Path
    state: str = "START"
    error: ServingError | None = None
    model: object = None
    metadata: bytes | None = None
    _users: int = 0
    _unused: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    @contextlib.contextmanager
    def use(self):
        """Holds the version: it is not unloaded before the end of this."""
        self._users += 1
        self._unused.clear()
        try:
            yield self
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def drained(self):
        """Waits until nobody holds it."""
        if self._users:
            await self._unused.wait()


class ModelVersions:
    """The versions of one model.

    Args:
        config: `ModelConfig`.
    """

    def __init__(self, config):
        self.config = config
        self._versions = {}

    def plan(self, found):
        """Compares what is in the folder with what is served.

        Args:
            found: dict from version to path.

        Returns:
            `(to_load, to_unload)`, lists of `Version`. Old versions leave
            only when a wanted one is available.
        """
        wanted = self.config.wanted(found)
        for number, version in list(self._versions.items()):
            # A folder that was taken away and put back is a new attempt.
            if version.state == "END" and number not in found:
                del self._versions[number]
        to_load = []
        for number in sorted(wanted):
            version = self._versions.get(number)
            left = version is not None and (
                version.state == "END" and version.error is None
            )
            if version is None or left:
                version = Version(self.config.name, number, found[number])
                self._versions[number] = version
                to_load.append(version)
        served = [v for v in self._versions.values() if v.state == "AVAILABLE"]
        to_unload = [v for v in served if v.number not in wanted]
        if wanted and len(to_unload) == len(served):
            to_unload = []
        self._forget_old_ends()
        return to_load, to_unload

    def _forget_old_ends(self):
        ended = [n for n, v in self._versions.items() if v.state == "END"]
        for number in sorted(ended)[:-KEPT_ENDS]:
            if self._versions[number].error is None:
                del self._versions[number]

    def all(self):
        """The versions by falling number."""
        return sorted(
            self._versions.values(), key=lambda v: v.number, reverse=True
        )

    def find(self, number=None):
        """Finds a version that can answer.

        Args:
            number: int, or `None` for the latest.

        Returns:
            `Version`.

        Raises:
            ServingError: NOT_FOUND.
        """
        for version in self.all():
            if version.state == "AVAILABLE" and number in (
                None,
                version.number,
            ):
                return version
        raise not_found(self.config.name, number)


def not_found(name, number=None):
    """The error for a model or version that cannot answer."""
    asked = f"Latest({name})"
    if number is not None:
        asked = f"Specific({name}, {number})"
    return ServingError("NOT_FOUND", f"Servable not found for request: {asked}")
