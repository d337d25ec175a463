"""The files of a zip that a stranger made, unpacked one by one and no further than bounds go.

Members are looked up by name; nothing is written, so that a name leads nowhere else.
"""

import io
import zipfile
import zlib

from router.documents.file_format import FileReading, UnreadableFile
from router.documents.xml_tree import Element, parsed

PACKED_SMALL = 100_000
"""Bytes: what unpacks into less is no bomb, however well it was packed."""


class ZipArchive:
    """The files of the zip by their paths, unpacked one by one as far as bounds go."""

    def __init__(self, content: bytes, reading: FileReading) -> None:
        self._reading = reading
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise UnreadableFile("damaged") from None
        members = self._zip.infolist()
        if len(members) > reading.limits.members:
            raise UnreadableFile("bomb")
        self._members = {one.filename.lstrip("/"): one for one in members}

    def has(self, path: str) -> bool:
        """True where there is a member of that path."""
        return path in self._members

    def bytes(self, path: str) -> bytes:
        """A member's content."""
        member = self._members.get(path)
        if member is None:
            raise UnreadableFile("damaged")
        if member.flag_bits & 1:
            raise UnreadableFile("encrypted")
        if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnreadableFile("damaged")
        packed = max(member.compress_size, 1)
        if member.file_size > max(PACKED_SMALL, packed * self._reading.limits.ratio):
            raise UnreadableFile("bomb")
        self._reading.unpack(member.file_size)
        try:
            # No more than it says of itself is unpacked.
            return self._zip.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError):
            raise UnreadableFile("damaged") from None

    def xml(self, path: str) -> Element:
        """A member that is XML."""
        try:
            return parsed(self.bytes(path), self._reading)
        except UnreadableFile as error:
            # What is encrypted as a whole looks like noise, and a file beside it says how.
            hidden = any("encrypt" in name.lower() for name in self._members)
            raise (
                UnreadableFile("encrypted") if hidden and error.code == "damaged" else error
            ) from None
