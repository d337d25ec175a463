"""More files than one question takes: the model is told which of them it doesn't see."""

from router.domain.documents import Document
from router.llm.types import ShownPicture
from router.routing.message_files import LONGEST_TEXTS, MOST_PICTURES, MessageFile, MessageFiles
from tests.table import each_row


def picture(number: int) -> MessageFile:
    name = f"photo-{number}.png"
    shown = ShownPicture(name=name, media_type="image/png", content=b"")
    return MessageFile(f"f{number}", name, "image/png", 9, pictures=(shown,))


def text(name: str, length: int) -> MessageFile:
    document = Document(text="x" * length, pages=2)
    return MessageFile(name, name, "application/pdf", 9, document)


@each_row(
    ("files", "told"),
    [
        ([picture(n) for n in range(MOST_PICTURES)], None),
        (
            [picture(n) for n in range(MOST_PICTURES + 2)],
            f"There are more, of photo-{MOST_PICTURES}.png, photo-{MOST_PICTURES + 1}.png: tell",
        ),
        ([text("a.pdf", LONGEST_TEXTS)], None),
        (
            [text("a.pdf", LONGEST_TEXTS - 10), text("b.pdf", 30)],
            "in b.pdf you were shown 10 of 30 characters",
        ),
        (
            [text("a.pdf", LONGEST_TEXTS), text("b.pdf", 30)],
            "in b.pdf you were shown 0 of 30 characters",
        ),
    ],
)
def test_what_has_no_room_is_named_to_the_model(files: list[MessageFile], told: str | None) -> None:
    message = MessageFiles(tuple(files)).beside("What is this?")
    assert len(message.pictures) <= MOST_PICTURES
    assert (told or "") in message.text
    assert ("tell the person" in message.text) == (told is not None)
