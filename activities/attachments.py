"""Files of a turn as its models get them: loaded here, for no payload carries what is in them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from router.documents.renditions import PDF, PictureReader
from router.domain.file_types import MOST_FILES
from router.domain.messages import SpokenLine
from router.domain.principals import Principal
from router.domain.records import FileRecord
from router.llm.types import ShownPicture
from router.routing.message_files import MOST_PICTURES, MessageFile, MessageFiles
from router.store.blobs import Files
from router.store.documents import Documents


@dataclass
class Attachments:
    """Gives models the files of those who hand them in, and nobody else's."""

    files: Files
    documents: Documents
    reader: PictureReader = field(default_factory=PictureReader)

    async def shown(self, caller: Principal, ids: Sequence[str]) -> MessageFiles:
        """These files, as far as they are the caller's own, with at most `MOST_PICTURES`."""
        own = await self._own(caller, ids)
        to_see = [one for one in own if one.type == PDF or one.type.startswith("image/")]
        each, to_see = max(1, MOST_PICTURES // max(1, len(to_see))), to_see[:MOST_PICTURES]
        made = await asyncio.gather(*(self._pictures(record, each) for record in to_see))
        pictures = {record.id: found for record, found in zip(to_see, made, strict=True)}
        found = [await self._described(record, pictures.get(record.id, ())) for record in own]
        return MessageFiles(tuple(found))

    async def told(self, caller: Principal, history: Sequence[SpokenLine]) -> list[SpokenLine]:
        """What was said before, with what was read of the files that it came with, in words."""
        lines = []
        for line in history:
            own = await self._own(caller, line.files) if line.files else []
            described = [await self._described(record) for record in own]
            read = [one.inline for one in described if one.document is not None]
            text = "\n".join([line.text, *read])
            lines.append(line.replace(text=text) if read else line)
        return lines

    async def _own(self, caller: Principal, ids: Sequence[str]) -> list[FileRecord]:
        found = [await self.files.find(caller.tenant, id_) for id_ in ids[:MOST_FILES]]
        return [one for one in found if one is not None and one.owner == caller.id]

    async def _described(
        self, record: FileRecord, pictures: tuple[ShownPicture, ...] = ()
    ) -> MessageFile:
        document = await self.documents.find(record.tenant, record.id)
        about = (record.id, record.name, record.type, record.size)
        return MessageFile(*about, document, pictures)

    async def _pictures(self, record: FileRecord, most: int) -> tuple[ShownPicture, ...]:
        content = await self.files.content(record.tenant, record.id)
        if content is None:
            return ()
        made = await self.reader.pictures_of(content, record.type, most)
        return tuple(
            ShownPicture.model_validate({"name": record.name, "media_type": kind, "content": one})
            for kind, one in made
        )
