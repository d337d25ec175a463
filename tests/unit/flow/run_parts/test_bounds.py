"""Everything that a run holds is bounded, and what is beyond a bound has a definite effect."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from router.domain.run_approvals import RunApproval
from router.domain.sizes import measure_bytes
from router.domain.value import Value
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Finished, Nudged, Retried
from router.flow.engine.room import find_excess
from router.flow.engine.run import History, Run
from router.flow.engine.run_parts import approvals, recovery, work
from router.flow.engine.run_parts.approvals import MAX_ASSIGNEES, Agreement, Approval
from router.flow.engine.run_parts.draftable import Bound, Draftable, declared_bounds
from router.flow.engine.run_parts.recovery import MAX_DONE, Done
from router.flow.engine.run_parts.work import MAX_LOOKUP_ANSWERS, Work
from tests.table import each_row
from tests.unit.flow.definitions import CLAIM, NOW, Driver, flow, flow_of, money, text
from tests.unit.flow.test_agreements import paused
from tests.unit.flow.test_approvals import BOB, asking

PARTS = tuple(Run(id="r", requester=asking(BOB).run.requester).parts.items())


def kinds_of(annotation: Any) -> Iterator[Any]:
    """Every type that an annotation names."""
    yield annotation
    for inner in get_args(annotation):
        yield from kinds_of(inner)


def is_container(field: FieldInfo) -> bool:
    kinds = list(kinds_of(field.annotation))
    found = {get_origin(kind) for kind in kinds} & {list, dict, tuple, set, frozenset}
    return bool(found) or History in kinds


def values_of(kind: type[Value]) -> Iterator[type[Value]]:
    """The class, and those of the run's own modules that its fields are made of."""
    seen: set[type[Value]] = set()
    waiting = [kind]
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        yield kind
        for field in kind.model_fields.values():
            for inner in kinds_of(field.annotation):
                if isinstance(inner, type) and inner.__module__.startswith(Run.__module__):
                    waiting += [inner] if issubclass(inner, Value) else []


def unbounded(kind: type[Value]) -> list[str]:
    """The lists and dicts in a class, and in what it is made of, that declare no bound."""
    return [
        f"{each.__name__}.{name}"
        for each in values_of(kind)
        for name, field in each.model_fields.items()
        if is_container(field) and name not in dict(declared_bounds(each))
    ]


def test_every_list_and_dict_of_a_run_declares_its_bound() -> None:
    assert {part.__class__ for _, part in PARTS} <= set(values_of(Run))
    assert {Approval, Done, Agreement} < set(values_of(Run))
    assert unbounded(Run) == []


def test_a_list_without_a_bound_is_found_wherever_it_stands() -> None:
    class Inner(Value):
        names: tuple[str, ...] = ()

    Inner.__module__ = Run.__module__

    class Outer(Value):
        inner: Inner | None = None
        values: dict[str, Inner] | None = None

    assert sorted(unbounded(Outer)) == ["Inner.names", "Outer.values"]


@each_row(("name", "part"), PARTS, ids=[name for name, _ in PARTS])
def test_each_part_has_few_fields_and_a_bound_in_bytes(name: str, part: Draftable) -> None:
    assert len(type(part).model_fields) <= 16, name
    assert measure_bytes(part) < part.max_bytes < Run.max_bytes


def test_a_run_itself_has_few_fields() -> None:
    assert len(Run.model_fields) <= 16


def filled(kind: Any, number: int) -> list[Any] | dict[str, Any]:
    """So many entries for a field, of which those by their number can be told apart."""
    known: dict[Any, Any] = {
        RunApproval: RunApproval(digest="d", person="bob", state="s"),
        Agreement: Agreement(person="bob", contents="c", counted=[], at=NOW),
        recovery.Visit: recovery.Visit(state="s", visit=1),
        Approval: asking(BOB).approval,
        int: 1,
    }
    (entry,) = get_args(kind)[-1:]
    if get_origin(kind) is dict:
        return {f"k{n}": known.get(entry, "x") for n in range(number)}
    return [known.get(entry, f"x{n}") for n in range(number)]


@each_row(
    ("name", "field", "most"),
    [
        (name, field, bound.max_entries)
        for name, part in PARTS
        for field, bound in declared_bounds(type(part))
        if isinstance(bound, Bound) and bound.overflow == "drop_oldest"
    ],
)
def test_the_oldest_entries_of_a_list_go_at_the_end_of_a_step(
    name: str, field: str, most: int
) -> None:
    driver = asking(BOB)
    part = driver.run.parts[name]
    entries = filled(type(part).model_fields[field].annotation, most + 3)
    setattr(part, field, entries)
    kept = getattr(driver.take(Nudged(by="alice")).run.parts[name], field)
    assert list(kept) == list(entries)[3:]


