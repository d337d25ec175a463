"""What Schemathesis can't know of this API, so that what it reports is a fault.

It loads this file by the path in `SCHEMATHESIS_HOOKS`.
"""

import re
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData

from router.domain.file_types import DOCUMENTS

BEGINNINGS = {
    "application/pdf": b"%PDF-1.7\n",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/webp": b"RIFF\0\0\0\0WEBP",
    "image/gif": b"GIF89a",
    "image/heic": b"\0\0\0\x18ftypheic",
    "application/ofd": b"PK\3\4PK\1\2" + b"\0" * 24 + b"\7\0" + b"\0" * 16 + b"OFD.xml",
    "application/xml": b"<EInvoice>",
}
assert BEGINNINGS.keys() == {kind.media_type for kind in DOCUMENTS}
for media_type, beginning in BEGINNINGS.items():
    schemathesis.openapi.media_type(media_type, st.binary(max_size=64).map(beginning.__add__))

UNSAYABLE = re.compile(
    r"isn't one that a list gave"  # a cursor is opaque: its pattern fits more than there are
    r"|was used before with another body"  # an idempotency key, drawn twice
    r"|was used for another message"
    r"|message_id and Idempotency-Key are the same thing"
    r"|the last message has to be the user's"
    r"|messages(\.\d+\.content)?: it (is empty|has)"  # what is said, in a protocol of others
    r"|messages: a tool's result is for what a user said"
    r"|is no name; use up to 64|it is no function; send"  # a front end's tools, likewise
    r"|messages: part \d+ was left out"  # and what is handed in there
    r"|response_(schema|format\.json_schema\.schema): it"  # which schemas an answer can be put into
    r"|it doesn't say what is to be remembered|it looks like a password"  # a memory's words
    r"|there is no such file of yours"
    r"|nobody has this id"  # who is in the directory
    r"|通讯录里没有您的|The directory has no"  # an account, which writing there takes
    r"|begin before the end|are more than \d+ days"  # two days, each of which is well by itself
    r"|end at another time than they begin"  # and quiet hours, likewise
    r"|says where to begin already"  # and a third way to say one of them
)
"""Why a request is refused that fits its schema, in words of the answer: no schema says these."""


@schemathesis.hook
def filter_failure(_: Any, failure: Failure, __: Any, response: Any) -> bool:
    """Keep all but refusals of what no schema can rule out."""
    refused = isinstance(failure, RejectedPositiveData)
    return not (refused and UNSAYABLE.search(response.text))
