"""What is read out of the words, people, fields and spans of a BPMN file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from router.domain.messages import EndStatus
from router.extensions.importers.beginning import FlowSketch, both, choices_of, name_of, slot_name
from router.extensions.importers.bpmn_process import FlowNode, form_fields
from router.extensions.importers.conditions import bare, compared
from router.formats.regex import compiled

_REJECTED = compiled(
    r"(?i)\b(?:no|not|non|nok|reject\w*|declin\w*|den(?:y|ied)|refus\w*|fail\w*|false|disapprov\w*"
    r"|invalid|unsuccessful)\b|n't\b|拒|驳|不|否|未|失败"
)
_RETURNED = compiled(
    r"(?i)\b(?:return\w*|revis\w*|rework\w*|clarif\w*|correct\w*|change\w*|more info\w*"
    r"|send back|sent back|resubmit\w*)\b|退回|修改|补充|打回|重填"
)
_APPROVED = compiled(
    r"(?i)\b(?:yes|ok|approv\w*|accept\w*|agree\w*|grant\w*|true|confirm\w*|valid|successful)\b"
    r"|同意|通过|批准|是|可以|准"
)
APPROVAL = compiled(
    r"(?i)\b(?:approv(?:e|es|ed|al|ing)|authori[sz]\w*|sign[ -]?off|decide\w*"
    r"|decision)\b|审批|审核|批准|核准|签字|审定|复核|批示"
)
_CANCELLED = compiled(r"(?i)\b(?:cancel\w*|withdr\w*|abort\w*)\b|取消|撤回|作废")
_REQUESTER = compiled(r"(?i)^(?:initiator|starter|requester|applicant|startuser\w*|applyuser\w*)$")
_OWNER = compiled(r"(user|group)\(([^()]+)\)")
_SPAN = re.compile(r"P(?=[\dT])(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?\Z")
LONGEST_SPAN = 20
"""Characters: what is longer counts in more digits than anybody waits."""
_TYPES = {
    "long": "integer",
    "integer": "integer",
    "int": "integer",
    "double": "number",
    "float": "number",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    "enum": "choice",
    "file": "file",
}


def verdict(words: str) -> str:
    """The way out of an approval that words mean, `approved`, `returned`, `rejected`; or nothing.

    >>> verdict("not approved"), verdict("clarify"), verdict("同意"), verdict("over 500")
    ('rejected', 'returned', 'approved', '')
    """
    for pattern, found in (
        (_RETURNED, "returned"),
        (_REJECTED, "rejected"),
        (_APPROVED, "approved"),
    ):
        if pattern.search(words):
            return found
    return ""


def verdict_of(condition: str, name: str) -> str:
    """The same of a way with a condition and a name; empty where they don't say surely."""
    about = compared(condition)
    if about is None:
        return verdict(name)
    if isinstance(about.value, str):
        return verdict(about.value) or verdict(name)
    told = verdict(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", about.field)) or "approved"
    if about.value:
        return told
    return {"approved": "rejected", "rejected": "approved"}.get(told, "")


def end_status(words: str) -> EndStatus:
    """How a flow ends where its end is called so."""
    if _CANCELLED.search(words):
        return "cancelled"
    return "rejected" if verdict(words) == "rejected" else "completed"


def spelt_span(text: str) -> str | None:
    """A span as a flow writes it; None where it has months or years, or is an expression."""
    plain = text.strip().strip("'\"")
    return plain if _SPAN.match(plain) and len(plain) < LONGEST_SPAN else None


class Performers:
    """Who does something: roles, expressions for people, or whoever has asked."""

    def __init__(self, node: FlowNode) -> None:
        self.is_requester = False
        self.roles: list[str] = []
        self.people: list[str] = []
        self.unclear: list[str] = []
        for word in _listed(node.get("candidateGroups")):
            self._add("group", word)
        for word in [*_listed(node.get("candidateUsers")), node.get("assignee")]:
            self._add("user", word)
        for owner in node.element.within():
            if owner.tag in {"humanPerformer", "potentialOwner", "performer"}:
                said = " ".join(
                    each.text for each in owner.within() if each.tag.endswith("xpression")
                )
                found = _OWNER.findall(said) or [("group", said)]
                for kind, word in found:
                    self._add(kind, word.strip())
        extension = node.element.first("extensionElements")
        for each in extension.within() if extension else ():
            if each.tag == "assignmentDefinition":
                self._add("user", each.attributes.get("assignee", ""))
                for word in _listed(each.attributes.get("candidateGroups", "")):
                    self._add("group", word)

    def _add(self, kind: str, word: str) -> None:
        is_expression = word[:1] in "$#=" and bool(word)
        plain = bare(word)
        if not plain:
            return
        if _REQUESTER.match(plain):
            self.is_requester = True
        elif is_expression:
            self.unclear.append(plain[:100])
        elif kind == "group":
            self.roles.append(role_of(plain))
        else:
            self.people.append(re.sub(r"['\\\n]", "", plain)[:64])

    @property
    def by(self) -> list[str]:
        """The expressions that give them."""
        roles = [f"role('{role}')" for role in dict.fromkeys(self.roles)]
        return [*roles, *(f"'{one}'" for one in dict.fromkeys(self.people))]

    @property
    def is_said(self) -> bool:
        """True where the file says anything of it."""
        return bool(self.is_requester or self.roles or self.people or self.unclear)


def role_of(words: str) -> str:
    """A role for what the file calls a group or lane; what has no letters keeps its words."""
    return name_of(words, otherwise=re.sub(r"['\"\\\s]", "", words)[:40] or "somebody")


def _listed(text: str) -> list[str]:
    plain = text.strip()
    if plain[:1] in "$#" and plain:
        return [plain]
    return [each.strip() for each in plain.lstrip("=").strip("[]").split(",") if each.strip()]


def slots_of(node: FlowNode, sketch: FlowSketch) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields of its form, by the names that they keep, as slots."""
    for field in form_fields(node):
        given = field.attributes
        label = given.get("label") or given.get("name") or given.get("id", "")
        name = slot_name(given.get("id", "") or label)
        kind = _TYPES.get(given.get("type", "string").lower(), "text")
        options = {
            each.attributes.get("id", ""): each.attributes.get("name", "")
            for each in field.within()
            if each.tag == "value" and each.attributes.get("id")
        }
        if kind == "choice" and not options:
            kind = "text"
            sketch.ask(
                f"“{label}”可以选什么？原件没有列出选项。",
                f"What may be chosen for “{label}”? The file lists nothing.",
                "slots",
                name,
            )
        slot: dict[str, Any] = {"type": kind}
        if not _is_required(field.attributes, field.within()):
            slot["required"] = False
        slot |= {"label": both(label), "ask": asked(label)}
        if kind == "choice":
            slot["choices"] = choices_of(options)
        yield name, slot


def asked(label: str) -> dict[str, str]:
    """The question for a field that is called so."""
    said: Mapping[str, str] = both(label)
    return {"zh": f"请填写：{said['zh']}", "en": f"{said['en']}?"}


def _is_required(given: Mapping[str, str], within: Any) -> bool:
    if given.get("required") in {"true", "false"}:
        return given["required"] == "true"
    return any(
        each.tag == "constraint" and each.attributes.get("name") == "required" for each in within
    )
