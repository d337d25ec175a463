"""Cards and forms of entrances that have no page of ours, drawn after what is really posted there.

python -m tests.fakes.drawings  # writes docs/images/{slack-card,feishu-card,mcp-form}.svg
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from router.domain.messages import ConfirmReply
from router.extensions.channels.base import DecisionRequest
from router.extensions.feishu import entrance as feishu
from router.extensions.mcp_server.questions import approval_form, form_of
from router.extensions.slack import entrance as slack
from tests.fakes.dingtalk_card import SAMPLE

FOLDER = Path(__file__).parents[2] / "docs" / "images"
WIDTH, LINE, EDGE = 340, 26, 18
STYLE = """\
.dw{--ink:#1d1c1d;--soft:#696969;--paper:#fff;--edge:#d6d6d6;
font-family:system-ui,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif;font-size:14px}
@media (prefers-color-scheme:dark){.dw{--ink:#e8ecf2;--soft:#a3adbb;--paper:#1d2229;--edge:#3b4552}}
.card,.field,.plain{fill:var(--paper);stroke:var(--edge)}.text,.plain+text{fill:var(--ink)}
.title{font-weight:600}.soft{fill:var(--soft);font-size:12px}.primary{fill:#007a5a}.danger{fill:#c4314b}
.label{fill:#fff;text-anchor:middle}.plain+.label{fill:var(--ink)}"""
REVISION = "2026-07-28"
REQUEST = DecisionRequest(SAMPLE, "王丽 Alice", "zh")
DECIDED = replace(REQUEST, outcome="✅ 已同意")
CONFIRMATION = ConfirmReply(
    type="confirm",
    text="Shall I ask for annual leave for you?",
    summary={"Dates": "8 to 10 June 2027", "Reason": "family", "Approver": "Bob Chen"},
    question="review:1",
)


@dataclass(frozen=True)
class Part:
    """A line, a field that is filled in, or a row of buttons, each with its look."""

    text: str = ""
    kind: str = "text"
    buttons: Sequence[tuple[str, str]] = ()


def of_slack(request: DecisionRequest) -> list[Part]:
    """What Slack shows of a card's blocks."""
    parts = list[Part]()
    for block in slack.blocks(request):
        match block:
            case {"type": "section", "text": {"text": text}}:
                parts.append(Part(text, "text" if parts else "text title"))
            case {"type": "context", "elements": [{"text": text}]}:
                parts.append(Part(text, "text title"))
            case {"type": "input", "label": {"text": text}}:
                parts.append(Part(text, "field"))
            case {"type": "actions", "elements": elements}:
                looks = [(each["text"]["text"], each.get("style", "plain")) for each in elements]
                parts.append(Part(buttons=looks))
    return parts


def of_feishu(request: DecisionRequest) -> list[Part]:
    """What Feishu shows of a card's elements, those of its form too."""
    parts = list[Part]()
    elements: list[Any] = [
        inner
        for each in feishu.card(request)["elements"]
        for inner in (each["elements"] if each["tag"] == "form" else [each])
    ]
    for each in elements:
        match each:
            case {"tag": "div", "text": {"content": text}}:
                parts.append(Part(text, "text" if parts else "text title"))
            case {"tag": "note", "elements": [{"content": text}]}:
                parts.append(Part(text, "text title"))
            case {"tag": "input", "placeholder": {"content": text}}:
                parts.append(Part(text, "field"))
            case {"tag": "action", "actions": actions}:
                parts.append(Part(buttons=[_pressed(action) for action in actions]))
            case {"tag": "button"}:
                parts.append(Part(buttons=[_pressed(each)]))
    return parts


def _pressed(button: Mapping[str, Any]) -> tuple[str, str]:
    looks = {"primary": "primary", "danger": "danger"}
    return button["text"]["content"], looks.get(button["type"], "plain")


def of_form(params: Any) -> list[Part]:
    """An elicitation as a program may show it: what is asked, a field each, and its own buttons."""
    first, *lines = params.message.split("\n")
    parts = [Part(first, "text title"), *(Part(line) for line in lines)]
    for field in params.requested_schema["properties"].values():
        values = " / ".join(each["title"] for each in field.get("oneOf", []))
        shown = "☐ " if field["type"] == "boolean" else ""
        parts.append(Part(f"{shown}{field['title']}{f': {values}' if values else ''}", "field"))
    return [*parts, Part(buttons=[("Submit", "primary"), ("Decline", "plain")])]


def drawn(said: str, *panels: Sequence[Part]) -> str:
    """The panels beside each other, as an SVG that reads `said` to whoever doesn't see it."""
    made = [_panel(parts, number * (WIDTH + EDGE)) for number, parts in enumerate(panels)]
    size = f"{len(made) * (WIDTH + EDGE) - EDGE} {max(height for _, height in made)}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="dw" role="img" viewBox="0 0 {size}">'
    inner = "".join(part for part, _ in made)
    return f"{head}\n<title>{escape(said)}</title>\n<style>{STYLE}</style>\n{inner}</svg>\n"


def _panel(parts: Sequence[Part], x: int) -> tuple[str, int]:
    y, inside, shapes = EDGE + 10, x + EDGE, list[str]()
    for part in parts:
        if part.buttons:
            shapes += _buttons(part.buttons, inside, y)
            y += 40
        elif part.kind == "field":
            shapes.append(
                f'<rect class="field" x="{inside}" y="{y - 12}" width="{WIDTH - 2 * EDGE}" '
                f'height="32" rx="6"/><text class="soft" x="{inside + 8}" y="{y + 8}">'
                f"{escape(part.text)}</text>\n"
            )
            y += 42
        else:
            shapes.append(
                f'<text class="{part.kind}" x="{inside}" y="{y}">{escape(part.text)}</text>\n'
            )
            y += LINE
    frame = f'<rect class="card" x="{x + 1}" y="1" width="{WIDTH - 2}" height="{y - 2}" rx="8"/>\n'
    return frame + "".join(shapes), y


def _buttons(buttons: Sequence[tuple[str, str]], left: int, y: int) -> list[str]:
    return [
        f'<rect class="{look}" x="{left + 96 * number}" y="{y - 12}" width="86" height="30" '
        f'rx="6"/><text class="label" x="{left + 96 * number + 43}" y="{y + 8}">'
        f"{escape(label)}</text>\n"
        for number, (label, look) in enumerate(buttons)
    ]


DRAWINGS: Mapping[str, Callable[[], str]] = {
    "slack-card": lambda: drawn(
        "An approver's card on Slack, and the same card once it is decided.",
        of_slack(REQUEST),
        of_slack(DECIDED),
    ),
    "feishu-card": lambda: drawn(
        "An approver's card on Feishu, and the same card once it is decided.",
        of_feishu(REQUEST),
        of_feishu(DECIDED),
    ),
    "mcp-form": lambda: drawn(
        "What an assistant's program shows its person: a request to confirm, and a decision.",
        of_form(form_of(CONFIRMATION, "en", REVISION)),
        of_form(approval_form(SAMPLE, "Alice Wang", [], "en", REVISION)),
    ),
}
"""By the name of their file."""


if __name__ == "__main__":
    for name, made in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(made(), encoding="utf-8")
