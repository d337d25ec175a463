"""Held-out requests in employees' own words, as cases for the prompt that decides.

    python -m tests.llm.prompt_cases FOLDER

writes `router.yaml`: as many of each group and language as `TAKEN` says, the first of the file. So
a version of the prompt can be held against another with `intent-router prompts eval --cases`.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from router.domain.locale import LOCALES
from tests.llm.labels import FILES

TAKEN = {"tool": 10, "flow": 6, "skill": 3, "several": 2, "talk": 1, "nothing": 2}


def cases() -> list[dict[str, Any]]:
    """The cases, Chinese ones first; values are asserted that the label has word for word."""
    rows = [json.loads(line) for line in FILES["held_out"].read_text("utf-8").splitlines() if line]
    own = [row for row in rows if row["written"] == "employee" and "active" not in row]
    seen, found = Counter[tuple[str, str]](), list[dict[str, Any]]()
    for row in sorted(own, key=lambda row: LOCALES.index(row["lang"])):
        place = (row["lang"], row["group"])
        seen[place] += 1
        if seen[place] <= TAKEN.get(row["group"], 0):
            found.append(_case(row, f"{row['group']}-{seen[place]}-{row['lang']}"))
    return found


def _case(row: dict[str, Any], name: str) -> dict[str, Any]:
    exact = {k: v for k, v in row.get("values", {}).items() if k.isidentifier()}
    arguments = {"arguments": exact} if exact and len(row["labels"]) == 1 else {}
    routes = [" + ".join(names) for names in row["labels"]]
    given: dict[str, Any] = {"message": row["text"], "user": row["user"]}
    if row.get("history"):
        given["history"] = [{k: line[k] for k in ("role", "text")} for line in row["history"]]
    return {
        "case": name,
        "locale": row["lang"],
        "given": given,
        "expect": {"route": routes, **arguments},
    }


if __name__ == "__main__":
    # JSON is YAML too.
    written = json.dumps({"job": "router", "cases": cases()}, ensure_ascii=False, indent=1)
    (Path(sys.argv[1]) / "router.yaml").write_text(written, "utf-8")
