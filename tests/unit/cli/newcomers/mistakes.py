"""What newcomers get wrong, each as a sentence: what they did, and what has to be in the answer.

Every fault of a file's kind stands with its remedy in the tests of that kind's room; here is how
the commands tell of some of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mistake:
    """A command, what it has to say on stderr, and the files and variables that it meets.

    In the command `{port}` stands for one that another program listens on. Files in `tools/` are
    in the package of code tools.
    """

    words: str
    says: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    status: int = 1


def told(words: str, *says: str) -> Mistake:
    return Mistake(words, says)


def usage(words: str, *says: str) -> Mistake:
    return Mistake(words, says, status=2)


FLOW = """\
flow: badge
version: 1
title: {zh: "工牌", en: "Badge"}
description: {zh: "补办工牌", en: "Replace a badge"}
triggers:
  patterns: ['补办工牌', 'new badge']
  examples: ["我要补办工牌"]
slots:
  why: {type: text, ask: {zh: "为什么？", en: "Why?"}}
start: details
states:
  details: {collect: [why], next: record}
  record: {call: find_colleague, with: {name: "slots.why"}, save: found, next: bye, on_error: bye}
  bye: {say: {zh: "好的 {{ slots.why }}", en: "Done {{ slots.why }}"}, end: completed}
