"""What labelled lines may name in a deployment."""

from router.cli.dry_run import said
from router.extensions.evaluation.dataset import KnownLabels
from router.runtime.definitions import load_capabilities
from router.settings import Settings


def known_of(settings: Settings, users: frozenset[str]) -> KnownLabels:
    """What labelled lines may name here."""
    offered = load_capabilities(settings)
    slots = {}
    for one in offered.everything():
        properties = one.parameters.get("properties")
        arguments = properties if isinstance(properties, dict) else ()
        slots[one.name] = frozenset(arguments) | frozenset(offered.slots(one.name))
    return KnownLabels(slots=slots, users=users, check_text=said)
