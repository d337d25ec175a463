"""The skills that are loaded, and who may use which."""

from collections.abc import Iterable, Iterator

from router.domain.capabilities import Capability
from router.domain.principals import Principal
from router.skill.skill import Skill


class SkillCatalog:
    """Skills by name, in the order of their names. It doesn't change; load anew for a new one.

    >>> "policy-advisor" in SkillCatalog([])
    False
    """

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills = {s.name: s for s in sorted(skills, key=lambda skill: skill.name)}

    def get(self, name: str) -> Skill | None:
        """The skill of that name, whoever may use it; None where there is none."""
        return self._skills.get(name)

    def visible_to(self, person: Principal) -> list[Skill]:
        """The skills that this person may use."""
        return [skill for skill in self if person.may(skill.roles)]

    def capabilities(self, person: Principal) -> list[Capability]:
        """The same, as they are listed and found."""
        return [skill.capability for skill in self.visible_to(person)]

    def __contains__(self, name: str) -> bool:
        return name in self._skills

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def __len__(self) -> int:
        return len(self._skills)
