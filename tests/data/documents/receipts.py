"""Draws the Chinese receipt that tests read: `python -m tests.data.documents.receipts`.

With Noto Sans CJK (SIL Open Font License), from Debian's package `fonts-noto-cjk`; the picture is
kept, so that tests need no font.
"""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
LINES = (
    "北京市出租汽车专用发票",
    "日期 2026-11-19",
    "上车 09:12",
    "里程 12.6km",
    "金额 58.00元",
    "发票号码 12345678",
)


def main() -> None:
    """Write `receipt.png` beside this file."""
    drawn = Image.new("L", (640, 520), 255)
    pen = ImageDraw.Draw(drawn)
    for at, line in enumerate(LINES):
        pen.text((40, 30 + at * 78), line, font=ImageFont.truetype(FONT, 40), fill=20)
    drawn.quantize(8).save(Path(__file__).parent / "receipt.png", optimize=True)


if __name__ == "__main__":
    main()
