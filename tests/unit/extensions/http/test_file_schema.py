"""What an editor says of a file of declared tools is what the loader says."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import company.tools
from router.cli.schema import text_of
from router.cli.schemas import written
from router.domain.errors import DefinitionError
from router.extensions.http.declarations import load_http_tools
from router.extensions.http.file_schema import FILE, tools_schema
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from tests.unit.cli.test_schemas import problems
from tests.unit.extensions.http.declaring import declaration

FILES = [
    *(Path(next(iter(company.tools.__path__))) / "http").glob("*.json"),
    *(FILE.parents[1] / "templates").glob("*.json"),
]


@pytest.mark.slow
def test_what_ships_says_what_the_loader_reads_and_explains_the_keys() -> None:
    assert text_of("tools") == written(tools_schema()), "run the module file_schema"
    assert len(re.findall(r'"description": "[^"]{10,}', text_of("tools"))) >= 5


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_ships_fits_the_schema_that_it_names(path: Path) -> None:
    data = json.loads(path.read_text())
    assert problems("tools", data) == []
    assert (path.parent / data["$schema"]).resolve() == FILE


TOOLS: Mapping[str, Any] = {
    "a number": 3,
    "a list of numbers": [3],
    "nothing in it": {},
    "a name with a space": declaration(name="9 lives"),
    "no description": declaration(description=None),
    "a key that nobody knows": declaration(desc="x"),
    "a key that no endpoint has": declaration(endpoint={"uri": "x"}),
    "a title in one language": declaration(title={"zh": "查"}),
    "a permission that there isn't": declaration(permission="root"),
    "roles that are a text": declaration(roles="hr"),
    "a flag that is a text": declaration(confirm="yes"),
    "fewer tries than none": declaration(retries=-1),
    "a timeout in words": declaration(timeout="soon"),
    "a timeout of hours": declaration(timeout=1e9),
    "a place that is no pointer": declaration(result="a/b"),
    "no items": declaration(items=0),
    "parameters that are a number": declaration(parameters=3),
    "a method that there isn't": declaration(endpoint={"method": "FETCH"}),
    "a header that is a list": declaration(endpoint={"headers": {"X": []}}),
    "an address that is a number": declaration(endpoint={"url": 3}),
    "a key that a selection hasn't": {"openapi": "a.yaml", "permission": "read"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TOOLS)
def test_a_file_of_the_wrong_shape_is_refused_by_schema_and_loader(
    case: str, tmp_path: Path
) -> None:
    content = TOOLS[case]
    assert problems("tools", content)
    (tmp_path / "file.json").write_text(json.dumps(content))
    with pytest.raises(DefinitionError):
        load_http_tools(tmp_path, {}, Sender(OutboundGuard()))
