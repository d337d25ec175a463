"""A new flow, with stories of it in both languages."""

from pathlib import Path
from tempfile import TemporaryDirectory

import flows
from router.cli.starting_points.files import NewFile, about, check_absent, template
from router.cli.starting_points.names import Names
from router.cli.starting_points.places import folder_at, place_for, schema_for
from router.cli.starting_points.written import Written, with_setting
from router.cli.validating import validated
from router.domain.errors import InvalidInput
from router.settings import Settings

STAND_IN = "my_flow"


def new_flow(settings: Settings, names: Names, given: Path | None) -> Written:
    """The files of a flow that loads, starts by its examples, and has no rival among those in use.

    Raises:
        InvalidInput: by these words it would take another flow's messages, or lose its own.
        Conflict: one of the files is there already.
    """
    own = Path(next(iter(flows.__path__)))
    place = place_for(given, settings.flows, own, "flows")
    folder = folder_at(place.folder)
    near, copies = schema_for(folder, "flow")
    near_story, story_copies = schema_for(folder / "tests", "story", folder)
    flow = about(template("my_flow.yaml"), names, STAND_IN).replace("../../schemas", near)
    story = about(template("my_flow_story.yaml"), names, STAND_IN)
    files = [
        NewFile(folder / f"{names.name}.yaml", flow),
        NewFile(
            folder / "tests" / f"{names.name}.yaml", story.replace("../../schemas", near_story)
        ),
    ]
    check_absent(files)
    _check_alone(settings, names, flow)
    command = f'intent-router route "我要申请{names.zh}"'
    test = f"intent-router flows test {files[1].path}"
    setting = None if place.in_use else ("ROUTER_FLOWS", folder)
    return Written(
        [*files, *copies, *story_copies], [with_setting(each, setting) for each in (command, test)]
    )


def _check_alone(settings: Settings, names: Names, text: str) -> None:
    with TemporaryDirectory() as aside:
        path = Path(aside) / f"{names.name}.yaml"
        path.write_text(text, encoding="utf-8")
        rivals = validated(settings, [path]).between
    if rivals:
        raise InvalidInput(
            f"by the words {names.zh!r} and {names.en!r} it would be in another flow's way "
            f"({rivals[0].what}): choose other words with --zh and --en"
        )
