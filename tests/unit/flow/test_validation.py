"""What is said against a file: each row changes one thing in a sound flow."""

from typing import Any

import pytest

from router.domain.errors import Fault
from router.flow.validation import (
    Shape,
    UncheckedFlow,
    Vocabulary,
    complaints_about,
    read_shape,
    remarks,
    unheld_roles,
)
from router.formats.yaml_document import read_yaml
from tests.table import each_row

WORD = '{zh: "好", en: "well"}'
POSITIVE = f'{{that: "amount(item.cost) > 0", say: {WORD}}}'
SOUND = f"""\
flow: trip
version: 1
title: {WORD}
description: {WORD}
triggers:
  words: {{WAY: '(?:to|via)', ON: ' {{WAY}} '}}
  patterns: ['(?i)trip{{ON}}(?P<city>\\w+)']
  unless: ['no trip']
slots:
  city: {{type: text, ask: {WORD}}}
  kind:
    type: choice
    choices:
      short: {{label: {WORD}, synonyms: [brief]}}
      long: {{label: {{zh: "长", en: "long"}}, synonyms: [lengthy]}}
  start: {{type: date, range: start, check: [{{that: "slots.start > day(now)", say: {WORD}}}]}}
  note: {{type: text, required: false}}
  days: {{type: number, lookup: "workdays(slots.start, slots.start)"}}
  items:
    type: list
    of: {{type: object, fields: {{cost: {{type: money, check: [{POSITIVE}]}}}}}}
start: details
states:
  details: {{collect: [city, kind, start, items], next: quote}}
  quote:
    {{call: get_quote, with: {{city: "slots.city"}}, save: quote, undo: drop_quote, on_error: bad,
      next: [{{if: "results.quote.price > 0.0", to: review}}, {{to: dear}}]}}
  dear: {{say: {WORD}, forget: [city], next: details}}
  review: {{confirm: {WORD}, confirmed: boss, declined: details}}
  boss:
    {{approve: {{by: "manager(requester)", title: {WORD}, expire_after: P14D}},
      approved: rest, rejected: bad, expired: bad}}
  rest: {{wait: {{until: "slots.start"}}, next: good}}
  good: {{say: {WORD}, end: completed}}
  bad: {{say: {WORD}, end: rejected}}
"""
TOOLS = {"get_quote": frozenset({"city"}), "drop_quote": frozenset({"city"})}
DOCUMENTS = {"receipt": frozenset({"amount"}), "train_ticket": frozenset({"from", "number"})}


def faults(text: str) -> list[Fault]:
    """Everything said against a file, in no order."""
    data = read_yaml(text).data
    shape = read_shape(data)
    if shape.definition is None:
        return [complaint.fault for complaint in shape.complaints]
    draft = draft_of(data, shape)
    return [complaint.fault for complaint in [*shape.complaints, *complaints_about(draft)]]


def remarked(text: str) -> list[Fault]:
    """Everything that might be better about a sound file."""
    data = read_yaml(text).data
    return [remark.fault for remark in remarks(draft_of(data, read_shape(data)))]


def draft_of(data: dict[str, Any], shape: Shape) -> UncheckedFlow:
    assert shape.definition is not None
    return UncheckedFlow(
        definition=shape.definition,
        name="trip",
        states=frozenset(data["states"]),
        slots=frozenset(data["slots"]),
        mended=frozenset(place for place, _ in shape.complaints),
        known=Vocabulary.of(TOOLS, DOCUMENTS),
    )


def changed(old: str, new: str) -> str:
    assert old in SOUND, old
    return SOUND.replace(old, new, 1)


def test_nothing_is_said_against_a_sound_flow() -> None:
    assert faults(SOUND) == []


def test_a_tool_that_is_known_only_later_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    text = changed("call: get_quote", "call: crm__quote")
    assert [fault.what for fault in faults(text)] == ["there is no tool crm__quote"]
    monkeypatch.setitem(TOOLS, "crm__*", frozenset())
    assert faults(text) == []