def calling(undo: str | None) -> FlowDefinition:
    states: dict[str, dict[str, Any]] = {
        "note": {"confirm": text("Really?"), "confirmed": "book", "declined": "done"},
        "book": {"call": "book", "next": "done"} | ({"undo": undo} if undo else {}),
        "done": {"say": text("Done."), "end": "completed"},
    }
    return flow_of("booking", states)


def made(number: int) -> list[Done]:
    return [
        Done(visit=0, state="book", tool="book", arguments={}, key=f"k{n}", undo="cancel")
        for n in range(number)
    ]


def test_a_run_that_has_more_to_take_back_than_it_may_makes_no_further_call() -> None:
    driver = Driver(calling("cancel")).begin()
    driver.run.recovery.done = made(MAX_DONE)
    driver.confirm()
    assert (driver.run.status, driver.run.recovery.held, driver.called) == (
        "waiting",
        "permanent",
        [],
    )
    (why,) = (comment for event, _, comment in driver.history if event == "over limit")
    assert "1,000 calls that can be taken back" in str(why)
    driver.run.recovery.done = made(MAX_DONE - 1)
    assert driver.take(Retried(by="olga")).called == ["book"]


@each_row("name", [name for name, _ in PARTS])
def test_a_part_that_is_too_large_keeps_the_run_from_calling_anything(name: str) -> None:
    driver = Driver(calling(None)).begin()
    most = driver.run.parts[name].max_bytes
    large = "x" * (most - 10)
    match name:
        case "form":
            driver.run.form.slots = {"reason": large}
        case "question":
            driver.run.question.change_path = large
        case "approvals":
            driver.run.approvals.copied_people = [large]
        case "work":
            driver.run.work.results = {"error": large}
        case "recovery":
            driver.run.recovery.done = [made(1)[0].replace(arguments={"note": large})]
    assert f"in its {name}, " in str(find_excess(driver.run))
    assert f"{most:,} are the most" in str(find_excess(driver.run))
    assert driver.confirm().called == []
    assert (driver.run.status, driver.run.recovery.held) == ("waiting", "permanent")


@each_row(
    ("known", "status"), [(MAX_LOOKUP_ANSWERS, "failed"), (MAX_LOOKUP_ANSWERS - 1, "collecting")]
)
def test_a_move_that_needs_more_lookups_than_a_run_keeps_fails(known: int, status: str) -> None:
    driver = Driver(flow(CLAIM)).begin()
    items: list[Any] = [{"amount": money("12"), "invoice": "A"}]
    driver.take(Answered(by="alice", slots={"items": items}), answer=False)
    (task,) = driver.run.work.tasks.values()
    assert task.kind == "lookup"
    driver.run.work.lookup_answers = {f"look({n})": n for n in range(known)}
    driver.take(driver.world.answer(driver.run), answer=False)
    assert driver.run.status == status
    failed = [comment for event, _, comment in driver.history if event == "failed"]
    assert failed == (["more than 1000 lookups without waiting"] if status == "failed" else [])


def test_answers_to_lookups_are_kept_while_others_are_awaited_and_forgotten_at_rest() -> None:
    answers: dict[str, Any] = {f"look({n})": n for n in range(work.MAX_KEPT_ANSWERS + 1)}
    task = work.Task(id="t", kind="lookup", name="look")
    busy, resting = Work(tasks={"t": task}, lookup_answers=answers), Work(lookup_answers=answers)
    for each in (busy, resting):
        each.trim()
    assert (len(busy.lookup_answers), resting.lookup_answers) == (len(answers), {})


def test_somebody_in_place_of_whoever_left_is_not_asked_beyond_the_bound() -> None:
    driver = asking({**BOB, "otherwise": "role('hr')"})
    approval = driver.approval
    passed_over = approval.assignees[0].replace(id="x", person="gone", verdict="escalated")
    approval.assignees = [*[passed_over] * (MAX_ASSIGNEES - 1), approval.assignees[0]]
    driver.world.left.add("bob")
    driver.take(Nudged(by="alice"))
    assert (driver.run.status, driver.run.recovery.held) == ("waiting_approval", "permanent")
    assert len(driver.approval.assignees) == MAX_ASSIGNEES
    (why,) = (comment for event, _, comment in driver.history if event == "over limit")
    assert str(why).startswith("1000 people were asked for one approval, and 1000 are the most")


def test_a_branch_is_told_no_more_agreements_than_it_would_keep() -> None:
    driver = paused()
    known = [
        Agreement(person="erin", contents=str(n), counted=["finance"], at=NOW)
        for n in range(approvals.MAX_AGREEMENTS + 1)
    ]
    first, _ = driver.run.work.tasks.values()
    driver.take(Finished(task=first.id, status="completed", agreements=known), answer=False)
    (other,) = driver.run.work.tasks.values()
    assert list(other.agreed) == known[:-1]
