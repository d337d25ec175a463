"""Keeping the files that tools make, for whoever had them called."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from activities import provided
from router.domain.errors import UnusableResult
from router.domain.files import MOST_BYTES, safe_name, type_of
from router.domain.principals import Principal
from router.domain.records import FileRecord
from router.domain.texts import Localised
from router.tool.dependencies import Dependencies
from router.tool.files import ToolFile
from router.tool.tool import Tool


@dataclass(frozen=True)
class Keeping:
    """`router.tool.files.Keep`: files are their caller's, as if they had handed them in.

    In a flow that is the requester. A try that fails afterwards leaves files that nobody knows
    the ids of; the next one keeps its own.
    """

    tool: Tool
    owner: Principal
    dependencies: Dependencies

    async def __call__(self, files: Mapping[str, ToolFile]) -> None:
        """Keep them.

        Raises:
            UnusableResult: one is larger than 10 MiB.
            MisconfiguredError: nothing provides a store of files.
        """
        for file in files.values():
            self._check(file)
        store = self.dependencies.resolve(provided.files)
        for id_, file in files.items():
            await store.keep(self._record(id_, file), file.content)

    def _check(self, file: ToolFile) -> None:
        if len(file.content) > MOST_BYTES:
            name, size = file.name[:80], len(file.content)
            raise UnusableResult(
                Localised(
                    zh=f"“{self.tool.title.zh}”给出的文件“{name}”有 {size} 字节，"
                    f"超过了 {MOST_BYTES}，请一次少要一些",
                    en=f"{self.tool.name} gave the file {name!r} of {size} bytes, "
                    f"more than {MOST_BYTES}; ask it for less at a time",
                )
            )

    def _record(self, id_: str, file: ToolFile) -> FileRecord:
        return FileRecord(
            id=id_,
            tenant=self.owner.tenant,
            owner=self.owner.id,
            name=safe_name(file.name, file.content),
            type=type_of(file.content, file.type),
            size=len(file.content),
            sha256=hashlib.sha256(file.content).hexdigest(),
            at=datetime.now(UTC),
        )
