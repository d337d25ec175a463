"""The lookups that expressions may use: what they take and what they answer.

A lookup depends on the world, so an expression never computes it: the machine asks, an
activity (`activities.look_up`) answers, and the answer is recorded with the run.
Everything else in an expression is a pure function of its arguments.
"""

from pydantic import BaseModel, ConfigDict


class Lookup(BaseModel):
    """A lookup's signature. `answers` says the JSON it gives, for whoever writes a flow."""

    model_config = ConfigDict(frozen=True)

    name: str
    takes: tuple[str, ...]
    answers: str


LOOKUPS: dict[str, Lookup] = {
    lookup.name: lookup
    for lookup in (
        Lookup(
            name="manager",
            takes=("person",),
            answers="the user id of the person's manager, or null; of null, null",
        ),
        Lookup(
            name="role",
            takes=("role",),
            answers="the user ids of everyone who holds the role, ordered",
        ),
        Lookup(
            name="workdays",
            takes=("start", "end", "start_half", "end_half"),
            answers="working days from start to end, both included, in halves; '' for whole days",
        ),
        Lookup(
            name="last_workday",
            takes=("start", "duration"),
            answers="the day on which a leave of this duration from start ends, both included",
        ),
        Lookup(
            name="claimed",
            takes=("invoice",),
            answers="true where a claim that still stands has this invoice number",
        ),
    )
}
