"""The lookups that expressions may use: what they take and what they answer.

A lookup depends on the world, so an expression never computes it: the machine asks, an
activity (`activities.look_up`) answers, and the answer is recorded with the run.
Everything else in an expression is a pure function of its arguments.
"""

from pydantic import BaseModel, ConfigDict, JsonValue


class Lookup(BaseModel):
    """A lookup's signature. `answers` says the JSON it gives, for whoever writes a flow.

    The last parameters may have `defaults`: an expression may leave those out, and whoever
    answers the lookup is given them all the same.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    takes: tuple[str, ...]
    answers: str
    defaults: tuple[JsonValue, ...] = ()

    @property
    def least(self) -> int:
        """How many arguments an expression has to give."""
        return len(self.takes) - len(self.defaults)

    def filled_up(self, arguments: list[JsonValue]) -> list[JsonValue]:
        """The arguments with the defaults of those that were left out.

        >>> LOOKUPS["workdays"].filled_up(["2026-11-23", "2026-11-25"])
        ['2026-11-23', '2026-11-25', '', '']
        """
        given = len(arguments)
        return arguments + list(self.defaults[max(0, given - self.least) :])


LOOKUPS: dict[str, Lookup] = {
    lookup.name: lookup
    for lookup in (
        Lookup(
            name="manager",
            takes=("person",),
            answers="the user id of the person's manager, or null; of null, null",
        ),
        Lookup(
            name="names",
            takes=("people",),
            answers="what the people with these user ids are called, in their order",
        ),
        Lookup(
            name="role",
            takes=("role",),
            answers="the user ids of everyone who holds the role, ordered",
        ),
        Lookup(
            name="stand_ins",
            takes=("people", "requester", "at"),
            answers="who is asked in place of each of these people at that moment, in their "
            "order: the person, or whoever stands in for one who is away, and never the requester",
        ),
        Lookup(
            name="working_time",
            takes=("person", "start", "duration"),
            answers="the moment at which so much of the person's working time has passed since "
            "start; duration as {'days': 1, 'hours': 4}",
        ),
        Lookup(
            name="workdays",
            takes=("start", "end", "start_half", "end_half"),
            answers="working days from start to end, both included, in halves; '' for whole days",
            defaults=("", ""),
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
        Lookup(
            name="file_name",
            takes=("person", "file"),
            answers="what the person's file with this id is called; null where they have none such",
        ),
    )
}