"""


def flow(old: str, new: str, *says: str) -> Mistake:
    """A flow that would be sound with `old` in place of `new`."""
    assert old in FLOW, old
    return Mistake("flows validate badge.yaml", says, {"badge.yaml": FLOW.replace(old, new)})


DONE = "Done {{ slots.why }}"
FLOWS = {
    "A line is indented with a tab": flow("  why:", "\twhy:", "badge.yaml:9:", "tab", "spaces"),
    "A key of the file is misspelt": flow(
        "description:", "descripton:", "badge.yaml:4: descripton:", "did you mean description?"
    ),
    "A slot in a text is misspelt": flow(
        DONE, "Done {{ slots.wyh }}", "badge.yaml:14:", "slots.wyh", "did you mean why?"
    ),
    "A template's filter is misspelt": flow(DONE, "{{ slots.why | uper }}", "filter named 'uper'"),
    "An expression isn't CEL": flow('"slots.why"', '"slots.why ==="', "column 13", "cel.dev"),
    "The file ends in .yml": Mistake(
        "flows validate .", ("badge.yml:1: it isn't read; call it .yaml",), {"badge.yml": FLOW}
    ),
    "Two files have a flow of one name": Mistake(
        "flows validate a b",
        ("b/badge.yaml:1:", "in a/badge.yaml already", "rename one"),
        {"a/badge.yaml": FLOW, "b/badge.yaml": FLOW},
    ),
    "A key comes twice": flow("version: 1", "version: 1\nversion: 2", "version comes twice"),
    "A pattern with a backslash stands in double quotes": flow(
        "'new badge'", r'"\bnew badge\b"', "a backspace", r"single quotes: '\b…'"
    ),
    "A duration is in words": flow(
        "start: details", "idle: 3 days\nstart: details", "is '3 days'", "P14D for days"
    ),
    "A state does two things": flow(
        "{collect: [why]", '{say: {zh: "a", en: "b"}, collect: [why]', "has collect and say"
    ),
    "A text with a colon isn't in quotes": flow(
        "title: {", "title: a: {", "badge.yaml:3:", "put a text that has a colon in quotes"
    ),
    "A colon is the Chinese one": flow(
        "start: details", "start： details", "badge.yaml:10:", "full-width", "write :"
    ),
    "Quotes are the curly ones": flow(
        'en: "Why?"', "en: “Why? Or, not”", "curly", 'write "…", with plain quotes'
    ),
    "A bracket is left open": flow("[why]", "[why", "badge.yaml:12: this isn't YAML", "brackets"),
    "An example is another flow's": flow('"我要补办工牌"', '"我要请年假"', "starts leave_request"),
    "The file is empty": Mistake(
        "flows validate badge.yaml", ("is empty; begin with flow: <name>",), {"badge.yaml": ""}
    ),
    "The file isn't there": told("flows validate bagde.yaml", "bagde.yaml", "check the path"),
    "The folder of flows isn't there": Mistake(
        "flows validate", ("ROUTER_FLOWS=flws", "name one that has"), env={"ROUTER_FLOWS": "flws"}
    ),
    "It is run in a folder without flows": told(
        "flows validate .", "no flow files there", "name a folder that has *.yaml"
    ),
    "A flow that is drawn is misspelt": told(
        "flows graph leave_rquest", "there is no flow leave_rquest: did you mean leave_request?"
    ),
}
STORY = "- story: badge\n  steps:\n    - user: hello\n"


def story(text: str, *says: str) -> Mistake:
    return Mistake("flows test s.yaml", says, {"s.yaml": text})


STORIES = {
    "Stories of a flow that there isn't": told(
        "flows test leave_rquest", "no stories at leave_rquest", "with -k"
    ),
    "Stories are picked by a word that none has": told(
        "flows test -k leav_request", "no story has 'leav_request'"
    ),
    "There are no stories beside the flows": Mistake(
        "flows test",
        ("no stories at mine/tests", "name a file of them"),
        {"mine/badge.yaml": FLOW},
        {"ROUTER_FLOWS": "mine"},
    ),
    "A story's user is nobody": story(f"{STORY}  user: alcie\n", "'alcie'", "did you mean alice?"),
}
SKILL = "---\nname: notes\ndescription: Takes notes.\n---\nTake notes.\n"


def skill(text: str, *says: str, at: str = "notes/SKILL.md") -> Mistake:
    return Mistake("skills validate notes", says, {at: text})


SKILLS = {
    "A skill's name has capitals": skill(
        SKILL.replace("name: notes", "name: Notes"), "'Notes' isn't in kebab-case; write lower-case"
    ),
    "A description has a colon": skill(
        SKILL.replace("Takes notes.", "Takes: notes: all"), "SKILL.md:3:", "in quotes"
    ),
    "The folder has no SKILL.md": skill("x", "notes/SKILL.md:1: there is no", at="notes/README.md"),
    "The folder of skills isn't there": Mistake(
        "skills validate", ("ROUTER_SKILLS=skils", "name one"), env={"ROUTER_SKILLS": "skils"}
    ),
}
TOOL = """\
{
  "name": "get_ticket",
  "description": "A ticket.",
  "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
  "endpoint": {"url": "https://desk.example.com/tickets/{id}"}
}
"""


def declared(old: str, new: str, *says: str) -> Mistake:
    assert old in TOOL, old
    return Mistake("tools validate t.json", says, {"t.json": TOOL.replace(old, new)})


def servers(text: str, *says: str, status: int = 1) -> Mistake:
    env = {"ROUTER_MCP_SERVERS": "mcp.json"}
    return Mistake("tools list", says, {"mcp.json": text}, env, status)


DECLARED = {
    "JSON has a comma too many": declared("}\n}", "},\n}", "t.json:6: this isn't JSON", "commas"),
    "A hole has no parameter": declared("{id}", "{number}", "no parameter number; declare it"),
    "A tool's name has a space": declared("get_ticket", "get ticket", "'get ticket'", "letters"),
    "An address isn't encrypted": declared("https://", "http://", "isn't https", "HTTP_ALLOW"),
    "An address is of this machine": declared(
        "desk.example.com", "127.0.0.1:9000", "127.0.0.1", "isn't public", "to ROUTER_HTTP_ALLOW"
    ),
    "An address is a cloud's metadata": declared(
        "desk.example.com", "169.254.169.254", "where no tool may go; name the system's own"
    ),
    "A variable doesn't begin as it must": declared(
        "desk.example.com", "{env.DESK_HOST}", "'DESK_HOST'", "begins with ROUTER_TOOL_"
    ),
    "The folder of declared tools isn't there": Mistake(
        "tools list", ("ROUTER_HTTP_TOOLS=tols", "name a folder"), env={"ROUTER_HTTP_TOOLS": "tols"}
    ),
    "The file of MCP servers isn't there": Mistake(
        "tools list", ("ROUTER_MCP_SERVERS=m.json", "name a"), env={"ROUTER_MCP_SERVERS": "m.json"}
    ),
    "An MCP server is neither started nor called": servers('{"a": {}}', '"command" to start it'),
    "An MCP server can't be started": servers(
        '{"a": {"command": "no-such-program"}}', "a isn't there", "'no-such-program'", status=0
    ),
    "An MCP server ends at once": servers(
        '{"a": {"command": "false"}}', "it ended before it answered; mend it", status=0
    ),
}
HEAD = "from router.tool.tool import tool\n"
BODY = f"""{HEAD}
@tool(permission="read")
async def newcomer(word: str = "a") -> str:
    \"\"\"Say it.\"\"\"
    return word
