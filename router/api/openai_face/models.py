"""What may be asked for as a model: the router, and each skill by itself."""

from collections.abc import Iterator

from router.api.deps import Services
from router.domain.errors import NotFound
from router.domain.principals import Principal

ROUTER = "intent-router"


def names(services: Services, person: Principal) -> Iterator[str]:
    """The models that this person may ask; skills need a language model, where there is one."""
    yield ROUTER
    if services.settings.models:
        for capability in services.offered.visible_to(person):
            if capability.kind == "skill":
                yield f"{ROUTER}/{capability.name}"


def skill_meant(model: str, services: Services, person: Principal) -> str | None:
    """The skill that is asked under this name; None for the router itself.

    Raises:
        NotFound: there is no such model, or none that this person may ask.
    """
    if model not in names(services, person):
        raise NotFound(f"There is no model {model[:80]!r} that you may ask; see /v1/models.")
    return model.partition("/")[2] or None
