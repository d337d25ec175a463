"""TEMP."""

from router.documents.page import Material
from router.domain.locale import Localised


class Unreadable(Exception):
    def __init__(self, code: str, text: Localised) -> None:
        self.code, self.text = code, text


async def read(content: bytes) -> Material:
    raise Unreadable("no_reader", Localised(zh="没有", en="no reader"))
