"""Who a command acts as: `--user`, looked up in the directory."""

from difflib import get_close_matches

from router.directory.sources import people_of
from router.domain.errors import NotFound
from router.domain.principals import DEFAULT_TENANT, Principal
from router.settings import Settings


def person(settings: Settings, user: str, tenant: str = DEFAULT_TENANT) -> Principal:
    """The person with this id, of that tenant.

    Raises:
        NotFound: the directory has nobody of that id there.
    """
    everyone = {one.id: one for one in people_of(settings).everyone(tenant)}
    if user not in everyone:
        close = get_close_matches(user, everyone, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"it has {', '.join(everyone) or 'none'}"
        of = "" if tenant == DEFAULT_TENANT else f" of tenant {tenant!r}"
        raise NotFound(f"--user {user!r} isn't in the directory{of}: {remedy}")
    return everyone[user]