SHAPES = [
    ("version: 1", "versoin: 1", "versoin: there is no such key", "did you mean version?"),
    ("version: 1", "version: soon", "should be a whole number, and is 'soon'", "in digits"),
    ("required: false", "required: maybe", "should be true or false", "write true or false"),
    ('en: "long"', 'fr: "long"', "label.en: the English text is missing", 'add en: "…"'),
    (f"say: {WORD}, forget", "say: hello, forget", "a text in both languages", 'write {zh: "…"'),
    ("type: date", "type: dtae", "there is no 'dtae'", "did you mean date?"),
    ("type: date", "type: 5", "there is no 5", "it may be choice, text"),
    ("synonyms: [brief]", "synonyms: brief", "should be a list, and is 'brief'", "write [a, b]"),
    ("synonyms: [brief]", "synonyms: [5]", "should be text, and is 5", "put it in quotes"),
    ("P14D", "fortnight", "should be a duration", "PT24H"),
    ("next: quote}", "next: {to: quote}}", "should be a list", "write [a, b]"),
    ('if: "results', 'iff: "results', "there is no such key", "did you mean if?"),
    ('if: "results', 'condition: "results', "there is no such key", "there may be to, if"),
    ("{to: dear}", "{too: dear}", "there is no such key", "did you mean to?"),
    ("wait: {until", "say: {zh: a, en: b}, wait: {until", "a state does one thing", "form"),
    (f"dear: {{say: {WORD}, ", "dear: {", "a state needs one of", "form"),
    ("triggers:\n", "triggers: x\nrest:\n", "triggers should be a mapping", "write {patterns"),
    ("version: 1", "version: 1e999", "version: input should be a finite number", "other flows"),
    ("version: 1", f"version: {'9' * 5000}", "exceeded maximum size", "see the other flows"),
]
REFERENCES = [
    ("flow: trip", "flow: trap", "called trap and its file trip.yaml", "call the file trap.yaml"),
    ("version: 1", "version: 0", "there is no version 0", "begin with 1"),
    ("  note:", "  Note it:", "'Note it' can't be a name", "small letters"),
    ("  note:", "  change:", "a meaning of its own", "another name"),
    ("save: quote", "save: decision", "a meaning of its own", "another name"),
    ("start: details", "start: detials", "no state detials", "did you mean details?"),
    ("{to: dear}", "{to: deer}", "no state deer", "did you mean dear?"),
    ("forget: [city]", "forget: [town]", "no slot town", "there are city, days"),
    ("collect: [city", "collect: [citty, city", "no slot citty", "did you mean city?"),
    ("end: completed", "end: completed, keep: true", "stays done there anyway", "leave keep: out"),
    (", forget: [city]", ", keep: true", "stays done there anyway", "leave keep: out"),
    ("wait: {until", "keep: true, wait: {until", "keep does nothing", "a state with say"),
    ("call: get_quote", "call: get_qoute", "no tool get_qoute", "did you mean get_quote?"),
    ("undo: drop_quote", "undo: drop", "no tool drop", "drop_quote"),
    ("with: {city:", "with: {town:", "no parameter of get_quote called town", "city"),
    ("version: 1", "version: 2147483648", "no version 2147483648", "go up to 2147483647"),
    ("version: 1", f"version: {'9' * 20}", f"no version {'9' * 20}", "go up to 2147483647"),
]
SLOTS = [
    ("required: false", 'when: "true"', "nothing asks for it, so there is no `when`", "an ask"),
    ("type: text, ask", 'when: "slots.nope", type: text, ask', "slots.nope, which isn't", "note"),
    ("required: false", "required: true", "note is required, and nothing ever asks", "collect"),
    ("type: date, range", "type: text, range", "the start of a range is a date", "type: date"),
    ("  note: {type: text", "  note: {type: choice", "needs choices", "add choices"),
    ("    type: choice", "    type: text", "has no choices", "make it type: choice"),
    ("type: list", "type: list\n    min: 5\n    max: 2", "from 5 to 2 items", "min must not"),
    ("    of: {type: object, ", "    of: {type: list, ", "a list of lists", "use an object"),
    ("[lengthy]", "[Brief]", "means more than one of the choices", "certainly belongs"),
    ("note: {type: text", "note: {type: text, max_length: 0", "no text is that short", "at least"),
    (
        '"workdays(slots.start, slots.start)"',
        '"size(slots.note)"',
        "can't be looked up while note is empty",
        "write has(slots.note) ? slots.note",
    ),
    (
        "note: {type: text, required: false",
        'note: {type: text, lookup: "slots.pad"}\n  pad: {type: text, lookup: "slots.note"',
        "lookups wait for each other: note ▸ pad ▸ note",
        "something that is asked for",
    ),
]
ASKED = "title: {{zh: a, en: a}}"
STATUSES = "it may be completed, rejected, cancelled, failed, expired"
WITHDRAWN = f"withdrawal: {{{{approve: {{{{by: {{}}, {ASKED}}}}}}}}}\nstart: details"
EXITS = [
    ("start: details", "idle: PT0S\nstart: details", "idle", "PT24H"),
    ("start: details", "idle: -PT1H\nstart: details", "idle", "PT24H"),
    ("expire_after: P14D}", "expire_after: P14D, hours: work}", "there is no 'work'", "working"),
    (", expire_after: P14D}", ", hours: working}", "nothing is counted in hours", "remind_every"),
    ("expire_after: P14D}", "expire_after: P14D, cc: now +}", "can't be read as CEL", "cel.dev"),
    ("start: details", "withdrawal: {}\nstart: details", "withdrawal.approve", "add"),
    ("start: details", WITHDRAWN.format("slots.sity"), "reads slots.sity", "mean city?"),
    ("start: details", WITHDRAWN.format("[]"), "nobody is asked", "write by"),
    (", next: quote}", "}", "details can't be left: it has no next", "add next"),
    (", declined: details", "", "review can't be left: it has no declined", "add declined"),
    (", rejected: bad", "", "boss can't be left: it has no rejected", "add rejected"),
    (", next: details}", "}", "dear neither goes on nor ends", "either next: or end:"),
    ("end: completed", "next: bad, end: completed", "goes on and ends at once", "either"),
    ("end: completed", "end: running", "there is no 'running'", STATUSES),
    ("end: completed", "end: finished", "there is no 'finished'", STATUSES),
    ("next: good}", "next: good, on_error: bad}", "never leaves by on_error", "leaves by next"),
    (", {to: dear}]", "]", "no way out of quote.next where no condition", "without if"),
    ('{if: "results.quote.price > 0.0", to', "{to", "branches after the one to review", "an if"),
    ("next: good}", "next: good, save: x}", "save does nothing in a state with wait", "call"),
    ("[city, kind, start, items]", "[]", "nothing is collected", "name the slots"),
    (", expire_after: P14D", "", "this approval never expires", "add expire_after"),
    ("P14D", "PT0S", "expire_after is too short", "a second"),
    ("expire_after: P14D", "escalate_after: PT1H", "mean nothing without each other", "both"),
    ('by: "manager(requester)"', "by: []", "nobody is asked", "manager(requester)"),
    ('until: "slots.start"', 'until: "slots.start", for: PT1H', "a wait has one end", "either"),
    ('{until: "slots.start"}', "{}", "a wait has one end", "either until"),
]
GRAPH = [
    ("  bad: ", f"  lost: {{say: {WORD}, end: failed}}\n  bad: ", "no way leads to lost", "lead"),
    ("forget: [city]", "forget: [note]", "goes round without ever waiting: dear ▸", "forget"),
    (
        'rest: {wait: {until: "slots.start"}, next: good}',
        f"rest: {{say: {WORD}, next: more}}\n  more: {{say: {WORD}, next: rest}}",
        "goes round without ever waiting: more ▸ rest ▸ more",
        "have it ask",
    ),
    (
        "next: good}",
        "next: stuck}\n  stuck: {wait: {for: PT1H}, next: rest}",
        "from stuck the flow never ends",
        "end: completed",
    ),
]
EXPRESSIONS = [
    ("slots.start > day(now)", "slots.start > day(now", "can't be read as CEL", "cel.dev"),
    ("slots.start > day(now)", "slots.strat > day(now)", "reads slots.strat", "mean start?"),
    ("amount(item.cost)", "amount(item.price)", "reads item.price", "there are cost"),
    ("slots.start > day(now)", "item.x > day(now)", "reads item,", "it may read now"),
    ("results.quote.price", "results.qoute.price", "reads results.qoute", "did you mean quote?"),
    ("manager(requester)", "manager(requester.boss)", "reads requester.boss", "there are"),
    ("manager(requester)", "manger(requester)", "calls manger()", "did you mean manager?"),
    ("manager(requester)", "manager(approver)", "reads approver,", "it may read"),
    ('city: "slots.city"', 'city: "slots.note"', "may be empty", "has(slots.note)"),
    ("results.quote.price > 0.0", "slots.note == 'x'", "may be empty", "has(slots.note) &&"),
    ("workdays(slots.start, slots.start)", "workdays(slots.start)", "1 argument", "2 to 4"),
]
TEXTS = [
    (f"confirm: {WORD}", 'confirm: {zh: "{{ slots.town }}", en: "x"}', "slots.town", "there are"),
    (f"confirm: {WORD}", 'confirm: {zh: "x", en: "{% if %}"}', "isn't a template", "write values"),
    (f"title: {WORD}\ndesc", 'title: {zh: "", en: "x"}\ndesc', "this text is empty", "say"),
    (f"confirm: {WORD}", 'confirm: {zh: "{{ 2 ** 9 }}", en: "x"}', "or a power", "let a tool"),
    (
        f"confirm: {WORD}",
        'confirm: {zh: "{% set a = 1 %}{% for i in [1] %}{% set a = a %}{% endfor %}", en: "x"}',
        "sets something from",
        "set it from",
    ),
    (f"say: {WORD}, end: completed", 'say: {zh: " ", en: "x"}, end: completed', "empty", "say"),
]
PATTERNS = [
    ("no trip", "(?<!a) trip", "at character 1 it looks around", "unless"),
    ("no trip", "trip(?= to)", "at character 5 it looks around", "unless"),
    ("no trip", r"(a|b) \1", "refers back to a group", "write the alternatives out"),
    ("no trip", "(?P<x>a)(?P=x)", "refers back to a group", "write the alternatives out"),
    ("no trip", "(?>a)b", "atomic or possessive", "leave it out"),
    ("no trip", "trip(", "missing )", "re2/wiki/Syntax"),
    ("no trip", "(no trip)?", "matches an empty message", "want some text"),
    ("(?P<city>", "(?P<citty>", "has a group citty", "did you mean city?"),
    ("(?P<city>", "(?P<who>", "has a group who", "make it (?:…)"),
    ("no trip", "(a)" * 40, "has 40 groups: a pattern may capture 20", "write (?:…)"),
    ("no trip", "(a)|" * 15_000 + "b", "…' has 60001 characters", "split it, or shorten it"),
    ("no trip", r"(?:\pL{30}){30}", "is too large: RE2's program", "write fewer repeats"),
    ("['no trip']", str([f"x{n}" for n in range(120)]), "there are 123 patterns", "(?:a|b)"),
    (
        "['no trip']",
        str([f"[^a]{{400}}{n}" for n in range(60)]),
        "are too large together",
        "write fewer repeats",
    ),
    ("(?:to|via)", "(a)|" * 300 + "b", "the word WAY has 1201 characters", "split it"),
    (
        f"{{type: text, ask: {WORD}}}",
        f"{{type: text, ask: {WORD}, find: {[f'(?P<city>x{n})' for n in range(21)]}}}",
        "there are 21 patterns: a slot may have 20",
        "(?:a|b)",
    ),
    (
        f"{{type: text, ask: {WORD}}}",
        f"{{type: text, ask: {WORD}, find: ['(?P<city>{'a?' * 300})']}}",
        "has 610 characters",
        "split it",
    ),
]
SPOKEN = [
    ("version: 1", "names: ['(a']", "the name '(a' has ( in it", "write it as people say it"),
    ("version: 1", "verbs: [C++]", "the name 'C++' has + in it", "write it as people say it"),
    ("version: 1", f"names: [{'x' * 61}]", "has 61 characters", "keep it to 60"),
    ("version: 1", f"names: {[f'n{n}' for n in range(51)]}", "there are 51 names", "keep those"),
    ("type: money, ", "type: money, names: ['a|b'], ", "has | in it", "as people say it"),
    *(
        (
            f"{{type: text, ask: {WORD}}}",
            f"{{type: text, ask: {WORD}, reference: {{of: [{of}], pattern: '{pattern}'}}}}",
            what,
            remedy,
        )
        for of, pattern, what, remedy in (
            ("'rec(eipt'", "a", "has ( in it", "as people say it"),
            ("receipt", "((", "isn't RE2: missing )", "wiki/Syntax"),
            ("receipt", "(a)", "has groups that nothing asks for", "write (?:…)"),
            ("receipt", "(a)|" * 300 + "b", "has 1201 characters", "split it"),
        )
    ),
]
WORDS = [
    ("trip{ON}", "trip{ONE}", "no word ONE for '(?i)trip{ONE}(?P<city>", "did you mean ON?"),
    ("no trip", "no {TRIP}", "no word TRIP for 'no {TRIP}'", "add TRIP to words"),
    ("' {WAY} '", "' {WAYS} '", "no word WAYS for ' {WAYS} '", "did you mean WAY?"),
    ("' {WAY} '", "' {ON} '", "the word ON refers to itself", "write out what it means"),
    ("(?:to|via)", "{ON}", "the word WAY refers to ON, which comes later", "move ON before WAY"),
    ("(?:to|via)", "(?:to|via", "the word WAY isn't RE2: missing )", "re2/wiki/Syntax"),
    ("' {WAY} '", "' {WAY}(?=s)'", "the word ON isn't RE2: at character 7", "into unless"),
    ("trip{ON}", "trip({ON}", "the pattern '(?i)trip({ON}(?P<city>", "re2/wiki/Syntax"),
    ("trip{ON}", "trip{ON}+(?=x)", "(?P<city>\\\\w+)' isn't RE2: at character 14", "unless"),
    ("no trip", "(?:{WAY})?", "the pattern '(?:{WAY})?' matches an empty message", "some text"),
    (" {WAY} '", " {WAY} (?P<who>x)'", "has a group who", "make it (?:…)"),
    ("ON: ' {WAY} '", "ON: ' {WAY} ', On: x", "'On' can't be a word's name", "use capitals"),
    ("ON: ' {WAY} '", "ON: 5", "triggers.words.ON should be text", "put it in quotes"),
    (
        "  unless:",
        "  without: [status, qestion]\n  unless:",
        "triggers.without.1: there is no 'qestion'",
        "did you mean question?",
    ),
    (
        "  unless:",
        "  without: [xyz]\n  unless:",
        "triggers.without.0: there is no 'xyz'",
        "it may be how-or-what, question, whether, rules",
    ),
    ("  unless:", "  without: question\n  unless:", "should be a list", "write [a, b]"),
    ("words: {", "wrods: {", "triggers.wrods: there is no such key", "did you mean words?"),
]


