"""The head of a `SKILL.md`: the Agent Skills open format, and what of its `metadata` is ours.

Whatever the format's reference validator (`skills-ref`) accepts can be used here, if need be
without the part that makes no sense. Keys under `metadata` that begin with `router.` are ours, and
a slip of the pen in one is an error.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from router.domain.errors import Fault, nearest
from router.domain.locale import Localised
from router.formats.validation import Complaint, Entry, FileWording, misfit, said, validated
from router.skill.skill import MAX_TURNS, MOST_SUBAGENTS, TOKEN_BUDGET, Mode, Skill

OURS = "router."
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500
LONGEST_HINT = 200
MOST_TURNS = 60
MOST_TOKENS = 2_000_000
PLANNED = {"max_turns": 24, "token_budget": 180_000}
"""What a skill has that works by a plan, where it doesn't say: steps take turns of their own."""

_SWITCHES = {"require_done", "reflect", "confirm_plan"}
OF_A_RUN = {"roles", "model", "mode", "examples", "hands_to", "subagents", *_SWITCHES, *PLANNED}
"""Keys that are a skill's fields as they are."""

OF_OTHERS = frozenset(
    (
        *("model", "effort", "context", "agent", "hooks", "paths", "arguments", "shell"),
        *("version", "tags", "author", "dependencies", "when_to_use"),
    )
)
"""Keys that other agents have added to the format, and that mean nothing here."""
_NEEDED = {"name", "description"}

_NAME = re.compile(r"[^\W_]+(-[^\W_]+)*")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
"""A name, with what another agent's rules put in brackets: `Bash(git add:*)`."""
_WORDING = FileWording(add="write a line {key}: …", mapping="{key} isn't a mapping")


def _text(longest: int) -> BeforeValidator:
    def check(value: Any) -> str:
        if value is None or value == "":
            raise misfit("there is no {key}", "write a line {key}: …")
        if not isinstance(value, str) or not value.strip():
            raise misfit("{key} isn't text", "write {key} as text, in quotes where in doubt")
        if len(value) > longest:
            raise misfit(f"{{key}} has {len(value)} characters", f"write {longest} at most")
        return value.strip()

    # Not a bound of the field: a name of YAML's own, such as 2026, is text here.
    return BeforeValidator(
        check, json_schema_input_type=Annotated[str, Field(max_length=longest, pattern=r"\S")]
    )


def _kebab_case(value: str) -> str:
    name = unicodedata.normalize("NFKC", value)
    if not _NAME.fullmatch(name) or name != name.lower():
        remedy = "write lower-case letters, digits and single hyphens, such as policy-advisor"
        raise misfit(f"the name {name!r} isn't in kebab-case", remedy)
    return value


def _written(value: Any) -> str:
    if isinstance(value, Mapping | list) or value is None or not str(value).strip():
        raise misfit("{key} isn't text", "write it as text")
    return str(value).strip()


def _read(read: Callable[[str], Any] = str, written: Any = None) -> BeforeValidator:
    """How one of our keys is read, from text alone; `written` is how an editor may write it."""
    any_text = Annotated[str, Field(pattern=r"\S")] | float | bool
    return BeforeValidator(
        lambda value: read(_written(value)), json_schema_input_type=written or any_text
    )


def _whole(most: int, least: int = 1) -> BeforeValidator:
    def read(written: str) -> int:
        if not written.isascii() or not written.isdigit() or not least <= int(written) <= most:
            raise misfit("{key} is {value}", f"write a whole number from {least} to {most}")
        return int(written)

    digits = Annotated[str, Field(pattern="^[0-9]+$")]
    return _read(read, Annotated[int, Field(ge=least, le=most)] | digits)


def _yes_or_no(written: str) -> bool:
    if written.lower() not in {"true", "false"}:
        raise misfit("{key} is {value}", "write true or false")
    return written.lower() == "true"


WrittenText = Annotated[str, _read()]


