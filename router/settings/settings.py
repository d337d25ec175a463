"""What can be set, what has to agree, and what a process makes of it.

`Settings` is what the project itself reads. Whatever is found rather than known, such as a chat
platform, declares a `Section` of its own and is asked for it by `Settings.section`.
"""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from router.domain.budgets import Budgets
from router.domain.errors import MisconfiguredError
from router.domain.loopback import is_loopback
from router.domain.value import Value
from router.settings import values
from router.settings.brand import AccentColour, LogoFile, PageTitle
from router.settings.environment import (
    DOTENV,
    OF_CLIENTS,
    PREFIX,
    SUFFIX,
    TESTS_PREFIX,
    TOOL_PREFIX,
    SecretFiles,
    environment,
    is_secret,
    lines,
)
from router.settings.models import (
    ADDRESSES,
    OPENAI,
    Escalation,
    Fallback,
    ModelAccess,
    ModelOptions,
    ModelRole,
    ProtocolName,
    RoleModel,
    RoleModels,
    Thrift,
    check_address,
    protocol_family,
)
from router.settings.project import ProjectFile, find_project


class Section(Value, BaseSettings):
    """Variables that belong together, by the prefix that they have in common."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=DOTENV,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options win over files of secrets, then environment, `.env`, and the project's file."""
        variables = {name.upper(): value for name, value in environment().items()}
        files = SecretFiles(settings_cls, variables)
        project = ProjectFile(settings_cls, find_project(), Settings.model_fields.keys())
        return init_settings, files, env_settings, dotenv_settings, project, file_secret_settings

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """What is set, `overrides` before all; `MisconfiguredError` names every fault."""
        try:
            return cls(**overrides)
        except ValidationError as error:
            declared = cls._declared(overrides)
            raise MisconfiguredError("\n".join(lines(error, cls.prefix(), declared))) from None

    @classmethod
    def _declared(cls, overrides: Collection[str]) -> dict[str, str]:
        """Return how to name the values that the project's file sets, by the variable's name."""
        project = find_project()
        if project is None:
            return {}
        return {
            f"{cls.prefix()}{name}".upper(): f"{project.file}: {name} = {value!r}"
            for name, value in project.values_of(cls.prefix()).items()
            if name not in overrides
        }

    @classmethod
    def prefix(cls) -> str:
        """What the names of its variables begin with."""
        return str(cls.model_config["env_prefix"])

    def describe(self, name: str) -> str:
        """Return a setting as whoever set it wrote it, for what is said of its value.

        That is `ROUTER_FLOWS=flows`, or the line of the project's file.
        """
        variable = f"{self.prefix()}{name}".upper()
        set_ = {each.upper() for each, value in environment().items() if value}
        declared = self._declared(()).get(variable)
        return (
            declared if declared and variable not in set_ else f"{variable}={getattr(self, name)}"
        )

    @classmethod
    def variables(cls) -> set[str]:
        """The names of its variables, those of files that hold its secrets among them."""
        named = {name: f"{cls.prefix()}{name}".upper() for name in cls.model_fields}
        secret = {name for name, field in cls.model_fields.items() if is_secret(field)}
        return {*named.values(), *(f"{named[name]}{SUFFIX}" for name in secret)}


Known = TypeVar("Known", bound=Section)


WITH_TLS = (
    "temporal_api_key",
    "temporal_tls_ca",
    "temporal_tls_server_name",
    "temporal_tls_cert",
    "temporal_tls_key",
)
"""What is of use over TLS alone."""
NO_TLS: dict[str, None] = dict.fromkeys(("temporal_tls", *WITH_TLS))
"""What is set for a Temporal that `dev` runs itself, at loopback."""

NamesSetting = Annotated[frozenset[str], NoDecode, BeforeValidator(values.to_names)]
Origins = Annotated[list[values.HttpOrigin], NoDecode, BeforeValidator(values.from_json)]


