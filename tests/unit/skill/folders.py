"""Skill folders, written by a test."""

from pathlib import Path

HEAD = "name: trip-planner\ndescription: Plans trips."
BODY = "Plan the trip."


def write(folder: Path, head: str = HEAD, body: str = BODY, name: str = "trip-planner") -> Path:
    skill = folder / name
    skill.mkdir(exist_ok=True)
    (skill / "SKILL.md").write_text(f"---\n{head}\n---\n{body}\n", "utf-8")
    return skill


def beside(skill: Path, path: str, content: str | bytes = "x") -> Path:
    """A file beside the skill's instructions."""
    place = skill / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place
