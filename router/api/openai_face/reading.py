"""The body of a completion request, read by whoever may send one, and no further than allowed.

A client sends the whole chat each time, with its pictures: that is more than other bodies here.
"""

from typing import Annotated

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from router.api.body import check_media_type, strict_json
from router.api.openai_face.asked import Completion
from router.api.openai_face.callers import Speaker

MOST_BYTES = 32 * 1024 * 1024
"""Two pictures of the largest size, in base64, and a long talk."""


async def _posted(request: Request, speaker: Speaker) -> Completion:
    """What is asked. The speaker is known by then: a stranger's megabytes aren't even read."""
    del speaker
    check_media_type(request)
    try:
        body = strict_json(await _read(request))
    except ValueError as error:
        raise HTTPException(400, f"The body isn't JSON: {error}.") from error
    return Completion.of(body)


Posted = Annotated[Completion, Depends(_posted)]
"""The request's body."""


async def _read(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MOST_BYTES:
        raise _too_large()
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise _too_large()
    return bytes(body)


def _too_large() -> HTTPException:
    return HTTPException(
        413, f"The body is larger than {MOST_BYTES} bytes; begin a new chat, or send less."
    )
