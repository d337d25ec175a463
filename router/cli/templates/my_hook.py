"""Sample request: say here in a line what this hook is for."""

from router.sdk import DecisionEvent, Localised, Veto, hook

FRIDAY = 4
CLOSED = Localised(
    zh="示例事项星期五不办理。",
    en="Sample request: nothing is done about it on Fridays.",
)


@hook(
    "before_decision",  # `intent-router hooks` and docs/hooks.md have the other points
    phrases=["示例事项", "sample request"],  # other messages don't pay for it
    required=False,  # True where nothing may go on without its word
)
async def my_hook(event: DecisionEvent) -> Veto | None:
    """Refuses what is about the sample request on Fridays."""
    return Veto(say=CLOSED) if event.now.weekday() == FRIDAY else None
