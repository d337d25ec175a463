"""What flow files ask about the sample company itself: whether a paper is made out to it."""

import unicodedata

from pydantic import JsonValue

from activities.look_up import text
from router.sdk.lookups import lookup

NAMES = ("示例科技有限公司", "Example Technology Co., Ltd.")
"""What the company is called on invoices; a company writes its own here."""


@lookup("true where the company is called so on invoices, however it is spaced and spelt")
async def is_company(tenant: str, name: JsonValue) -> JsonValue:
    """True where this is one of the company's names."""
    del tenant  # one company, so far
    return _plain(text(name, "name")) in set(map(_plain, NAMES))


def _plain(name: str) -> str:
    """Letters and digits alone: `（北京）` and `(北京)` are one, and so are two spaces.

    >>> _plain("Example  Technology CO.,LTD.")
    'exampletechnologycoltd'
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in folded if letter.isalnum())
