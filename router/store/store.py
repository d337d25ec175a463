"""Everything the router keeps, as the ports in `router.domain.ports`."""

from router.domain.ports import (
    AuditTrail,
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
    RoutedTurns,
    Runs,
    SkillFiles,
    Spending,
    ToolCallAudit,
)
from router.store.audit import DatabaseAuditTrail, DatabaseToolCallAudit
from router.store.conversations import DatabaseConversations, DatabaseMailboxes
from router.store.database import Database
from router.store.event_log import DatabaseLog, DatabaseRouted
from router.store.files import DatabaseFiles, DatabaseResults, DatabaseSkillFiles
from router.store.idempotency import DatabaseKeys, DatabaseLedger
from router.store.live import InProcessLive, PostgresLive
from router.store.retention import DatabaseRetention
from router.store.runs import DatabaseFlowVersions, DatabaseRuns
from router.store.spending import DatabaseSpending


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
        self.audit: ToolCallAudit = DatabaseToolCallAudit(database)
        self.routed: RoutedTurns = DatabaseRouted(database)
        self.trail: AuditTrail = DatabaseAuditTrail(database)
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