CHECKED = """\
  allowed:
    {check: get_quote, with: {city: "slots.city"}, next: review,
     on_error: [{if: "results.error.kind == 'arguments'", to: details}, {to: bad}]}
  review: {"""


def with_check(old: str = "", new: str = "") -> str:
    """The sound flow with a check before its confirmation, and one thing changed in that."""
    text = changed("to: review}", "to: allowed}").replace("  review: {", CHECKED, 1)
    assert old in text, old
    return text.replace(old, new, 1)


def test_a_check_may_lead_back_to_what_it_asks_anew() -> None:
    assert faults(with_check()) == []


@each_row(
    ("old", "new", "what", "remedy"),
    [
        ("check: get_quote", "check: get_qoute", "no tool get_qoute", "did you mean get_quote?"),
        ('with: {city: "slots.city"}, next: review', 'with: {town: "slots.city"}, next: review',
         "no parameter of get_quote called town", "city"),
        ("next: review,", "save: found, next: review,", "save does nothing in a state with check",
         "with call"),
        ("next: review,\n", "", "allowed can't be left: it has no next", "add next"),
        ("check: get_quote", "check: get_quote, call: get_quote", "a state does one thing", "form"),
        ("next: review,\n", "next: details,\n", "goes round without ever waiting", "have it ask"),
        ("save: quote", "save: error", "a meaning of its own", "another name"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_check_is_said_with_what_would_be_right(
    old: str, new: str, what: str, remedy: str
) -> None:
    found = faults(with_check(old, new))
    assert any(what in fault.what and remedy in fault.remedy for fault in found), found


@pytest.mark.slow
@each_row(
    ("old", "new", "what", "remedy"),
    [
        *SHAPES,
        *REFERENCES,
        *SLOTS,
        *EXITS,
        *GRAPH,
        *EXPRESSIONS,
        *TEXTS,
        *PATTERNS,
        *WORDS,
        *SPOKEN,
    ],
)
def test_one_wrong_thing_is_said_with_what_would_be_right(
    old: str, new: str, what: str, remedy: str
) -> None:
    found = faults(changed(old, new))
    assert any(what in fault.what and remedy in fault.remedy for fault in found), found


MISSPELT_STATES = [
    ("next: quote}", "next: qoute}", "no state qoute", "did you mean quote?"),
    ("start: details", "start: detials", "no state detials", "did you mean details?"),
    ("end: completed", "end: finished", "there is no 'finished'", "it may be completed"),
    ("confirmed: boss", "confirmd: boss", "no such key", "did you mean confirmed?"),
]


@each_row(("old", "new", "what", "remedy"), MISSPELT_STATES)
@each_row(
    ("more", "also"),
    [
        (f"  lost: {{say: {WORD}, end: failed}}\n", "no way leads to lost"),
        (
            f"  lost: {{say: {WORD}, next: more}}\n  more: {{say: {WORD}, next: lost}}\n",
            "goes round without ever waiting: lost ▸ more ▸ lost",
        ),
    ],
)
def test_a_wrong_name_hides_nothing_that_is_wrong_elsewhere(
    old: str, new: str, what: str, remedy: str, more: str, also: str
) -> None:
    found = faults(changed(old, new).replace("  bad: ", f"{more}  bad: ", 1))
    assert any(what in fault.what and remedy in fault.remedy for fault in found), found
    assert any(also in fault.what for fault in found), found


SPANS = [
    *("3days", "3 days", "90", "'90'", "1.5", "'00:30'"),
    *("p3d", "P", "P3days", "true", "[]", "''"),
]


@pytest.mark.slow
@each_row("span", SPANS)
@each_row(
    ("old", "new"),
    [
        ("start: details", "idle: {}\nstart: details"),
        ("expire_after: P14D", "expire_after: {}"),
        ("expire_after: P14D", "expire_after: P14D, remind_every: {}"),
        ('until: "slots.start"', "for: {}"),
    ],
)
def test_a_span_is_written_as_iso_8601_has_it(old: str, new: str, span: str) -> None:
    (fault,) = faults(changed(old, new.replace("{}", span)))
    assert "should be a duration, and is" in fault.what
    assert fault.remedy == "write PT24H for hours or P14D for days"


ALONE = [
    *(*MISSPELT_STATES, ("next: quote}", "next: xyz}"), *SHAPES[:3], *SHAPES[4:6], *SHAPES[7:14]),
    *(*TEXTS, *PATTERNS, *WORDS, *EXPRESSIONS),
]


@pytest.mark.slow
@each_row(("old", "new"), [row[:2] for row in ALONE])
def test_a_wrong_thing_is_said_once_and_not_in_its_consequences(old: str, new: str) -> None:
    assert len(faults(changed(old, new))) == 1


def test_words_within_words_can_not_grow_without_bound() -> None:
    doubling = ", ".join(f"W{n}: '{{W{n - 1}}}{{W{n - 1}}}'" for n in range(1, 200))
    (fault,) = faults(changed("ON: ' {WAY} '", f"ON: ' {{WAY}} ', W0: x, {doubling}"))
    assert fault.what == "the words come to over 64 KiB where they are written out"


def test_a_wrong_shape_does_not_hide_what_else_is_wrong() -> None:
    both = changed("version: 1", "versoin: 1").replace("{to: dear}", "{to: deer}")
    assert {fault.remedy for fault in faults(both)} == {
        "did you mean version?",
        "did you mean dear?",
    }


def test_two_misspellings_of_one_key_are_both_said() -> None:
    twice = changed("version: 1", "versoin: 1\nversionn: 2")
    assert [fault.remedy for fault in faults(twice)] == ["did you mean version?"] * 2


def test_several_wrong_items_of_a_list_are_each_said_and_mended() -> None:
    several = changed("[brief]", "[1, brief, 2]")
    assert [fault.remedy for fault in faults(several)] == ["put it in quotes"] * 2


def test_a_pattern_that_re2_refuses_is_not_also_written_to_stderr(
    capfd: pytest.CaptureFixture[str],
) -> None:
    faults(changed("no trip", "trip("))
    assert capfd.readouterr().err == ""


READ = """\
  note: {type: text, required: false, from: [document.number, document.file]}
  paper: {type: file, required: false, documents: [receipt, train_ticket]}
  means:
    type: choice
    required: false
    from: document.type
    choices: {rail: {label: {zh: "火车", en: "rail"}, documents: train_ticket}}
"""
PAPERS = [
    ("[receipt, ", "[recipt, ", "no type of documents called recipt", "did you mean receipt?"),
    ("documents: train_ticket", "documents: tram_ticket", "called tram_ticket", "train_ticket?"),
    ("document.number", "document.numer", "train_ticket called numer", "did you mean number?"),
    ("[document.number, document.file]", "document", "called note", "amount, file, from, number"),
]


def test_papers_may_be_any_of_those_that_are_known() -> None:
    text = changed("  note: {type: text, required: false}\n", READ)
    assert faults(text) == []
    every = "  items:\n    type: list\n    of: {type: object, fields: {"
    within = "paper: {type: file, required: false, documents: recipt}, "
    (fault,) = faults(changed(every, every + within))
    assert (fault.what, fault.remedy) == (
        "there is no type of documents called recipt",
        "did you mean receipt?",
    )


@each_row(("old", "new", "what", "remedy"), PAPERS)
def test_a_misspelt_paper_or_field_of_one_is_said_with_the_nearest(
    old: str, new: str, what: str, remedy: str
) -> None:
    text = changed("  note: {type: text, required: false}\n", READ)
    assert old in text
    (fault,) = faults(text.replace(old, new))
    assert what in fault.what
    assert remedy in fault.remedy


def test_without_known_tools_and_papers_neither_is_checked() -> None:
    text = changed("  note: {type: text, required: false}\n", READ.replace("receipt", "recipt"))
    data = read_yaml(text.replace("call: get_quote", "call: anything")).data
    shape = read_shape(data)
    assert shape.definition is not None
    draft = UncheckedFlow(
        shape.definition, "trip", frozenset(data["states"]), frozenset(data["slots"])
    )
    assert list(complaints_about(draft)) == []


REMARKS = [
    ("  note:", "  memo:", "nothing ever fills memo", "(?P<memo>…)"),
    ("(?P<city>", "(?P<note>", "note is filled and never used", "give it a label"),
    ("city, kind, start", "city, kind, note, start", "note is filled and never used", "remove"),
    ("  note:", "  memo:", "memo has neither a label nor a plain question", "label: {zh"),
    (f"ask: {WORD}", 'ask: {zh: "When is it?", en: "When is it?"}', "is English", "in Chinese"),
    (f"ask: {WORD}", 'ask: {zh: "何时？", en: "何时？"}', "English text is Chinese", "in English"),
    (", expired: bad}", "}", "nobody decides on boss in time, the flow ends", "add expired"),
]


@each_row(("old", "new", "what", "remedy"), REMARKS)
def test_what_is_probably_not_meant_is_remarked(old: str, new: str, what: str, remedy: str) -> None:
    text = changed(old, new)
    assert faults(text) == []
    found = remarked(text)
    assert any(what in fault.what and remedy in fault.remedy for fault in found), found


@each_row(
    ("old", "new"),
    [
        ("note: {type: text", "note: {type: number"),
        ("(?P<city>", "(?P<note>"),
        ("note: {type: text", 'note: {type: text, lookup: "slots.city"'),
    ],
    ids=["known by its type", "named by a pattern", "looked up"],
)
def test_what_a_message_may_fill_is_not_called_unfillable(old: str, new: str) -> None:
    found = remarked(changed(old, new))
    assert not any("nothing ever fills" in fault.what for fault in found)


def test_words_that_no_pattern_uses_are_remarked() -> None:
    found = remarked(changed("  words: {", "  words: {NOBODY: '(?:a|b)', "))
    (fault,) = [fault for fault in found if "NOBODY" in fault.what]
    assert fault.what == "no pattern uses the word NOBODY"


def test_a_slot_that_a_text_or_a_summary_shows_is_used() -> None:
    filled = changed("city, kind, start", "city, kind, note, start")
    assert [fault for fault in remarked(filled) if "note is filled and never used" in fault.what]
    said = filled.replace(f"good: {{say: {WORD}", 'good: {say: {zh: "{{ shown.note }}", en: "x"}')
    labelled = filled.replace("note: {type: text", f"note: {{label: {WORD}, type: text")
    for text in (said, labelled):
        assert not [
            fault for fault in remarked(text) if "note is filled and never used" in fault.what
        ]


@each_row(
    ("old", "new", "line", "remedy"),
    [
        ("  unless:", "  roles: [emploee]\n  unless:", ("triggers", "roles"), "mean employee?"),
        ("manager(requester)", "role('nosuch')", ("states", "boss", "approve", "by", 0), "give it"),
        ("manager(requester)", "role('hr') + role('hrr')", ("states", "boss", "approve", "by", 0),
         "mean hr?"),
        ('until: "slots.start"', "event: come, roles: [hrr]", ("states", "rest", "wait", "roles"),
         "mean hr?"),
    ],
)  # fmt: skip
def test_a_role_that_nobody_holds_is_remarked(
    old: str, new: str, line: tuple[str | int, ...], remedy: str
) -> None:
    data = read_yaml(changed(old, new)).data
    (remark,) = unheld_roles(draft_of(data, read_shape(data)), {"employee", "hr"})
    assert remark.place == line
    assert remark.fault.what.startswith("nobody in the directory holds the role ")
    assert remedy in remark.fault.remedy


def test_roles_that_are_held_or_worked_out_are_not_remarked() -> None:
    text = changed("manager(requester)", "role('hr') + role(slots.city)")
    data = read_yaml(text.replace("  unless:", "  roles: [employee]\n  unless:", 1)).data
    assert list(unheld_roles(draft_of(data, read_shape(data)), {"employee", "hr"})) == []
