"""Asking a tool whether it would refuse a call, before anything is done."""

from typing import ClassVar

from pydantic import Field

from router.domain.locale import Localised
from router.flow.definition import Next, Outline, State, hexagon, register_state_kind
from router.flow.engine.context import StepContext
from router.flow.engine.run_parts.work import Task


@register_state_kind
class CheckState(State):
    """Asks a tool whether it would refuse the call; nothing is done."""

    kind: ClassVar[str] = "check"
    needs: ClassVar[tuple[str, ...]] = ("next",)
    may: ClassVar[tuple[str, ...]] = ("on_error",)
    fails: ClassVar[bool] = True
    label: ClassVar[Localised] = Localised(zh="检查", en="checks")
    about: ClassVar[Localised] = Localised(
        zh="让一个工具先核对，不行就说明原因。",
        en="Has a tool look whether it may be done, and says why not.",
    )
    outline: ClassVar[Outline] = Outline(mermaid=("{{", "}}"), corners=hexagon(0.6))

    check: str
    """A tool, asked whether it would refuse the call; nothing is done."""
    arguments: dict[str, str] = Field({}, alias="with")
    """An expression for each argument."""
    save: str | None = Field(None, alias="=save")
    """The name that what it says has in `results`; no file has this, a tool's form does."""
    next: Next = ()
    """Where it goes on."""
    on_error: Next = ()
    """Where it goes on when the call would be refused."""

    @property
    def tools(self) -> dict[str, str]:
        """The tool that is asked."""
        return {"check": self.check}

    def execute(self, context: StepContext) -> bool:
        """Have the tool asked."""
        run = context.run
        id_ = f"{run.state}:{run.visit}"
        run.work.tasks[id_] = Task(
            id=id_, kind="check", name=self.check, arguments=context.arguments()
        )
        run.status = "running"
        return False
