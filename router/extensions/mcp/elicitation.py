"""What a server wants to know of a person while it is called, and what they have answered.

Nobody can be asked in the middle of a call: it may be days before they answer. So a question fails
the call, before anything was done, and once there is an answer the call is made anew with it.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import mcp_types as types
from pydantic import JsonValue

from router.domain.errors import Elicitation
from router.extensions.mcp.untrusted import LONGEST_ERROR, visible, worded_schema, wording

MOST_ASKED = 5
LONGEST_SCHEMA = 8 * 1024
"""Of a form, as JSON: a longer one is nothing that a person would fill in."""
LONGEST_URL = 2000
_NO_FORM = {"too_long": True}

NOBODY = types.ErrorData(
    code=types.INVALID_REQUEST,
    message="Nobody can be asked during a call. Do nothing; it is made again with the answer.",
)


class Interview:
    """One call's questions, and the answers that earlier tries have brought: each serves once."""

    def __init__(self, answers: Mapping[str, JsonValue]) -> None:
        self.asked: list[Elicitation] = []
        self._left = dict(answers)

    def answer(self, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """What the person said to it; where they haven't yet, that nobody answers now."""
        asked = _elicitation(params)
        if asked.key in self._left:
            return types.ElicitResult.model_validate(self._left.pop(asked.key))
        if len(self.asked) < MOST_ASKED:
            self.asked.append(asked)
        return NOBODY

    @property
    def summary(self) -> str:
        """Everything that was asked, for somebody who can't be asked."""
        each = (f"{one.message} ({_where(one)})" for one in self.asked)
        remedy = "Find it out, and call again with arguments that say it, if it takes such"
        return f"wants to know first: {'; '.join(each)}. {remedy}"


def _elicitation(params: types.ElicitRequestParams) -> Elicitation:
    """The question, visible and bounded; a form that is too long is left out."""
    what: dict[str, Any] = {"message": visible(params.message, LONGEST_ERROR)}
    if isinstance(params, types.ElicitRequestURLParams):
        what["url"] = visible(params.url, LONGEST_URL)
    else:
        try:
            what["schema_"] = worded_schema(params.requested_schema)
        except ValueError:
            what["schema_"] = _NO_FORM
    text = json.dumps(what, sort_keys=True, ensure_ascii=False)
    if len(text.encode()) > LONGEST_SCHEMA:
        what["schema_"] = _NO_FORM
    key = sha256(text.encode()).hexdigest()[:16]
    return Elicitation(key=key, **what)


def _where(asked: Elicitation) -> str:
    if asked.url is not None:
        return f"at the address {asked.url}"
    fields = json.dumps(asked.schema_.get("properties") or {}, ensure_ascii=False)
    return f"fields: {wording(fields, LONGEST_URL)}"
