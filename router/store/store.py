"""Everything the router keeps, as the ports in `router.domain.ports`."""

from router.domain.ports import Conversations, EffectsLedger, EventLog, IdempotencyKeys, Runs
from router.store.conversations import DatabaseConversations
from router.store.database import Database
from router.store.keys import DatabaseKeys
from router.store.ledger import DatabaseLedger
from router.store.log import DatabaseLog
from router.store.runs import DatabaseRuns


class Store:
    """The ports over one database, whose tables `Database.migrate` has made.

    >>> store = Store(Database("sqlite:////var/lib/router/router.db"))
    >>> await store.log.transcript("default", "c1", after=None, limit=50)  # doctest: +SKIP
    """

    def __init__(self, database: Database) -> None:
        self.conversations: Conversations = DatabaseConversations(database)
        self.log: EventLog = DatabaseLog(database)
        self.runs: Runs = DatabaseRuns(database)
        self.keys: IdempotencyKeys = DatabaseKeys(database)
        self.ledger: EffectsLedger = DatabaseLedger(database)
