"""The body of a platform's request."""

from typing import Any

from starlette.exceptions import HTTPException

from router.api.body import strict_json


def json_object(raw: bytes) -> dict[str, Any]:
    """The JSON object that the bytes are; 400 where they are none."""
    try:
        value = strict_json(raw)
    except ValueError as error:
        raise HTTPException(400, f"The body isn't JSON: {error}.") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "The body is no JSON object.")
    return value
