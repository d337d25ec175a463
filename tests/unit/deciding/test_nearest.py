from router.deciding.nearest import listed
from router.domain.capabilities import Capability
from router.domain.texts import Localised
from router.selection.selected import Candidate, Selection, Signs


def capability(name: str, words: int = 10) -> Capability:
    said = Localised(zh="词 " * words, en="word " * words)
    return Capability(kind="tool", name=name, title=said, description=said)


def found(*capabilities: Capability) -> Selection:
    candidates = tuple(Candidate(one, 0.5) for one in capabilities)
    return Selection(candidates=candidates, verdict="several", signs=Signs(1.0, 1.0, 0.1), notes=())


def test_all_that_is_usable_is_listed_whatever_is_near_where_it_fits_into_a_prompt() -> None:
    usable = [capability(f"tool_{number}") for number in range(20)]
    assert listed(found(usable[7]), usable) == usable


def test_only_what_is_near_is_listed_of_more_than_fits() -> None:
    usable = [capability(f"tool_{number}", words=400) for number in range(20)]
    assert listed(found(usable[7], usable[3]), usable) == [usable[7], usable[3]]
