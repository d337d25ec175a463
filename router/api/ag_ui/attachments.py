"""Files in what a person said: kept like any that is handed in, and then known by their ids."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field

from ag_ui.core import DataSource, FileSource, PartSource

from router.api.deps import Services
from router.api.handing_in import FileView, hand_in
from router.api.identifiers import derived_id
from router.api.uploads import Upload, check_kind
from router.domain.errors import InvalidInput
from router.domain.files import is_file_id
from router.domain.principals import Principal


@dataclass
class Attached:
    """The files of a message that can be used, and why the others can't."""

    files: list[FileView] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def attached(
    services: Services, caller: Principal, sources: Sequence[PartSource], message_id: str
) -> Attached:
    """What was sent inline is kept, once however often it is sent; our own ids are looked up.

    A part that can't be used fails no run, as the protocol wants it: it is warned of. Nothing
    is ever fetched from an address.
    """
    found = Attached()
    for number, source in enumerate(sources):
        try:
            key = derived_id("ag-ui file", caller.id, message_id, str(number))
            found.files.append(await _file(services, caller, source, key))
        except InvalidInput as error:
            found.warnings.append(f"part {number} was left out: {error}")
    return found


async def _file(services: Services, caller: Principal, source: PartSource, key: str) -> FileView:
    if isinstance(source, DataSource):
        content = _decoded(source.value)
        check_kind(content)
        return await hand_in(services, caller, Upload("", content), key)
    if isinstance(source, FileSource) and is_file_id(source.value):
        record = await services.store.files.find(caller.tenant, source.value)
        if record is not None and record.owner == caller.id:
            return FileView.of(record)
    raise InvalidInput(
        "nothing is fetched from elsewhere; send it inline, or hand it in by POST /v1/files and "
        'send {"type": "file", "value": its id}'
    )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"it isn't base64: {error}") from error
