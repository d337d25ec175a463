"""A skill: instructions for a sub-agent, and what it may do."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from router.domain.capabilities import Capability
from router.domain.skill_files import SCRIPTS, SkillFile
from router.domain.texts import Localised

Mode = Literal["react", "plan"]
"""How the sub-agent works: `react` calls tools until it has an answer; `plan` makes a plan, has
its steps worked on side by side, and reflects on what they came to."""

READ_FILE, RUN_SCRIPT = "read_skill_file", "run_skill_script"
OF_FOLDER = frozenset({READ_FILE, RUN_SCRIPT})
"""The tools that work on the folder of the skill that calls them, and on nothing else."""

MAX_TURNS = 8
TOKEN_BUDGET = 60_000


class Skill(BaseModel):
    """What a folder's `SKILL.md` says, and which files lie beside it.

    It travels whole in the input of the run that it starts, so that a run keeps what it began
    with while files change. The files themselves are kept elsewhere, by their digests.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    title: Localised
    description: Localised
    """In the Agent Skills format there is one text; it stands for both languages then."""
    instructions: str
    """The body of the file."""
    examples: tuple[str, ...] = ()
    allowed_tools: frozenset[str] | None = None
    """A ceiling on the tools that the caller may use anyway; None is no ceiling."""
    roles: frozenset[str] = frozenset()
    max_turns: int = MAX_TURNS
    """Model calls, at most."""
    token_budget: int = TOKEN_BUDGET
    """Tokens that all of them may take together."""
    model: str | None = None
    """The model's name, where it isn't the usual one for skills."""
    mode: Mode = "react"
    files: tuple[SkillFile, ...] = ()
    """What is there to be read on demand, by path."""

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
        )

    def may_use(self, tool: str) -> bool:
        """True where the skill doesn't rule the tool out. Whether the caller may is another matter.

        >>> unbound = Skill.model_construct(allowed_tools=None)
        >>> unbound.may_use("calculate")
        True
        """
        return self.allowed_tools is None or tool in self.allowed_tools

    def works_on_folder_by(self, tool: str) -> bool:
        """True where the skill has a use for this tool of `OF_FOLDER`, and doesn't rule it out.

        Its own files it may always read: they are what it says of itself.

        >>> Skill.model_construct(files=()).works_on_folder_by("read_skill_file")
        False
        """
        if tool == READ_FILE:
            return bool(self.files)
        has_scripts = any(file.path.startswith(SCRIPTS) for file in self.files)
        return has_scripts and self.may_use(tool)
