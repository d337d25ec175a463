"""What a server wants to know from the person while it is called: elicitation.

Nobody can be asked in the middle of a call: it may be days before they answer. So the question
fails, and the call with it, before anything was done; whoever called learns what was asked. Once
there is an answer the call is made anew, with the answer ready for when the server asks again.

To dismiss the question wouldn't do: tools take that for a person's decision, and return as if
they were done.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import mcp_types as types
from pydantic import JsonValue

from router.domain.elicitation import Elicitation
from router.tool.mcp.untrusted import LONGEST_ERROR, visible, worded_schema, wording

MOST_ASKED = 5
"""Questions of one call that are passed on."""
LONGEST_SCHEMA = 8 * 1024
"""Of a form, as JSON: a longer one is nothing that a person would fill in."""
LONGEST_URL = 2000

NOBODY = types.ErrorData(
    code=types.INVALID_REQUEST,
    message="Nobody can be asked during a call. Do nothing; it is made again with the answer.",
)


class Interview:
    """One call's questions, and the answers that earlier tries of it have brought.

    Each answer serves once: a server that asks the same again didn't like it.
    """

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
        each = (f"{one.message}{_form(one)}" for one in self.asked)
        return (
            f"wants to know first: {'; '.join(each)}. Find it out, and call again with arguments "
            "that say it, if it takes such"
        )


def _elicitation(params: types.ElicitRequestParams) -> Elicitation:
    """The question, visible and bounded; a form that is too long is left out."""
    what: dict[str, Any] = {"message": visible(params.message, LONGEST_ERROR)}
    if isinstance(params, types.ElicitRequestURLParams):
        what["url"] = visible(params.url, LONGEST_URL)
    else:
        what["schema_"] = worded_schema(params.requested_schema)
    text = json.dumps(what, sort_keys=True, ensure_ascii=False)
    if len(text.encode()) > LONGEST_SCHEMA:
        what["schema_"] = {"too_long": True}
    key = sha256(text.encode()).hexdigest()[:16]
    return Elicitation(key=key, **what)


def _form(asked: Elicitation) -> str:
    if asked.url is not None:
        return f" (at the address {asked.url})"
    fields = json.dumps(asked.schema_.get("properties") or {}, ensure_ascii=False)
    return f" (fields: {wording(fields, LONGEST_URL)})"
