"""Every metric of the project, and the port that shows them, which the API's callers never reach.

No label ever holds an id or anything that a person wrote: what it can be is bounded by the code
or by configuration. The GenAI names are OpenTelemetry's, as its Prometheus exporter writes them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from router.domain.errors import MisconfiguredError

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144)

HTTP = Histogram(
    "http_server_request_duration_seconds",
    "Requests, by the template of their route; streams until they begin.",
    ("http_request_method", "http_route", "http_response_status_code"),
    buckets=SECONDS,
)
TURNS = Histogram(
    "router_turn_duration_seconds",
    "Turns as whoever sent the message waits for them, by kind of route and what decided it.",
    ("kind", "by", "status"),
    buckets=SECONDS,
)
ROUTES = Counter(
    "router_routes", "Routes taken, several where a turn had several commands.", ("kind", "by")
)
REFUSED = Counter(
    "router_refused_requests",
    "Requests refused before any work: whose limit it was (user, tenant, user_seconds, "
    "tenant_seconds, user_turns, tenant_turns, backlog, busy, tool).",
    ("limit",),
)
BACKLOG = Gauge(
    "router_backlog_age_seconds",
    "How long the oldest task has waited for a worker, last looked at.",
)
STRANDED = Gauge(
    "router_stranded_tasks", "Tasks of runs that stay on a build without a worker.", ("build",)
)
LOST_RUNS = Gauge(
    "router_lost_runs",
    "Runs whose row and workflow don't fit: lost (no workflow), behind, ended (yet it goes on).",
    ("kind",),
)
FAILING_WORKFLOWS = Gauge(
    "router_failing_workflows",
    "Running workflows whose task has failed several times in a row: they stand still.",
    ("workflow_type",),
)
CUT_OFF = Counter(
    "router_conversations_cut_off_total",
    "Conversations that went on without what they last knew: their workflow was gone.",
)
DIRECTORY_AGE = Gauge(
    "router_directory_age_seconds", "How long ago the directory's source last said who there is."
)
DIRECTORY_PROBLEMS = Gauge(
    "router_directory_problems", "What is wrong with the directory as it was last read."
)
EXPIRY_REFUSED = Gauge(
    "router_expiry_refused", "1 while too much would expire at once, and so nothing does."
)
APART = Gauge(
    "router_halves_apart",
    "1 while the database and Temporal aren't of one moment, or house.",
)
CONFIGURATION_UNFIT = Gauge(
    "router_configuration_unfit",
    "Tenants whose documents of configuration can't be taken up as they are by now.",
)
UNPOSTED = Gauge(
    "router_unposted_age_seconds",
    "How long the oldest of what is to be posted on a chat platform has waited; 0 for none.",
    ("platform",),
)
WEBHOOKS = Counter(
    "router_webhooks",
    "Tries to tell another system of an event: it took it (delivered), it didn't (failed), or it "
    "was given up (dead).",
    ("outcome",),
)
UNDELIVERED = Gauge(
    "router_webhook_age_seconds",
    "How long the oldest event that another system wants to hear of has waited; 0 for none.",
    ("url",),
)
WEBHOOKS_DEAD = Gauge(
    "router_webhooks_dead",
    "Events that were given up, until an operator sends them again.",
    ("url",),
)
STREAMS = Gauge("router_event_streams", "Readers of server-sent events.")
CONVERSATIONS = Gauge("router_open_conversations", "Conversations that Temporal keeps open.")
APPROVALS = Gauge("router_approvals_waiting", "Approvals that wait for a decision.")
OLDEST_APPROVAL = Gauge(
    "router_oldest_approval_age_seconds", "How long the oldest of them has waited; 0 for none."
)
EXPIRING_APPROVALS = Gauge("router_approvals_expiring", "Those of them that expire within a day.")
ORPHANED_APPROVALS = Gauge(
    "router_approvals_orphaned", "Those that wait for somebody who isn't in the directory."
)
ORPHANED_REQUESTS = Gauge(
    "router_requests_orphaned", "Requests under way of somebody who isn't in the directory."
)
UNREADABLE = Counter(
    "router_unreadable_payloads_total",
    "Payloads of Temporal's that no key here opens: what they belong to stands still.",
)
HAND_OFFS = Gauge(
    "router_hand_offs_waiting",
    "Conversations in which somebody waits for a person: open, or taken and not answered.",
    ("state",),
)
OLDEST_HAND_OFF = Gauge(
    "router_oldest_hand_off_age_seconds",
    "How long the longest of them has waited; 0 for none.",
    ("state",),
)
FLOW_STEPS = Counter(
    "router_flow_steps",
    "Steps of flow runs, by where they led; an end is a status.",
    ("flow", "state", "status"),
)
LOOP_STALLS = Histogram(
    "router_loop_stall_seconds",
    "Times at which nothing ran on the event loop for 50 ms or longer: somebody waited.",
    buckets=(0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 5),
)
CACHED_WORKFLOWS = Gauge(
    "router_cached_workflows", "Conversations, flows and skills that a worker keeps in memory."
)
ACTIVITIES = Histogram(
    "router_activity_duration_seconds",
    "Tries of activities; all tools and hooks are call_tool.",
    ("activity", "outcome"),
    buckets=SECONDS,
)
RETRIES = Counter("router_activity_retries", "Tries of activities after the first.", ("activity",))
DEATHS = Counter(
    "router_deaths",
    "Processes found dead by the next one: that broke (a fault), or were killed.",
    ("how",),
)
SET_ASIDE = Counter(
    "router_set_aside", "Activities not run, for processes have died of them.", ("activity",)
)

TOOLS = Histogram(
    "gen_ai_execute_tool_duration_seconds",
    "Tries of tools.",
    ("gen_ai_tool_name", "error_type"),
    buckets=SECONDS,
)
HOOKS = Histogram(
    "router_hook_duration_seconds",
    "Calls of hooks, by where they stand; an outcome that isn't done names the error.",
    ("hook", "point", "outcome"),
    buckets=SECONDS,
)
MODEL_LABELS = ("gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model")
MODELS = Histogram(
    "gen_ai_client_operation_duration_seconds",
    "Questions to models.",
    (*MODEL_LABELS, "error_type"),
    buckets=SECONDS,
)
MODEL_TOKENS = Histogram(
    "gen_ai_client_token_usage",
    "Tokens of answers of models, as far as servers say; guessed where they don't.",
    (*MODEL_LABELS, "gen_ai_token_type"),
    buckets=TOKENS,
)
MODEL_CACHED = Counter(
    "router_model_cached_tokens",
    "Those of the prompts that came out of a provider's cache (read) or went into it (creation).",
    (*MODEL_LABELS, "kind"),
)
MODEL_COST = Counter(
    "router_model_cost",
    "What answers of models cost, in the currency of their prices; nothing where they have none.",
    (*MODEL_LABELS, "currency"),
)
ESCALATIONS = Counter(
    "router_escalations",
    "Decisions asked of a stronger model: why the first was unsure (asks, doubted, gives_up, "
    "unusable), and what came of it (sure, unsure, failed).",
    ("why", "outcome"),
)
ANSWER_CACHE = Counter(
    "router_answer_cache",
    "Questions whose answer may be the same for everyone: given again (hit), not there (miss), "
    "and answers kept for others (kept).",
    ("outcome",),
)
UNFAITHFUL = Counter(
    "router_unfaithful_answers",
    "What models said of findings and nobody was shown, by the check that it failed.",
    ("check",),
)

CIRCUIT = {"closed": 0.0, "half-open": 0.5, "open": 1.0}


class Circuits(Collector):
    """The circuit breakers of models, or of the systems behind tools, looked at when asked for."""

    def __init__(
        self, of: Literal["model", "system"], states: Callable[[], Mapping[str, str]]
    ) -> None:
        self._of = of
        self._states = states

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One gauge: 0 closed, 0.5 let one try, 1 open."""
        what = "model" if self._of == "model" else "tool"
        family = GaugeMetricFamily(
            f"router_{what}_circuit_open",
            f"1 where a {self._of} is left alone for it failed, 0.5 while one tries it, else 0.",
            labels=(self._of,),
        )
        for name, state in self._states().items():
            family.add_metric((name,), CIRCUIT[state])
        yield family


@contextmanager
def exposed(host: str, port: int) -> Iterator[str]:
    """Serve this process's metrics; gives the address. Port 0 is any that is free."""
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host)
    except OSError as error:
        raise MisconfiguredError(
            f"ROUTER_METRICS_PORT={port} can't be opened on {host} ({error.strerror}): "
            "choose another, or 0 for any that is free"
        ) from None
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
