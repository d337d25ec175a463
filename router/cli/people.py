"""Who a command acts as: `--user`, looked up in the directory."""

from difflib import get_close_matches

from router.directory.file import FileDirectory
from router.domain.errors import NotFound
from router.domain.principals import Principal
from router.settings import Settings


def person(settings: Settings, user: str) -> Principal:
    """The person with this id.

    Raises:
        NotFound: the directory has nobody of that id.
    """
    everyone = {one.id: one for one in FileDirectory.load(settings.directory).everyone()}
    if user not in everyone:
        close = get_close_matches(user, everyone, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"it has {', '.join(everyone)}"
        raise NotFound(f"--user {user!r} isn't in the directory: {remedy}")
    return everyone[user]
