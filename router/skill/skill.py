"""A skill: instructions for a sub-agent, and what it may do; and all that are loaded."""

from collections.abc import Iterable, Iterator
from typing import Literal

from router.domain.file_types import SCRIPTS, SkillFile
from router.domain.locale import Localised
from router.domain.principals import Capability, Principal
from router.domain.value import Value

Mode = Literal["react", "plan"]
"""How the sub-agent works: `react` calls tools until it has an answer; `plan` makes a plan, has
its steps worked on side by side, and reflects on what they came to."""

READ_FILE, RUN_SCRIPT = "read_skill_file", "run_skill_script"
OF_FOLDER = frozenset({READ_FILE, RUN_SCRIPT})
"""The tools that work on the folder of the skill that calls them, and on nothing else."""

MAX_TURNS = 8
TOKEN_BUDGET = 60_000
MOST_SUBAGENTS = 12
"""That a run may create at most, whatever its head says."""


class Skill(Value):
    """What a folder's `SKILL.md` says, and which files lie beside it.

    It travels whole in the input of the run that it starts, so that a run keeps what it began
    with while files change. The files themselves are kept elsewhere, by their digests.
    """

    name: str
    title: Localised
    description: Localised
    """In the Agent Skills format there is one text; it stands for both languages then."""
    instructions: str
    examples: tuple[str, ...] = ()
    allowed_tools: frozenset[str] | None = None
    """A ceiling on the tools that the caller may use anyway; None is no ceiling."""
    roles: frozenset[str] = frozenset()
    max_turns: int = MAX_TURNS
    token_budget: int = TOKEN_BUDGET
    """Tokens that all of them may take together."""
    model: str | None = None
    """The model's name, where it isn't the usual one for skills."""
    mode: Mode = "react"
    require_done: bool = False
    """Plain text is no end of a run, only what its ending function is called with."""
    reflect: bool = False
    """An answer is held against the request and the instructions before it is given."""
    confirm_plan: bool = False
    """A plan is shown, and worked on once it is agreed to."""
    hands_to: tuple[str, ...] = ()
    """The skills that it may have a part of its work done by."""
    subagents: int = 0
    """How many sub-agents of its own a run may create between two answers of the employee."""
    by_model: bool = True
    """Whether a model may choose it; otherwise it is people's, and other skills'."""
    by_name: bool = True
    """Whether people may call it by name."""
    hint: str = ""
    """What people are shown that may be said after its name."""
    files: tuple[SkillFile, ...] = ()

    @property
    def capability(self) -> Capability:
        """How the skill is listed and found."""
        return Capability(
            kind="skill",
            name=self.name,
            title=self.title,
            description=self.description,
            examples=self.examples,
            roles=self.roles,
            by_model=self.by_model,
            by_name=self.by_name,
            hint=self.hint,
        )

    def may_use(self, tool: str) -> bool:
        """True where the skill doesn't rule the tool out; whether the caller may is open."""
        return self.allowed_tools is None or tool in self.allowed_tools

    def works_on_folder_by(self, tool: str) -> bool:
        """True where it has a use for the tool of `OF_FOLDER`; its files it may always read."""
        if tool == READ_FILE:
            return bool(self.files)
        has_scripts = any(file.path.startswith(SCRIPTS) for file in self.files)
        return has_scripts and self.may_use(tool)


class SkillCatalog:
    """Skills by name, in the order of their names. It doesn't change; load anew for a new one."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills = {s.name: s for s in sorted(skills, key=lambda skill: skill.name)}

    def get(self, name: str) -> Skill | None:
        """The skill of that name, whoever may use it; None where there is none."""
        return self._skills.get(name)

    def visible_to(self, person: Principal) -> list[Skill]:
        """The skills that this person may use."""
        return [skill for skill in self if person.may_use("skill", skill.name, skill.roles)]

    def capabilities(self, person: Principal) -> list[Capability]:
        """The same, as they are listed and found."""
        return [skill.capability for skill in self.visible_to(person)]

    def __contains__(self, name: str) -> bool:
        return name in self._skills

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def __len__(self) -> int:
        return len(self._skills)


MOST_LISTED = 40
"""Of those that are named in every prompt; a list of all is a call away."""


def listed(skill: Skill) -> str:
    """What stands below the instructions: which files there are, and how to read them."""
    if not skill.files:
        return ""
    first = skill.files[:MOST_LISTED]
    more = len(skill.files) - len(first)
    rest = [f"… and {more} more: {READ_FILE} without a path lists all"] if more else []
    head = f"Files that belong to these instructions; read one by {READ_FILE} when it is needed:"
    return "\n".join(["", "", head, lines(first), *rest])


def lines(files: Iterable[SkillFile]) -> str:
    """A line for each file, such as `- references/limits.md (3.1 KB)`."""
    sizes = ((f.path, f"{f.size} B" if f.size < 1000 else f"{f.size / 1000:.1f} KB") for f in files)  # noqa: PLR2004
    return "\n".join(f"- {path} ({size})" for path, size in sizes)
