"""The reference of flow files, from the models that read them."""

from pydantic import BaseModel

from docs.generate.markdown import one_line, page
from docs.generate.models import model_table
from router.flow.states import FILE_MODELS

INTRODUCTION = """\
Every key of `flows/<name>.yaml`. What they come to, with examples, is in [Flows](../flows.md).
An *expression* is CEL. The only entry of a *list of text* may be that text alone, and a list of
[Branch](#branch) that has no condition the name of its state. Durations are ISO 8601, such as
`PT24H` and `P14D`."""


def flow_files_page() -> str:
    """A section for each part of a file."""
    return page("Flow files", INTRODUCTION, *map(_section, FILE_MODELS))


def _section(model: type[BaseModel]) -> str:
    about = f"## {model.__name__}\n\n{one_line(model.__doc__)}"
    return f"{about}\n\n{model_table(model)}" if model.model_fields else about