class Settings(Section):
    """What can be set, with what is used where nothing is."""

    data: Path = Path(".data")
    """The folder that `dev` keeps its state in."""
    database_url: values.DatabaseUrl = Field(
        default_factory=lambda known: f"sqlite:///{known['data']}/router.db", repr=False
    )
    """Where the database is, as a SQLAlchemy URL. Hidden from `repr`: it may hold a password."""
    database_connections: Annotated[int, Field(ge=2, le=1000)] = 20
    """How many connections to PostgreSQL this process keeps for its work, at most. An API has one
    more that listens for news; SQLite has its own."""

    temporal_address: values.HostAddress = "127.0.0.1:7233"
    """The Temporal server that API and worker use."""
    temporal_namespace: str = "default"
    """The namespace there; at Temporal Cloud with the account, such as `desk.a1b2c`."""
    temporal_api_key: values.HeaderSecret | None = None
    """Sent there with every call, as a bearer token and over TLS alone."""
    temporal_tls: bool | None = None
    """Whether it is spoken to over TLS; None: where one of the others asks for it."""
    temporal_tls_ca: Path | None = None
    """A PEM file of who vouches for its certificate; None: whom this machine trusts."""
    temporal_tls_server_name: str | None = None
    """The name that its certificate has, where that isn't the address's."""
    temporal_tls_cert: Path | None = None
    """A PEM file of the certificate that this process shows, with those between it and its CA."""
    temporal_tls_key: SecretStr | None = None
    """The private key of that certificate, as PEM; best in a file."""
    task_queue: str = "router"
    """The queue that workflows and activities share."""
    model_queue: values.QueueName | None = None
    """A task queue for activities that ask models; None: they share `task_queue`."""
    tool_queue: values.QueueName | None = None
    """The same for calls of tools."""
    model_calls_per_second: Annotated[float, Field(gt=0)] | None = None
    """How many of the former Temporal hands out a second, to all workers together; None: any."""
    tool_calls_per_second: Annotated[float, Field(gt=0)] | None = None
    """The same of calls of tools."""
    worker_version: values.Build | None = None
    """The build that this process runs, such as a release or commit: its worker then takes part in
    Temporal's worker versioning. None: it doesn't, and runs whatever there is."""
    worker_deployment: values.Deployment = "intent-router"
    """What Temporal calls all versions of the worker together."""
    temporal_ui: values.WebUrl = "http://127.0.0.1:8233"
    """Where links to a run's history lead; a browser may ask for plain text from there alone."""

    payload_keys: Annotated[values.PayloadKeys, NoDecode, BeforeValidator(values.to_keys)] = Field(
        values.PayloadKeys(), repr=False
    )
    """What payloads in Temporal are encrypted with: `id:base64,…`, the first one; all decrypt."""
    encrypted_payloads_only: bool = False
    """Whether payloads without encryption are refused: once nothing is left of a time without
    keys. Until then whoever reaches Temporal may write some."""
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """How long conversations, files and the event log are kept; None: for ever."""
    memory_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """How long what a person asked to have remembered is kept; None: until they have it
    forgotten."""

    auth: Literal["dev", "jwt"] = "dev"
    """`dev`: a bearer token is a user id of the directory, at loopback alone; `jwt`: tokens are
    checked."""
    jwt_secret: values.LongSecret | None = None
    """The secret that tokens are signed with (HS256); either this or the address of published
    keys."""
    jwt_jwks_url: values.WebUrl | None = None
    """Where the issuer publishes its keys (RS256, ES256)."""
    jwt_issuer: str | None = None
    """What a token has to name as `iss`; None: any."""
    jwt_audience: str | None = None
    """What a token has to name as `aud`; None: any."""
    jwt_user_claim: values.Claim = "sub"
    """Which claim has the directory's user id; a path such as `profile.name`, too."""
    jwt_tenant_claim: values.Claim | None = None
    """Which claim names the tenant; a token without it is then refused. None: there is one."""
    jwt_roles_claim: values.Claim | None = None
    """Which claim has roles, beyond those that the directory gives. None: no token gives any."""
    jwt_roles: Annotated[
        dict[str, str],
        NoDecode,
        BeforeValidator(values.from_json),
        AfterValidator(values.grantable),
    ] = {}
    """What names in that claim stand for, as JSON: `{"IT-Admins": "operator"}`. Where this is set
    no other name counts; where it isn't, names are roles."""
    openwebui_jwt_secret: values.LongSecret | None = None
    """What Open WebUI signs its users' names with (`FORWARD_USER_INFO_HEADER_JWT_SECRET`); with
    it no unsigned name is believed."""
    mail_domain: values.MailDomain | None = None
    """The house's own, such as `example.com`: a chat UI's `alice@example.com` is then `alice`."""

    oidc_issuer: values.WebUrl | None = None
    """Where people sign in to the page, by OpenID Connect: its address, as in its tokens' `iss`."""
    oidc_client_id: str | None = None
    """What the page is registered as there: a public client that goes back to the page."""
    oidc_scope: str = "openid profile"
    """What the page asks for; an issuer may want one more for tokens that the API takes."""

    llm_base_url: values.WebUrl | None = Field(
        None, validation_alias=AliasChoices("ROUTER_LLM_BASE_URL", "OPENAI_BASE_URL")
    )
    """Where the model is; None is the provider of the protocol, where a key is set."""
    llm_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("ROUTER_LLM_API_KEY", "OPENAI_API_KEY")
    )
    """The key that it wants; none where it wants none."""
    llm_model: str | None = None
    """The model's name there. None: the router runs without a model."""
    llm_protocol: ProtocolName = "chat_completions"
    """How it is spoken to: `chat_completions`, `responses`, `anthropic`, `gemini`, or as an
    extension has it."""
    llm_options: Annotated[ModelOptions, NoDecode, BeforeValidator(values.from_json)] = (
        ModelOptions()
    )
    """How it is asked, as JSON: `{"temperature": …, "max_tokens": …, "effort": "low",
    "extra_body": {…}}`."""
    llm_roles: Annotated[RoleModels, NoDecode, BeforeValidator(values.from_json)] = {}
    """Other models by role (`router`, `skill`, `plan`, `phrase`), as JSON: each a `RoleModel`."""
    llm_escalate: Annotated[Escalation, NoDecode] = None
    """A stronger model, asked where the first is unsure how to route: its name, or a `RoleModel`
    as JSON. None: people are asked right away."""
    llm_skill_model: str | None = None
    """A stronger one for skills, at the same address; None is `llm_model`."""
    llm_fallbacks: Annotated[list[Fallback], NoDecode, BeforeValidator(values.from_json)] = []
    """Asked in order where the model can't answer, as JSON: a list of `Fallback`."""

    llm_thrift: Annotated[Thrift, NoDecode, BeforeValidator(values.from_json)] = []
    """Cheaper models, for when a budget comes to its end, as JSON:
    `[{"below": 0.3, "model": "…"}, …]`, each as in `llm_roles`. Once less than that share is left
    of a turn's, a person's, their tenant's or the house's budget, it is asked before any other."""
    llm_budgets: Annotated[Budgets, NoDecode, BeforeValidator(values.from_json)] = Budgets()
    """What may be spent on models, as JSON: `{"turn": …, "user": …, "tenant": …, "day": …}`, each
    with `calls`, `tokens` and `cost`; a user's, a tenant's and all tenants' are by the day."""
    llm_prices: Path | None = None
    """A YAML file of what models cost, over those prices that ship."""
    persona: Path | None = None
    """A YAML file of who the desk is: its name, tone, the company's words, dos and don'ts."""
    tenants: Path | None = None
    """A YAML file of what each tenant has: flows, skills, tools, models and persona; None:
    everything, for everybody."""
    llm_turn_seconds: Annotated[float, Field(gt=0, le=600)] = 60.0
    """How long models may be asked in one turn, all in all: a sole one may take it all, several
    share it."""
    llm_offer: Annotated[int, Field(ge=1, le=50)] | Literal["everything"] = 5
    """How many flows, skills and tools a model is told of at a message, the nearest to it; it can
    search for others. `everything` suits a provider who keeps prompts cached."""
    llm_offer_tokens: Annotated[int, Field(ge=200)] | None = None
    """How long they may be all together, in tokens; None is 2,500, and for `everything` no end."""
    llm_steps: Annotated[int, Field(ge=1, le=10)] = 3
    """How often in one turn a model may call tools that read, each time with what they found."""
    llm_answer_cache: bool = True
    """Whether an answer that a model made of shared tools alone, such as the policies, is given
    again to whoever asks the same and may use them."""
    llm_warm: bool = True
    """Whether model servers read ahead what every question begins with: at a worker's start, when
    it changes, and when they come back. Each time costs its tokens, and one."""
    prompts: Path | None = None
    """A folder of prompts beside those that ship."""
    prompt_shares: Annotated[
        dict[str, values.BudgetShare], NoDecode, BeforeValidator(values.from_json)
    ] = {}
    """Which versions of prompts conversations get, as JSON: `{"router-1": 9, "router-2": 1}`."""

    embedder: str = "embedded"
    """What finds the nearest capabilities: `embedded`, `sentence-transformers:<name or path>`,
    or `openai:<model>` at the model's address."""
    thresholds: Path | None = None
    """A JSON file that says when what was found is clear; None is the default."""

    directory: values.PeopleLocation = None
    """A YAML file of people, or the address where the same is to be had as JSON or YAML; None is
    the sample."""
    directory_token: SecretStr | None = None
    """Sent to that address, as a bearer token."""
    directory_seconds: Annotated[float, Field(ge=1, le=86_400)] = 60.0
    """How old what the address said may be before it is asked again."""
    directory_stale_seconds: Annotated[float, Field(ge=1, le=30 * 86_400)] = 86_400.0
    """How old it may be while the address doesn't answer; beyond that nobody is let in."""
    flows: Path | None = None
    """A folder of flow files; None is the project's own."""
    skills: Path | None = None
    """A folder of skill folders; None is the project's own."""
    skill_sandbox: Literal["bwrap"] | None = None
    """What runs the scripts of skills: `bwrap` (bubblewrap); None: they are never run."""
    fetch_pages: bool = False
    """Whether a tool may fetch pages of the public web, as text."""
    policies: Path | None = None
    """A folder of policies in Markdown, with `limits.yaml`; None is the sample's."""
    rates_url: values.WebUrl | None = Field(None, repr=False)
    """Where the day's exchange rates are, in the ECB's XML or as JSON; None: none are known.
    Hidden from `repr`: it may have a key in it."""
    portal_origins: Origins = []
    """Origins whose pages may have the desk in them (docs/portal.md), as JSON:
    `["https://portal.example.com"]`."""
    page_title: Annotated[PageTitle | None, NoDecode] = None
    """What the chat page is called, in the tab and above its lists: a text, or
    `{"zh": "…", "en": "…"}`. None: as the assistant."""
    page_logo: LogoFile | None = None
    """An SVG or PNG file of up to 256 KiB that the page shows beside its title and in the tab."""
    page_accent: AccentColour | None = None
    """The colour of links and buttons, such as `#0b6353`. The page makes it darker or lighter
    where text in it couldn't be read."""
    webhooks: Path | None = None
    """A YAML or JSON file of other systems that are told what happens, as Standard Webhooks: a
    list of `{url, secret_env, events, tenants, flows, slots}`; None: nobody is told."""
    webhook_allow: Origins = []
    """Origins that webhooks may be posted to over http or at private addresses too, as JSON."""
    event_sources: Path | None = None
    """A YAML or JSON file of other systems that may tell runs what happened, signed as Standard
    Webhooks: a list of `{name, secret_env, roles, tenant, flows}`; None: none may."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """Where `/metrics` is; 0 is any port that is free, None is none (`dev`: any)."""
    metrics_host: str = "127.0.0.1"
    """What that port is opened on: whoever reaches it needs no token."""
    temporal_metrics_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Where the metrics of Temporal's own SDK are, on the same host; None is nowhere."""
    operators_read_words: bool = False
    """Whether operators who ask why a turn went where it did are shown what was said in it."""
    trace_content: bool = False
    """Whether spans hold what people, models and tools say. `OTEL_*` says where spans go."""
    log_format: Literal["text", "json"] = "text"
    """Lines for people, or a JSON object each."""
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    """None is `info`, and in `dev` `warning`."""

    user_requests_per_minute: Annotated[int, Field(ge=1)] = 1200
    """How many requests each API takes of one person; as many may come at once."""
    tenant_requests_per_minute: Annotated[int, Field(ge=1)] = 12_000
    """The same of everybody of one tenant."""
    user_open_turns: Annotated[int, Field(ge=1)] = 12
    """How many messages of one person each API has under way at once; further ones are refused
    (429)."""
    tenant_open_turns: Annotated[int, Field(ge=1)] = 100
    """The same of everybody of one tenant."""
    user_files_per_day: Annotated[int, Field(ge=1)] = 200
    """How many files, of 10 MiB at most, are kept for one person within 24 hours, those that tools
    make among them."""
    connections: Annotated[int, Field(ge=10)] = 2000
    """How many connections each API keeps at once; further ones are turned away (503). A page that
    is open is one."""
    llm_at_once: Annotated[int, Field(ge=1)] = 32
    """Questions that each process has under way at one model server; further ones wait."""
    fair_to: Literal["tenant", "person"] = "tenant"
    """Who gets an equal share of the workers where work waits."""
    tenant_weights: Annotated[
        dict[str, values.Weight], NoDecode, BeforeValidator(values.from_json)
    ] = {}
    """Shares of tenants that aren't 1, as JSON: `{"acme": 3}`."""
    shutdown_seconds: Annotated[float, Field(ge=1, le=3600)] = 25.0
    """What `serve` and `worker` give requests, and calls of models and tools, to end once they are
    told to stop. Let whoever stops them wait a little longer. `dev` stops within ten seconds."""
    cached_workflows: Annotated[int, Field(ge=1)] = 2000
    """How many conversations and flows each worker keeps at hand: above those live at once. One
    that falls out is replayed whole at its next word. Each takes 120 to 400 KiB."""
    backlog_seconds: Annotated[float, Field(gt=0)] = 15.0
    """Messages are refused (503) where work has been waiting for a worker for so long."""
    intake_seconds: Annotated[float, Field(gt=0)] = 3.0
    """New messages are refused (429) at an API while those before them wait for a worker for so
    long, or while even the fastest quarter of the answers without a model takes so long. From half
    of that on fewer are let in. Answers to a question are refused at three times as long."""
    loop_lateness_seconds: Annotated[float, Field(gt=0)] = 1.0
    """New messages are refused (429) while others wait and this API's event loop is so late."""

    packages: NamesSetting | None = None
    """Python packages with tools, hooks, lookups and document types, by import name, with commas in
    between. If none are named, those of the sample company."""
    extensions_off: NamesSetting = frozenset()
    """Installed extensions that aren't loaded, by name, with commas in between."""
    required_extensions: NamesSetting = frozenset()
    """Extensions without which no process starts. Any other is left out if it can't be loaded."""

    _sections: dict[type[Section], Section] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _one_way_to_verify_tokens(self) -> Self:
        if self.auth == "jwt" and (self.jwt_secret is None) == (self.jwt_jwks_url is None):
            raise ValueError(
                "ROUTER_AUTH=jwt needs one way to check a token: "
                "set either ROUTER_JWT_SECRET or ROUTER_JWT_JWKS_URL"
            )
        return self

    @model_validator(mode="after")
    def _address_of_protocol(self) -> Self:
        if self.llm_model and self.llm_protocol not in ADDRESSES:
            try:
                check_address(self.llm_protocol, self._own("BASE_URL", self.llm_base_url))
            except ValueError as error:
                raise ValueError(f"ROUTER_LLM_PROTOCOL={error} in ROUTER_LLM_BASE_URL") from None
        return self

    @model_validator(mode="after")
    def _keys_for_all_payloads(self) -> Self:
        if self.encrypted_payloads_only and not self.payload_keys:
            raise ValueError(
                "ROUTER_ENCRYPTED_PAYLOADS_ONLY refuses whatever was written without keys, and "
                "there are none: set ROUTER_PAYLOAD_KEYS, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _whole_tls(self) -> Self:
        if (self.temporal_tls_cert is None) != (self.temporal_tls_key is None):
            raise ValueError(
                "a certificate for Temporal has a key: set ROUTER_TEMPORAL_TLS_CERT and "
                "ROUTER_TEMPORAL_TLS_KEY_FILE, or neither"
            )
        asking = [name for name in WITH_TLS if getattr(self, name) is not None]
        if self.temporal_tls is False and asking:
            raise ValueError(
                f"{PREFIX}{asking[0].upper()} needs TLS, and ROUTER_TEMPORAL_TLS=false refuses "
                "it: leave one of the two out"
            )
        return self

    @model_validator(mode="after")
    def _queues_of_their_own(self) -> Self:
        if len(set(self.queues)) < len(self.queues):
            raise ValueError(
                "ROUTER_TASK_QUEUE, ROUTER_MODEL_QUEUE and ROUTER_TOOL_QUEUE have to differ: "
                "name each of its own, or leave out those that shall share the first"
            )
        for kind in ("model", "tool"):
            if getattr(self, f"{kind}_calls_per_second") and not getattr(self, f"{kind}_queue"):
                name = f"{PREFIX}{kind.upper()}"
                raise ValueError(
                    f"{name}_CALLS_PER_SECOND is the rate of a queue of its own: "
                    f"set {name}_QUEUE too"
                )
        return self

    @model_validator(mode="after")
    def _whole_oidc(self) -> Self:
        if (self.oidc_issuer is None) != (self.oidc_client_id is None):
            raise ValueError(
                "signing in by OpenID Connect needs both: "
                "set ROUTER_OIDC_ISSUER and ROUTER_OIDC_CLIENT_ID, or neither"
            )
        if self.oidc_issuer is not None and self.auth == "dev":
            raise ValueError(
                "ROUTER_OIDC_ISSUER is of no use with ROUTER_AUTH=dev, where tokens are user ids: "
                "set ROUTER_AUTH=jwt, or leave ROUTER_OIDC_ISSUER out"
            )
        if "openid" not in self.oidc_scope.split():
            raise ValueError("ROUTER_OIDC_SCOPE has to name openid, as in `openid profile`")
        return self

    def section(self, kind: type[Known]) -> Known:
        """What is set of this kind: what `having` was given, else what this process has.

        It is read once.
        """
        known = self._sections.get(kind)
        if not isinstance(known, kind):
            known = self._sections[kind] = kind.load()
        return known

    def having(self, *sections: Section) -> Self:
        """These settings with these sections."""
        copy = self.replace()
        given = {type(each): each for each in sections}
        copy._sections = self._sections | given  # noqa: SLF001 - its own class's
        return copy

    @property
    def queues(self) -> list[str]:
        """Every task queue that somebody has to poll, the one of turns first."""
        return [q for q in (self.task_queue, self.model_queue, self.tool_queue) if q is not None]

    @property
    def is_temporal_over_tls(self) -> bool:
        """True where Temporal is spoken to over TLS: it was said, or something set needs it."""
        return bool(self.temporal_tls) or any(getattr(self, name) is not None for name in WITH_TLS)

    @property
    def models(self) -> list[ModelAccess]:
        """The model and its fallbacks, in the order in which they are asked; none, no model."""
        first = self._first
        return ([first] if first else []) + [
            ModelAccess.of(each, self.llm_protocol, self.environment) for each in self.llm_fallbacks
        ]

    @property
    def embeddings_at(self) -> tuple[str, str | None]:
        """Where embeddings are asked for, and with which key.

        Those of the model, where that is spoken to as OpenAI's are; else what the environment has
        for OpenAI.
        """
        if protocol_family(self.llm_protocol) == OPENAI:
            key = self.llm_api_key.get_secret_value() if self.llm_api_key else None
            return self.llm_base_url or OPENAI, key
        usual = self.environment
        return usual.get("OPENAI_BASE_URL") or OPENAI, usual.get("OPENAI_API_KEY")

    def model_of(self, role: ModelRole, of_tenant: RoleModel | None = None) -> ModelAccess | None:
        """The model of a role where it has one of its own; None where the usual one does it.

        What a tenant has for the role takes the place of what the settings say of it.
        """
        if of_tenant is not None:
            return self._besides(of_tenant)
        own = self.llm_roles.get(role)
        if role == "skill" and self.llm_skill_model and not (own and own.model):
            told = own.model_dump(exclude_unset=True) if own else {}
            own = RoleModel.model_validate(told | {"model": self.llm_skill_model})
        return self._besides(own)

    @property
    def escalation(self) -> ModelAccess | None:
        """The model that is asked where the first is unsure."""
        return self._besides(self.llm_escalate)

    @property
    def thrift(self) -> list[tuple[float, ModelAccess]]:
        """The cheaper models, each with the share of a budget below which it is asked."""
        found = [(one.below, self._besides(one)) for one in self.llm_thrift]
        there = [(below, access) for below, access in found if access is not None]
        return sorted(there, key=lambda one: one[0])

    def _besides(self, own: RoleModel | None) -> ModelAccess | None:
        usual = next(iter(self.models), None)
        return usual.changed(own, self.environment) if own and usual else None

    @property
    def _first(self) -> ModelAccess | None:
        key = self.llm_api_key.get_secret_value() if self.llm_api_key else None
        key, base_url = self._own("API_KEY", key), self._own("BASE_URL", self.llm_base_url)
        if not self.llm_model or not (base_url or key):
            return None
        base_url = base_url or ADDRESSES[self.llm_protocol]
        return ModelAccess(base_url, self.llm_model, key, self.llm_protocol, self.llm_options)

    def _own(self, name: str, value: str | None) -> str | None:
        """The value, unless the environment has it for OpenAI and another provider is asked."""
        set_ = {each.upper() for each in self.environment}
        is_own = protocol_family(self.llm_protocol) == OPENAI or not set_.isdisjoint(
            (f"{PREFIX}LLM_{name}", f"{PREFIX}LLM_{name}{SUFFIX}")
        )
        return value if is_own or value != self.environment.get(f"OPENAI_{name}") else None

    @property
    def tool_variables(self) -> dict[str, str]:
        """What the files of declared tools may name as `{env.ROUTER_TOOL_…}`."""
        return {n: v for n, v in environment().items() if n.startswith(TOOL_PREFIX)}

    @property
    def environment(self) -> dict[str, str]:
        """All variables, `.env` included: what the file of MCP servers may name as `{env.…}`."""
        return environment()

    @property
    def uses_sqlite(self) -> bool:
        """True where the database is a file that one process alone may use."""
        return self.database_url.startswith("sqlite")

    def check_binding(self, host: str) -> None:
        """Refuse to trust bearer tokens that are mere user ids where others could send them."""
        if self.auth == "dev" and not is_loopback(host):
            raise MisconfiguredError(
                f"ROUTER_AUTH=dev lets anyone be anyone and is refused on {host}: "
                "bind to 127.0.0.1, or set ROUTER_AUTH=jwt"
            )

    def check_shareable(self) -> None:
        """Refuse a database that several processes can't share."""
        if self.uses_sqlite:
            raise MisconfiguredError(
                "ROUTER_DATABASE_URL is SQLite, which serves one process alone: "
                "set it to postgresql+asyncpg://user:password@host/name, or run `intent-router dev`"
            )


def slips(
    sections: Iterable[type[Section]] = (), omitted: Callable[[], Iterable[str]] = tuple
) -> list[str]:
    """What to say of each of `unknown_variables`: no errors, for another version may know them.

    Args:
        sections: The settings of the extensions in use.
        omitted: Returns how variables of extensions begin that aren't loaded, which may be set.
    """
    sections = list(sections)
    known = Settings.variables().union(*(each.variables() for each in sections))
    said = []
    unknown = unknown_variables(sections)
    idle = tuple(omitted()) if unknown else ()
    for name in (each for each in unknown if not each.upper().startswith(idle)):
        close = get_close_matches(name.upper(), sorted(known), n=1)
        remedy = f"did you mean {close[0]}?" if close else "take it out"
        said.append(f"{name} is no setting: {remedy}")
    return said


def unknown_variables(sections: Iterable[type[Section]] = ()) -> list[str]:
    """Return the variables that begin with `ROUTER_` and are of no section, sorted."""
    known = OF_CLIENTS.union(Settings.variables(), *(each.variables() for each in sections))
    passed = (TOOL_PREFIX, TESTS_PREFIX)
    return sorted(
        name
        for name in environment()
        if name.upper().startswith(PREFIX)
        and name.upper() not in known
        and not name.startswith(passed)
    )
