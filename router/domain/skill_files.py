"""Files that lie in a skill's folder beside its instructions."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

SCRIPTS = "scripts/"
"""What the paths of a skill's programs begin with."""


def _inside(path: str) -> str:
    if {"", ".", ".."} & set(path.split("/")) or "\0" in path:
        raise ValueError(f"{path!r} is no path within a folder")
    return path


class SkillFile(BaseModel):
    """One file as it was when the skill was loaded, named by what is in it.

    It is small, for it travels with every run of the skill; the content stays where it is kept
    by its digest.
    """

    model_config = ConfigDict(frozen=True)

    path: Annotated[str, AfterValidator(_inside)]
    """Within the skill's folder, with slashes: `references/limits.md`."""
    size: int
    """In bytes."""
    digest: str
    """SHA-256 of the content, in hex."""
