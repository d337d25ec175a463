"""What was measured, as a table for people."""

from collections.abc import Callable, Iterator, Sequence

from router.llm.types import How
from tests.llm.desk import Outcome
from tests.llm.labelled import Labelled

COLUMNS = (
    *("asked by", "group", "right", "values", "invalid", "s p50", "s p95"),
    *("prompt", "completion", "calls"),
)


def table(outcomes: dict[How, list[Outcome]]) -> str:
    """A row for every group and way of asking; tokens are those of a request, on average.

    `values` are, of the right decisions that have any to give, those that have them all.
    """
    head = [f"| {' | '.join(COLUMNS)} |", f"| --- | --- {'| --: ' * (len(COLUMNS) - 2)}|"]
    rows = [
        _row(how, name, part) for how, found in outcomes.items() for name, part in _parts(found)
    ]
    return "\n".join(head + rows)


def _parts(found: list[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """By group, by language, by half, and the whole."""
    of: list[Callable[[Labelled], str]] = [lambda x: x.group, lambda x: x.lang, lambda x: x.half]
    for key in of:
        for name in dict.fromkeys(key(one.label) for one in found):
            yield name, [one for one in found if key(one.label) == name]
    yield "**all**", found


def sums(found: Sequence[Outcome]) -> str:
    """What all of them took together, and how many a rule would have spared."""
    usage = [one.decided.usage for one in found]
    return (
        f"{len(found)} requests: {sum(one.seconds for one in found):.0f} s, "
        f"{sum(u.llm_calls for u in usage)} calls, "
        f"{sum(u.prompt_tokens for u in usage)} prompt and "
        f"{sum(u.completion_tokens for u in usage)} completion tokens; "
        f"a rule would have taken {sum(one.by_rule for one in found)} of them without a model"
    )


def line(one: Outcome) -> str:
    """One request, for who watches."""
    done = ", ".join(command.model_dump_json(exclude={"id"}) for command in one.decided.commands)
    usage = one.decided.usage
    mark = "ok " if one.is_right and all(one.values) else "val" if one.is_right else "NO "
    problems = [problem for answer in one.answers for problem in answer.problems]
    return (
        f"{mark} {one.label.group:<10} {one.seconds:5.1f} s {usage.prompt_tokens:>5}"
        f"+{usage.completion_tokens:<4} {one.label.text[:60]} -> {done[:300]}"
        f"{f' problems: {problems}' if problems else ''}"
    )


def _row(how: How, group: str, found: Sequence[Outcome]) -> str:
    right = sum(one.is_right for one in found)
    values = [all(one.values) for one in found if one.is_right and one.label.values]
    seconds = sorted(one.seconds for one in found)
    usage = [one.decided.usage for one in found]
    return (
        f"| {how} | {group} | {right}/{len(found)} | {sum(values)}/{len(values)} "
        f"| {sum(not one.is_valid for one in found)} "
        f"| {_at(seconds, 0.5):.1f} | {_at(seconds, 0.95):.1f} "
        f"| {sum(u.prompt_tokens for u in usage) / len(found):.0f} "
        f"| {sum(u.completion_tokens for u in usage) / len(found):.0f} "
        f"| {sum(u.llm_calls for u in usage)} |"
    )


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