class SkillMetadata(Entry):
    """What of the `metadata` is ours."""

    roles: Annotated[frozenset[str], _read(lambda written: written.replace(",", " ").split())] = (
        Field(frozenset(), alias="router.roles")
    )
    """Who may use it, with spaces between; otherwise everyone."""
    max_turns: Annotated[int, _whole(MOST_TURNS)] = Field(MAX_TURNS, alias="router.max-turns")
    """Model calls at most, 1 to 60; otherwise 8, or 24 by a plan."""
    token_budget: Annotated[int, _whole(MOST_TOKENS)] = Field(
        TOKEN_BUDGET, alias="router.token-budget"
    )
    """Tokens of all calls together, up to 2000000; otherwise 60000, or 180000 by a plan."""
    model: WrittenText | None = Field(None, alias="router.model")
    """The model's name, where it isn't the usual one for skills."""
    mode: Annotated[
        Mode, said(f"write one of: {', '.join(get_args(Mode))}"), _read(written=Mode)
    ] = Field("react", alias="router.mode")
    """react: calls tools until there is an answer; plan: steps side by side."""
    require_done: Annotated[bool, _read(_yes_or_no, bool | Literal["true", "false"])] = Field(
        default=False, alias="router.require-done"
    )
    """true: plain text doesn't end a run, only `done` does; otherwise either."""
    confirm_plan: Annotated[bool, _read(_yes_or_no, bool | Literal["true", "false"])] = Field(
        default=False, alias="router.confirm-plan"
    )
    """true: a plan is shown before it runs, to be agreed to or changed; otherwise it runs."""
    reflect: Annotated[bool, _read(_yes_or_no, bool | Literal["true", "false"])] = Field(
        default=False, alias="router.reflect"
    )
    """true: before an answer is given the model is asked whether it does what was wanted."""
    examples: Annotated[
        tuple[str, ...], _read(lambda text: [*filter(None, map(str.strip, text.splitlines()))])
    ] = Field((), alias="router.examples")
    """What people say who mean it: a sentence a line, in both languages."""
    hands_to: Annotated[
        tuple[str, ...], _read(lambda written: list(dict.fromkeys(written.split())))
    ] = Field((), alias="router.hands-to")
    """Skills that it may hand a part of its work to, with spaces between; otherwise none."""
    subagents: Annotated[int, _whole(MOST_SUBAGENTS, 0)] = Field(0, alias="router.subagents")
    """Sub-agents that a run may create, 12 at most; otherwise none. Four work at a time."""
    title_zh: WrittenText | None = Field(None, alias="router.title-zh")
    """The title for people who are addressed in Chinese."""
    title_en: WrittenText | None = Field(None, alias="router.title-en")
    """The title for people who are addressed in English."""
    description_zh: WrittenText | None = Field(None, alias="router.description-zh")
    """The description for people who are addressed in Chinese."""
    description_en: WrittenText | None = Field(None, alias="router.description-en")
    """The description for people who are addressed in English."""

    def localised(self, what: str, otherwise: str) -> Localised:
        """The text in both languages; where one of them isn't given, what there is."""
        zh, en = (getattr(self, f"{what}_{locale}") for locale in ("zh", "en"))
        return Localised(zh=zh or otherwise, en=en or otherwise)

    @property
    def bounds(self) -> dict[str, Any]:
        """What a run of it may take, and how it works."""
        given = self.model_dump(include=OF_A_RUN)
        unsaid = PLANNED.keys() - self.model_fields_set if self.mode == "plan" else ()
        return given | {key: PLANNED[key] for key in unsaid}


def _switch(value: Any) -> Any:
    """YAML's own yes or no, or either as text."""
    return value if isinstance(value, bool) else _yes_or_no(_written(value))


