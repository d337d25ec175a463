"""Everything the router keeps, an aggregate each, over one database.

Every method is scoped to a tenant, idempotent under retry, and may raise `Unavailable`.
"""

from collections.abc import Sequence

from router.domain.webhook_events import WebhookSubscription
from router.store.audit import AuditTrail, ToolCallAudit
from router.store.blobs import Files, Results, SkillFiles
from router.store.consistency import Consistency
from router.store.conversations import Conversations, Mailboxes
from router.store.database import Database, SharedClock
from router.store.document_versions import ConfigurationStore
from router.store.documents import Documents
from router.store.erasure import ConversationErasure
from router.store.event_log import EventLog, RoutedTurns
from router.store.flow_runs import FlowVersions, Runs
from router.store.hand_offs import HandOffStore
from router.store.idempotency import EffectsLedger, IdempotencyKeys
from router.store.identity import HealthChecks, Houses, KeySeals
from router.store.kept_answers import KeptAnswers
from router.store.legal_holds import LegalHolds
from router.store.live import InProcessLive, Live, PostgresLive
from router.store.memories import Memories
from router.store.prompt_shares import PromptOutcomes, PromptShares
from router.store.retention import AgedRows, Retention
from router.store.spending import Spending
from router.store.webhook_deliveries import WebhookDeliveries, WebhookOutbox


class Store:
    """What is kept in one database, whose tables `Database.migrate` has made."""

    live: Live
    """What happens in turns right now: for all processes, or on SQLite within this one."""

    def __init__(
        self,
        database: Database,
        subscriptions: Sequence[WebhookSubscription] = (),
        aged: Sequence[AgedRows] = (),
    ) -> None:
        """Create the aggregates.

        Args:
            database: For extensions too, which create aggregates of their own over it.
            subscriptions: Those of other systems, for whom events are kept.
            aged: Rows of extensions that expire.
        """
        self.database = database
        self.live = PostgresLive(database) if database.dialect == "postgresql" else InProcessLive()
        self.clock = SharedClock(database)
        self.conversations = Conversations(database)
        webhooks = WebhookOutbox(database, subscriptions)
        self.log = EventLog(database, self.live, webhooks)
        self.runs = Runs(database, self.live, webhooks)
        self.webhooks = WebhookDeliveries(database)
        self.keys = IdempotencyKeys(database)
        self.ledger = EffectsLedger(database)
        self.spending = Spending(database)
        self.audit = ToolCallAudit(database)
        self.routed = RoutedTurns(database)
        self.trail = AuditTrail(database)
        self.prompt_shares = PromptShares(database)
        self.configuration = ConfigurationStore(database)
        self.prompt_outcomes = PromptOutcomes(database)
        self.results = Results(database)
        self.files = Files(database)
        self.documents = Documents(database)
        self.memories = Memories(database)
        self.answers = KeptAnswers(database)
        self.consistency = Consistency(database)
        self.health_checks = HealthChecks(database)
        self.key_seals = KeySeals(database)
        self.houses = Houses(database)
        self.retention = Retention(database, aged)
        self.erasure = ConversationErasure(database)
        self.legal_holds = LegalHolds(database)
        self.mailboxes = Mailboxes(database)
        self.hand_offs = HandOffStore(database)
        self.flow_versions = FlowVersions(database)
        self.skill_files = SkillFiles(database)

    async def aclose(self) -> None:
        """Let go of what listens; the database is its owner's to dispose of."""
        await self.live.aclose()
