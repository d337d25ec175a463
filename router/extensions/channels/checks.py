"""What `doctor` checks of chat platforms."""

from datetime import UTC, datetime, timedelta

from router.cli.options import absent_database
from router.domain.errors import Unavailable
from router.extensions.channels.mounting import configured_platforms
from router.settings import Settings
from router.store.conversations import Mailboxes
from router.store.database import Database

POSTED_WITHIN = timedelta(minutes=1)


async def check_posts(settings: Settings) -> str:
    """Check that nothing waits to be posted on a configured platform."""
    names = [platform.name for platform, _ in configured_platforms(settings)]
    if not names or absent_database(settings):
        return ", ".join(names) or "none is set"
    now = datetime.now(UTC)
    database = Database(settings.database_url)
    try:
        oldest = await Mailboxes(database).oldest(names)
    finally:
        await database.dispose()
    late = {name: now - at for name, at in oldest.items() if now - at > POSTED_WITHIN}
    if late:
        raise Unavailable(
            "; ".join(
                f"something has waited {age.total_seconds():.0f} s to be posted on {name}: the log "
                "of `serve` says why, and it is posted once that is mended"
                for name, age in late.items()
            )
        )
    return f"{', '.join(names)}: everything is posted"
