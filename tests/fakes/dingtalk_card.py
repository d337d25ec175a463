"""An approver's card of DingTalk as a drawing: what the template of docs/dingtalk.md shows.

python -m tests.fakes.dingtalk_card  # writes docs/images/dingtalk-card.svg
"""

import json
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from router.domain.locale import Localised
from router.domain.records import ApprovalRecord
from router.extensions.channels.base import DecisionRequest
from router.extensions.dingtalk.shapes import Fields, card_of

DRAWING = Path(__file__).parents[2] / "docs" / "images" / "dingtalk-card.svg"
WIDTH, LINE, EDGE = 340, 26, 18
STYLE = """\
.dt{--ink:#171a1d;--soft:#747677;--paper:#fff;--edge:#dcdee0;--blue:#1677ff;--red:#e34d4d;
font-family:system-ui,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif;font-size:14px}
@media (prefers-color-scheme:dark){.dt{--ink:#e8ecf2;--soft:#a3adbb;--paper:#1d2229;--edge:#3b4552}}
.card,.field{fill:var(--paper);stroke:var(--edge)}.text{fill:var(--ink)}.title{font-weight:600}
.soft{fill:var(--soft);font-size:12px}.blue{fill:var(--blue)}.red{fill:var(--red)}
.label{fill:#fff;text-anchor:middle}"""
SAMPLE = ApprovalRecord(
    id="a1",
    tenant="default",
    run="r1",
    workflow_id="w",
    flow="leave_request",
    person="bob",
    requester="alice",
    title=Localised(zh="王丽的年假，3 天", en="Alice's annual leave, 3 days"),
    summary={
        "dates": Localised(zh="2027年6月8日至10日", en="8 to 10 June 2027"),
        "reason": Localised(zh="家里有事", en="family"),
    },
    labels={
        "dates": Localised(zh="日期", en="Dates"),
        "reason": Localised(zh="事由", en="Reason"),
    },
    digest="d1",
    since=datetime(2026, 11, 26, tzinfo=UTC),
)


def drawn() -> str:
    """The card before and after it is decided on, beside each other."""
    before = card_of(DecisionRequest(SAMPLE, "王丽 Alice", "zh"))
    after = card_of(DecisionRequest(SAMPLE, "王丽 Alice", "zh", "✅ 已同意"))
    left, height = _card(before, 0)
    right, other = _card(after, WIDTH + EDGE)
    size = f"{2 * WIDTH + EDGE} {max(height, other)}"
    said = "An approver's card on DingTalk: with buttons and a field, then with what came of it."
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="dt" role="img" viewBox="0 0 {size}">'
    return f"{head}\n<title>{said}</title>\n<style>{STYLE}</style>\n{left}{right}</svg>\n"


def _card(fields: Fields, x: int) -> tuple[str, int]:
    """What the template shows of these variables, and how far down it goes."""
    y, parts, inside = EDGE + 10, list[str](), x + EDGE
    lines = [(fields["title"], "text title")]
    lines += [(text, "text") for text in fields["content"].split("\n") if text]
    lines += [(fields["status"], "text title")] if fields["status"] else []
    for text, kind in lines:
        parts.append(f'<text class="{kind}" x="{inside}" y="{y}">{escape(text)}</text>\n')
        y += LINE
    for number, button in enumerate(json.loads(fields["btns"])):
        left = inside + 96 * number
        parts.append(
            f'<rect class="{button["color"]}" x="{left}" y="{y - 12}" width="86" height="30" '
            f'rx="6"/><text class="label" x="{left + 43}" y="{y + 8}">{button["text"]}</text>\n'
        )
    y += 36 if fields["btns"] != "[]" else 0
    if fields["returning"]:
        parts.append(
            f'<rect class="field" x="{inside}" y="{y - 8}" width="{WIDTH - 2 * EDGE}" height="32" '
            f'rx="6"/><text class="soft" x="{inside + 8}" y="{y + 12}">'
            f"{escape(fields['hint'])}</text>\n"
        )
        y += 36
    frame = f'<rect class="card" x="{x + 1}" y="1" width="{WIDTH - 2}" height="{y - 2}" rx="10"/>\n'
    return frame + "".join(parts), y


if __name__ == "__main__":
    DRAWING.write_text(drawn(), encoding="utf-8")
