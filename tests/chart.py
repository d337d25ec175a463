"""The Helm chart, rendered: `python -m tests.chart VALUES.yaml…` prints what Helm would install.

Helm's own code does it, in a process of its own, for it is Go with signals of its own.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FOLDER = Path(__file__).parents[1] / "deploy/helm/intent-router"
RELEASE = "desk"
MISSING = [name for name in ("helm_python", "kubernetes_validate") if find_spec(name) is None]
"""Packages of the extra `chart` that aren't installed: without them nothing can be rendered."""

_RENDER = """
import json, sys
from helm_python import Chart
from helm_python.errors import HelmError
given = json.load(sys.stdin)
with Chart.load(sys.argv[1]) as chart:
    try:
        print(json.dumps(chart.render(given, name=sys.argv[2], namespace=sys.argv[2])))
    except HelmError as error:
        sys.exit(f"{error}")
"""


class RefusedValues(Exception):
    """Helm doesn't render with these values; its words."""


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that Helm makes of the chart with these values over its own, hooks included."""
    done = subprocess.run(
        [sys.executable, "-c", _RENDER, str(FOLDER), RELEASE],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RefusedValues(done.stderr)
    files: dict[str, str] = json.loads(done.stdout)
    read = YAML(typ="safe", pure=True)
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    return [found for text in texts for found in read.load_all(text) if found]


def values_of(file: Path) -> dict[str, Any]:
    """The values in a file."""
    found: dict[str, Any] = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    out, given = YAML(), [values_of(Path(path)) for path in sys.argv[1:]]
    try:
        for values in given or [{}]:
            out.dump_all(rendered(values), sys.stdout)
    except RefusedValues as error:
        sys.exit(f"{error}")
