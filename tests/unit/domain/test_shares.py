"""Who is of a share: the same people everywhere, and all of them still where it grows."""

from itertools import pairwise

from router.domain.principals import TenantScoped
from router.domain.shares import Shared, is_of_share, part_of

PEOPLE = [f"p{number}" for number in range(2000)]


def of_share(share: int, flow: str = "overtime", tenant: str = "acme") -> set[str]:
    return {person for person in PEOPLE if is_of_share(share, tenant, flow, person)}


def test_a_larger_share_keeps_the_people_of_the_smaller_one() -> None:
    shares = [of_share(share) for share in (0, 1, 10, 11, 50, 99, 100)]
    assert all(smaller <= larger for smaller, larger in pairwise(shares))
    assert (shares[0], shares[-1]) == (set(), set(PEOPLE))


def test_a_share_is_about_as_many_people_as_it_says() -> None:
    for share in (1, 10, 50):
        assert abs(len(of_share(share)) / len(PEOPLE) - share / 100) < 0.04


def test_other_people_are_first_for_another_flow_and_in_another_tenant() -> None:
    first = of_share(10)
    assert of_share(10, flow="leave") != first
    assert of_share(10, tenant="globex") != first


def test_the_part_that_somebody_falls_into_is_no_process_s_choice() -> None:
    assert part_of("acme", "overtime", "alice") == 56


class Thing(TenantScoped):
    """Something that tenants may have their own of."""


def test_people_of_a_share_have_another_and_everybody_else_what_the_tenant_has() -> None:
    house, theirs, first = Thing(), Thing(), Thing()
    shared = Shared({"overtime": 50}, {frozenset({"overtime"}): first})
    house.give({"acme": theirs}, {"acme": shared})
    in_it, out_of_it = min(of_share(50)), min({*PEOPLE} - of_share(50))
    assert house.of("acme", in_it) is first
    assert house.of("acme", out_of_it) is theirs
    assert house.of("acme") is theirs
    assert house.of("globex", in_it) is house
    assert house.every() == [house, theirs, first]


def test_whose_share_could_not_be_made_have_what_the_tenant_has() -> None:
    house = Thing()
    house.give({}, {"acme": Shared({"overtime": 100}, {})})
    assert house.of("acme", "alice") is house
