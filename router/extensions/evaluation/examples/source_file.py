"""A file that is written into: nobody's change is lost, and what won't load goes back."""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

from router.domain.errors import Conflict, InvalidInput, MisconfiguredError, RouterError

_MARK = b"\xef\xbb\xbf"


class SourceFile:
    """The file as it was when it was read, or last written by this."""

    def __init__(self, path: Path) -> None:
        """Raises `MisconfiguredError` where it can't be read."""
        self.path = path
        self._raw = self._read()

    @property
    def text(self) -> str:
        """Its text, less a byte-order mark; raises `MisconfiguredError` where it isn't UTF-8."""
        try:
            return self._raw.removeprefix(_MARK).decode()
        except UnicodeDecodeError:
            raise MisconfiguredError(f"{self.path} isn't UTF-8: save it as UTF-8 first") from None

    def write(self, text: str, check: Callable[[], None]) -> None:
        """Write the text, and have it checked; what fails it brings back the file as it was.

        Raises `Conflict` where somebody changed the file meanwhile, and `InvalidInput` with what
        the check says.
        """
        if self._read() != self._raw:
            raise Conflict(f"{self.path} was changed meanwhile and is left alone: run this again")
        before = self._raw
        mark = _MARK if before.startswith(_MARK) else b""
        self._replace(mark + text.encode())
        try:
            check()
        except BaseException as error:
            self._replace(before)
            if not isinstance(error, RouterError):
                raise
            raise InvalidInput(
                f"{self.path} can't be loaded with the sentences, and is as it was: {error}"
            ) from error

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise MisconfiguredError(
                f"{self.path} can't be read ({error.strerror}): check its path and who may read it"
            ) from None

    def _replace(self, content: bytes) -> None:
        """At once or not at all: a watcher never sees half of it. A link stays one."""
        path = self.path.resolve()
        try:
            with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
                new.write(content)
            beside = Path(new.name)
            try:
                shutil.copymode(path, beside)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            raise MisconfiguredError(
                f"{self.path} can't be written ({error.strerror}): nothing was changed; "
                "check who may write into its folder"
            ) from None
        self._raw = content