def _hint(value: Any) -> Any:
    """As it is written: without quotes, `[week]` is a list to YAML."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else value


Switch = Annotated[
    bool, BeforeValidator(_switch, json_schema_input_type=bool | Literal["true", "false"])
]


class FrontMatter(Entry):
    """The head of a SKILL.md in the Agent Skills format, with what agents have added to it."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[
        str,
        AfterValidator(_kebab_case),
        _text(LONGEST_NAME),
        Field(json_schema_extra={"pattern": r"^[^\sA-Z_-]+(-[^\sA-Z_-]+)*$"}),
    ]
    """The folder's name, in kebab-case."""
    description: Annotated[str, _text(LONGEST_DESCRIPTION)]
    """What it does, when to use it, and what it doesn't do."""
    license: Any = None
    """Such as Apache-2.0."""
    compatibility: Annotated[str, _text(LONGEST_COMPATIBILITY)] | None = None
    """What it needs where it is used."""
    allowed_tools: frozenset[str] | None = Field(None, alias="allowed-tools")
    """A ceiling: names with spaces between; else any."""
    disable_model_invocation: Switch = Field(default=False, alias="disable-model-invocation")
    """true: no model hears of it: people call it by name, and other skills hand to it."""
    user_invocable: Switch = Field(default=True, alias="user-invocable")
    """false: people aren't told of it and can't call it by name; a model may choose it."""
    argument_hint: Annotated[str, _text(LONGEST_HINT), BeforeValidator(_hint)] | None = Field(
        None, alias="argument-hint"
    )
    """What may be said after its name, such as [week]."""
    metadata: SkillMetadata = SkillMetadata()
    """Others' keys, and ours."""


@dataclass
class Head:
    """What the head says, as far as it can be used, and what is wrong with it."""

    front_matter: FrontMatter | None = None
    complaints: list[Complaint] = field(default_factory=list)
    flaws: list[Complaint] = field(default_factory=list)
    """What is wrong too, and doesn't keep the skill from being used."""

    def skill(self, instructions: str) -> Skill:
        """The skill with this head; only where there are no complaints."""
        head = self.front_matter
        assert head is not None  # noqa: S101 - there are no complaints
        return Skill(
            name=head.name,
            title=head.metadata.localised("title", head.name.replace("-", " ")),
            description=head.metadata.localised("description", head.description),
            instructions=instructions,
            allowed_tools=head.allowed_tools,
            by_model=not head.disable_model_invocation,
            by_name=head.user_invocable,
            hint=head.argument_hint or "",
            **head.metadata.bounds,
        )


def read_head(data: Mapping[str, Any], folder: str) -> Head:
    """The head in `data`, of the skill that lies in the folder of this name."""
    head = Head()
    metadata = {} if data.get("metadata") in (None, "") else data["metadata"]
    if not isinstance(metadata, Mapping):
        fault = Fault("metadata isn't a mapping", "write keys and texts below it")
        head.flaws.append(Complaint(("metadata",), fault))
        metadata = {}
    head.flaws += _unknown(data)
    read = {
        **{key: value for key, value in data.items() if value not in ("", None) or key in _NEEDED},
        "metadata": {key: value for key, value in metadata.items() if key.startswith(OURS)},
        "allowed-tools": _allowed(head, data.get("allowed-tools")),
    }
    reading = validated(FrontMatter, read, (), _WORDING)
    head.front_matter = reading.value
    head.complaints += reading.complaints
    name = data.get("name")
    if isinstance(name, str) and name.strip():
        name, folder = (unicodedata.normalize("NFKC", text) for text in (name.strip(), folder))
        if name != folder:
            what = f"the name is {name!r} and the folder {folder!r}"
            head.complaints.append(Complaint(("name",), Fault(what, "give both the same name")))
    return head


def _unknown(data: Mapping[str, Any]) -> Iterator[Complaint]:
    """Keys that neither the format knows nor an agent: slips of the pen, most likely."""
    known = {each.alias or name for name, each in FrontMatter.model_fields.items()}
    for key in data:
        if key not in known and key not in OF_OTHERS:
            meant = nearest(str(key), known | OF_OTHERS)
            remedy = meant or "take it out, or put it under metadata"
            yield Complaint((str(key),), Fault(f"there is no key {str(key)[:60]!r}", remedy))


def _allowed(head: Head, value: Any) -> frozenset[str] | None:
    """The tools that are named; those of other agents, such as `Bash(git:*)`, aren't here."""
    if value is None:
        return None
    if isinstance(value, str):
        return frozenset(_TOOL.findall(value))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return frozenset(value)
    remedy = "write names with spaces between them; until then it may use none"
    fault = Fault("allowed-tools isn't a list of names", remedy)
    head.flaws.append(Complaint(("allowed-tools",), fault))
    return frozenset()