"""


def code(old: str, new: str, *says: str, words: str = "tools list") -> Mistake:
    """A file in the folder of code tools."""
    assert old in BODY, old
    return Mistake(words, says, {"tools/newcomer.py": BODY.replace(old, new)})


CALL = "tools call newcomer {} --user alice"
CODE = {
    "A tool has no docstring": code('    """Say it."""\n', "", "no docstring; say in one"),
    "A tool says no permission": code(
        'permission="read"', "", "newcomer.py:3:", "doesn't say its permission"
    ),
    "A tool's option is misspelt": code('"read"', '"read", timeot="3s"', "'timeot'", "mend that"),
    "A tool's file doesn't parse": code("(word", "((word", "newcomer.py:4:", "SyntaxError"),
    "A tool's file needs a library that isn't there": code(
        HEAD, f"import nothing\n{HEAD}", "newcomer.py:1:", "'nothing'", "install what it needs"
    ),
    "A tool's file names something that isn't there": code(
        "@tool(", "x = nowhere\n@tool(", "newcomer.py:3:", "'nowhere'"
    ),
    "A tool takes what JSON can't carry": code(
        'word: str = "a"', "word: object.__class__", "a type that JSON can't carry", "use models"
    ),
    "A tool raises": code("return word", "return [][0]", "newcomer is broken", "log", words=CALL),
    "A tool gives another type than it says": code(
        "return word",
        "return 3",
        "newcomer: the result isn't of the type",
        "(str was expected)",
        words=CALL,
    ),
    "Two tools of a name": code("newcomer", "calculate", "calculator.py", "rename one of the two"),
    "A tool that is called is misspelt": told(
        "tools call calculat {} --user alice", "'calculat'; did you mean calculate?"
    ),
    "An argument is missing": told(
        "tools call calculate {} --user alice", "calculate: expression: Field required"
    ),
    "Arguments have a comma too many": usage(
        'tools call calculate {"expression":"1",} --user alice', "isn't JSON"
    ),
    "Whoever calls isn't in the directory": told(
        "tools call calculate {} --user alcie", "'alcie'", "did you mean alice?"
    ),
}


def setting(name: str, value: str, *says: str, words: str = "token --user alice") -> Mistake:
    return Mistake(words, says, env={f"ROUTER_{name}": value})


SUM = 'tools call calculate {"expression":"1+1"} --user alice'
PEOPLE = "users:\n  - {id: ann, name: Ann, manager: ben}\n  - {id: ben, name: Ben}\n"


def people(old: str, new: str, *says: str) -> Mistake:
    assert old in PEOPLE, old
    text = PEOPLE.replace(old, new)
    env = {"ROUTER_DIRECTORY": "people.yaml"}
    return Mistake("route hello --user ann", says, {"people.yaml": text}, env)


SETTINGS = {
    "Callers are told apart in a way that there isn't": setting(
        "AUTH", "none", "ROUTER_AUTH=none", "'dev' or 'jwt'"
    ),
    "A model's address lacks http://": setting(
        "LLM_BASE_URL", "localhost:11434/v1", "=localhost:11434/v1", "begins with http://"
    ),
    "A database is a file's name": setting(
        "DATABASE_URL", "router.db", "=router.db", "postgresql+asyncpg://"
    ),
    "A database is of a kind that isn't known": setting(
        "DATABASE_URL", "mysql://me@127.0.0.1/x", "'mysql'", "use a URL like", words=SUM
    ),
    "A database can't be reached": setting(
        "DATABASE_URL", "postgres://me@127.0.0.1:1/x", "see that it runs", words=SUM
    ),
    "Temporal's address has no port": setting(
        "TEMPORAL_ADDRESS", "localhost", "=localhost", "such as 127.0.0.1:7233"
    ),
    "Temporal's address is a URL": setting(
        "TEMPORAL_ADDRESS", "http://localhost:7233", "=http://localhost:7233", "host:port"
    ),
    "What should be JSON isn't": setting("LLM_FALLBACKS", "http://a/v1", "write it as JSON"),
    "JSON lacks a key": setting(
        "LLM_FALLBACKS", '[{"base_url": "http://a/v1"}]', "0.model: Field required"
    ),
    "A number has a unit": setting("RETENTION_DAYS", "30d", "=30d", "a valid integer"),
    "A number is out of bounds": setting("METRICS_PORT", "99999", "=99999", "to 65535"),
    "A rate is none": setting("BACKLOG_SECONDS", "0", "=0", "greater than 0"),
    "A log level is misspelt": setting("LOG_LEVEL", "verbose", "=verbose", "'warning'"),
    "A yes or no is neither": setting("TRACE_CONTENT", "maybe", "=maybe", "boolean"),
    "A secret is too short": setting("JWT_SECRET", "tiny", "JWT_SECRET", "openssl rand"),
    "Tokens are to be checked and nothing says how": setting(
        "AUTH", "jwt", "set either ROUTER_JWT_SECRET or ROUTER_JWT_JWKS_URL"
    ),
    "Keys of payloads aren't keys": setting("PAYLOAD_KEYS", "secret", "isn't id:base64"),
    "All is to be encrypted and nothing says with what": setting(
        "ENCRYPTED_PAYLOADS_ONLY", "true", "set ROUTER_PAYLOAD_KEYS, or leave it out"
    ),
    "Origins aren't JSON": setting("HTTP_ALLOW", "127.0.0.1:9000", "write it as JSON"),
    "Half of Slack is set": setting(
        "SLACK_BOT_TOKEN", "xoxb-1", "SLACK_SIGNING_SECRET isn't", words="dev"
    ),
    "Two queues are one": setting("TOOL_QUEUE", "router", "have to differ: name each"),
    "A model is asked for and none is set": told(
        "route hello --llm",
        "set ROUTER_LLM_MODEL, and ROUTER_LLM_BASE_URL or",
        "or leave --llm out",
    ),
    "The folder of data can't be made": setting(
        "DATA", "/proc/nowhere", "/proc/nowhere", "choose another with --data", words=SUM
    ),
    "The database is no database": Mistake(
        SUM, ("router.db", "ROUTER_DATABASE_URL"), {".data/router.db": "not a database\n" * 99}
    ),
    "The folder of data is a file": Mistake(
        SUM,
        ("mine can't be written (it is no folder)", "--data"),
        {"mine": ""},
        {"ROUTER_DATA": "mine"},
    ),
    "A directory isn't there": setting(
        "DIRECTORY", "people.yml", "=people.yml", "name a readable YAML file", words=SUM
    ),
    "A directory's address isn't encrypted": setting(
        "DIRECTORY", "http://a.example/p", "=http://a.example/p", "https://"
    ),
    "A directory is empty": people(PEOPLE, "", "people.yaml:1: it lists nobody; write `users:`"),
    "Managers go round in a circle": people(
        "name: Ben", "name: Ben, manager: ann", "ann is, over others, their own manager; break"
    ),
    "A person's key is misspelt": people("manager:", "manger:", "manger; did you mean manager?"),
    "A person's time zone isn't one": people(
        "name: Ben",
        "name: Ben, timezone: CST+8",
        "people.yaml:3: timezone='CST+8'",
        "Asia/Shanghai",
    ),
    "A person is there twice": people("id: ben", "id: ann", "id=ann is there twice", "line 2"),
    "A directory is indented with a tab": people("  - {id: ben", "\t- {id: ben", "tab", "spaces"),
}
COMMANDS = {
    "A command is misspelt": usage("rout hello", "'rout'", "Did you mean 'route'?"),
    "A subcommand is misspelt": usage("flows valdate", "'valdate'", "Did you mean 'validate'?"),
    "An option is misspelt": usage("route hello --jsn", "--jsn", "--json"),
    "Nothing is said": usage("route", "Missing argument", "try: "),
    "A message is blank": told("route \u3000", "it is empty or only white space"),
    "A port is none": usage("dev --port 80000", "'80000'", "from 1 to 65535"),
    "A port is taken": told("dev --port {port}", "{port}", "choose another with --port"),
    "Temporal's port is taken": told(
        "dev --temporal-port {port}", "{port}", "choose another with --temporal-port"
    ),
    "A time isn't ISO 8601": usage(
        "route hello --now tomorrow", "'tomorrow'", "like 2026-11-18T10:00+08:00"
    ),
    "Whoever speaks isn't in the directory": told(
        "route hello --user alcie", "'alcie'", "did you mean alice?"
    ),
    "A token is for nobody": Mistake(
        "token --user alcie",
        ("error: --user 'alcie' isn't in the directory: did you mean alice?",),
        env={"ROUTER_AUTH": "jwt", "ROUTER_JWT_SECRET": "s" * 32},
    ),
    "A token is where none is needed": told(
        "token --user alice", "the user id is one", "Authorization: Bearer alice", "set "
    ),
    "A token's lifetime isn't one": usage("token --user alice --ttl 1hour", "'1hour'", "write 90s"),
    "The API isn't running": told(
        "chat --url http://127.0.0.1:1",
        "no API answers at http://127.0.0.1:1: start `intent-router dev`",
        "another with --url",
    ),
    "The API's address isn't one": usage(
        "chat --url localhost:8000", "'localhost:8000'", "write http://"
    ),
    "A file to evaluate isn't there": told("eval l.jsonl", "l.jsonl", "name a file"),
    "A line to evaluate isn't JSON": Mistake(
        "eval l.jsonl", ("l.jsonl:1:", "write one object a line"), {"l.jsonl": "hello\n"}
    ),
    "A line to evaluate has no label": Mistake(
        "eval l.jsonl", ("l.jsonl:1: has neither",), {"l.jsonl": '{"text": "a"}\n'}
    ),
    "An agent's desk is for nobody": usage("mcp", "name one of --user and --token"),
    **{
        f"A {process} of its own has a database of one process": told(
            process, "is SQLite, which serves one process alone", "set it to postgresql+asyncpg://"
        )
        for process in ("serve", "worker")
    },
    "An API is for everybody without tokens": told(
        "serve --host 0.0.0.0",
        "lets anyone be anyone",
        "on 0.0.0.0",
        "bind to 127.0.0.1, or set ROUTER_AUTH=jwt",
    ),
    "There is no such work": usage("worker --queues turn", "'turn'", "choose among turns"),
    "A run is drawn in the wrong folder": told(
        "flows graph leave_request --run r1", ".data/router.db", "or name --data"
    ),
}
MISTAKES = {**FLOWS, **STORIES, **SKILLS, **DECLARED, **CODE, **SETTINGS, **COMMANDS}
