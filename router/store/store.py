"""Everything the router keeps, as the ports in `router.domain.ports`."""

from router.domain.ports import (
    Audit,
    Conversations,
    EffectsLedger,
    EventLog,
    Files,
    FlowVersions,
    IdempotencyKeys,
    Live,
    Mailboxes,
    Results,
    Retention,
    Routed,
    Runs,
    SkillFiles,
    Spending,
    Trail,
)
from router.store.audit import DatabaseAudit
from router.store.conversations import DatabaseConversations
from router.store.database import Database
from router.store.files import DatabaseFiles
from router.store.flow_versions import DatabaseFlowVersions
from router.store.keys import DatabaseKeys
from router.store.ledger import DatabaseLedger
from router.store.live import InProcessLive
from router.store.live_postgres import PostgresLive
from router.store.log import DatabaseLog
from router.store.mailboxes import DatabaseMailboxes
from router.store.results import DatabaseResults
from router.store.retention import DatabaseRetention
from router.store.routed import DatabaseRouted
from router.store.runs import DatabaseRuns
from router.store.skill_files import DatabaseSkillFiles
from router.store.spending import DatabaseSpending
from router.store.trail import DatabaseTrail


class Store:
    """The ports over one database, whose tables `Database.migrate` has made.

    >>> store = Store(Database("sqlite:////var/lib/router/router.db"))
    >>> await store.log.transcript("default", "c1", after=None, limit=50)  # doctest: +SKIP
    """

    def __init__(self, database: Database) -> None:
        several = database.dialect == "postgresql"
        self._live = PostgresLive(database) if several else InProcessLive()
        self.conversations: Conversations = DatabaseConversations(database)
        self.log: EventLog = DatabaseLog(database, self._live)
        self.runs: Runs = DatabaseRuns(database, self._live)
        self.keys: IdempotencyKeys = DatabaseKeys(database)
        self.ledger: EffectsLedger = DatabaseLedger(database)
        self.spending: Spending = DatabaseSpending(database)
        self.audit: Audit = DatabaseAudit(database)
        self.routed: Routed = DatabaseRouted(database)
        self.trail: Trail = DatabaseTrail(database)
        self.results: Results = DatabaseResults(database)
        self.files: Files = DatabaseFiles(database)
        self.retention: Retention = DatabaseRetention(database)
        self.mailboxes: Mailboxes = DatabaseMailboxes(database)
        self.flow_versions: FlowVersions = DatabaseFlowVersions(database)
        self.skill_files: SkillFiles = DatabaseSkillFiles(database)

    @property
    def live(self) -> Live:
        """What happens in turns right now: for all processes, or on SQLite within this one."""
        return self._live

    async def aclose(self) -> None:
        """Let go of what listens; the database is its owner's to dispose of."""
        await self._live.aclose()
