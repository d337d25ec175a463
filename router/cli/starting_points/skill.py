"""A new skill, with lines that people say who mean it."""

from pathlib import Path

import skills
from router.cli.starting_points.files import NewFile, about, template
from router.cli.starting_points.names import Names
from router.cli.starting_points.places import folder_at, place_for
from router.cli.starting_points.written import Written, with_setting
from router.settings import Settings

STAND_IN = "my-skill"


def new_skill(settings: Settings, names: Names, given: Path | None) -> Written:
    """The files of a skill in the Agent Skills format."""
    place = place_for(given, settings.skills, Path(next(iter(skills.__path__))), "skills")
    folder = folder_at(place.folder)
    lines = folder / "tests" / f"{names.name}.jsonl"
    files = [
        NewFile(folder / names.name / "SKILL.md", about(template("SKILL.md"), names, STAND_IN)),
        NewFile(lines, about(template("my_skill_lines.jsonl"), names, STAND_IN)),
    ]
    setting = None if place.in_use else ("ROUTER_SKILLS", folder)
    commands = (
        f"intent-router skills validate {files[0].path.parent}",
        f"intent-router eval {lines}",
    )
    return Written(files, [with_setting(each, setting) for each in commands])
