from router.domain.locale import Localised
from router.domain.principals import Capability
from router.retrieval.selection import RetrievedCandidate, Selection, Signs
from router.routing.decider import listed


def capability(name: str, words: int = 10) -> Capability:
    said = Localised(zh="词 " * words, en="word " * words)
    return Capability(kind="tool", name=name, title=said, description=said)


def found(*capabilities: Capability) -> Selection:
    candidates = tuple(RetrievedCandidate(one, 0.5) for one in capabilities)
    return Selection(candidates=candidates, verdict="several", signs=Signs(1.0, 1.0, 0.1), notes=())


def test_all_that_is_usable_is_listed_whatever_is_near_where_it_fits_into_a_prompt() -> None:
    usable = [capability(f"tool_{number}") for number in range(20)]
    assert listed(found(usable[7]), usable) == usable


def test_only_what_is_near_is_listed_of_more_than_fits() -> None:
    usable = [capability(f"tool_{number}", words=400) for number in range(20)]
    assert listed(found(usable[7], usable[3]), usable) == [usable[7], usable[3]]
