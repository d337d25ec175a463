"""What people call the operations of an OpenAPI document, which says it in one language.

"tools": {"getCustomer": {"title": {"zh": "客户资料", "en": "A customer"},
                          "description_zh": "查客户的地址和联系人。",
                          "labels": {"id": "客户编号"}}}
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.documents.faults import nearest
from router.documents.yaml_document import Place
from router.domain.texts import Localised
from router.tool.http.complaints import Complaints
from router.tool.http.options import read_title
from router.tool.labels import LONGEST, is_label

KEYS = ("title", "description_zh", "labels")


@dataclass(frozen=True)
class Wording:
    """The words for one operation; what isn't said is as the document has it."""

    title: Localised | None = None
    description_zh: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """By argument, what a Chinese form calls it."""


def read_wordings(
    complaints: Complaints, place: Place, value: Any, there: Collection[str]
) -> dict[str, Wording]:
    """The words by operation; each has to be one that is selected."""
    found: dict[str, Wording] = {}
    for name, given in (complaints.mapping(place, value) if value is not None else {}).items():
        here = (*place, name)
        if name not in there:
            remedy = nearest(name, there) or f"there are: {', '.join(sorted(there)[:12]) or 'none'}"
            complaints.add(here, f"no operation {name[:60]} is selected", remedy)
            continue
        found[name] = _wording(complaints, here, complaints.mapping(here, given))
    return found


def _wording(complaints: Complaints, place: Place, data: Mapping[str, Any]) -> Wording:
    complaints.unknown_keys(place, data, KEYS)
    title, about = data.get("title"), data.get("description_zh")
    at_title, at_about = (*place, "title"), (*place, "description_zh")
    return Wording(
        title=None if title is None else read_title(complaints, at_title, title, ""),
        description_zh="" if about is None else complaints.text(at_about, about),
        labels=_labels(complaints, (*place, "labels"), data.get("labels")),
    )


def _labels(complaints: Complaints, place: Place, value: Any) -> dict[str, str]:
    given = {} if value is None else complaints.mapping(place, value)
    for name, label in given.items():
        if not is_label(label):
            what = f"the label of {name[:40]} can't be shown"
            complaints.add((*place, name), what, f"write up to {LONGEST} characters, on one line")
    return {name: label for name, label in given.items() if is_label(label)}
