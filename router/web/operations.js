// For operators: runs that wait for one, and what went on. Each look is a line of the audit trail: so nothing
// is asked for by itself, but when the section is opened or one asks for it.

import { get, post } from "./api.js";
import { money, number, orNone, rowBars, share, short, stackedBars, table, tiles } from "./charts.js";
import { button, element, freshId, labelled, twice, unfolding } from "./dom.js";
import { save } from "./files.js";
import { chip, diagram, empty, known, temporalLink, timeline } from "./runs.js";
import { t } from "./texts.js";
import { ago, date, hours, moment } from "./times.js";
import { kindName, statusName } from "./words.js";

const MOST = 50;
const LINES = 50;
const PERIODS = [7, 30, 90];
const LONG = 7 * 24 * 60 * 60_000; // milliseconds without a word after which an approval is looked at
const KINDS = ["flow", "skill", "tool", "reply", "confirm", "cancel", "clarify", "handoff"];

export function operations(page) {
  const held = runList(page, t("held"), t("nothingHeld"), () => "held=true", () => load());
  const quiet = () => `status=waiting_approval&quiet_since=${encodeURIComponent(new Date(Date.now() - LONG).toISOString())}`;
  const late = runList(page, t("waitsLong"), t("nothingWaitsLong"), quiet, () => load());
  const stuck = failingWorkflows();
  const missed = undelivered(page);
  const counted = page.has("statistics") ? [traffic(page), spending(page)] : [];
  const title = element("h1", { tabindex: "-1" }, t("operations"));
  const again = button(t("reload"), () => page.trying(show));
  const view = element("section", { class: "sheet operations" }, title, element("div", { class: "actions" }, again), stuck.view, held.view, late.view, missed.view, ...counted.map((each) => each.view), ...(page.has("evaluation") ? [lessons(page)] : []), trail(page));

  const load = () => Promise.all([held.load(), late.load()]);
  const show = () => Promise.all([load(), stuck.load(), missed.load(), ...counted.map((each) => each.load())]);
  return { view, show, refresh: async () => {} };
}

// Runs that this narrows everybody's to, each with what can be done about it; `changed()` once something was.
function runList(page, title, nothing, query, changed) {
  const heading = element("h2", { tabindex: "-1" }, title);
  const none = element("p", { class: "hint", hidden: true }, nothing);
  const more = element("p", { class: "hint", hidden: true }, t("moreRuns", MOST));
  const list = element("ul", { class: "cards" });
  const shown = new Map(); // run id to its card and what it was made of

  // What hasn't changed stays as it is: somebody may be writing a reason there.
  async function load() {
    const { items, next } = await get(`/v1/flow-runs?all=true&limit=${MOST}&${query()}`);
    const holds = list.contains(document.activeElement);
    const cards = items.map((run) => {
      const made = JSON.stringify(run);
      const before = shown.get(run.id);
      return [run.id, before?.made === made ? before : { made, view: runCard(run, page, changed) }];
    });
    shown.clear();
    for (const [id, card] of cards) shown.set(id, card);
    const views = cards.map(([, { view }]) => view);
    for (const view of [...list.children]) if (!views.includes(view)) view.remove();
    for (const [place, view] of views.entries()) if (list.children[place] !== view) list.insertBefore(view, list.children[place] ?? null);
    none.hidden = items.length > 0;
    more.hidden = next === null;
    if (holds && !list.contains(document.activeElement)) heading.focus();
  }

  return { view: element("section", { class: "part" }, heading, none, list, more), load };
}

function runCard(run, page, changed) {
  const title = element("h3", { id: freshId("operated"), class: "title" }, run.title);
  const when = element("time", { datetime: run.created_at, title: moment(run.created_at) }, ago(run.created_at));
  const reason = element("input", { maxlength: "2000" });
  const act = (verb, said, more = {}) => page.trying(async () => {
    const comment = reason.value.trim();
    const standing = await post(`/v1/flow-runs/${encodeURIComponent(run.id)}/${verb}`, { ...more, ...(comment && { comment }) });
    page.say(t(said, run.title, statusName(standing.status)));
    await changed();
  });
  const lost = run.history.at(-1)?.event === "lost"; // nobody is there to do it: its sentence says what is to be done
  const ends = { yes: t("terminate"), no: t("neverMind") };
  const waits = run.waiting_for.map(page.nameOf).join(", ");
  return element(
    "li",
    { class: "card", "aria-labelledby": title.id },
    element("header", {}, element("div", {}, title, element("p", { class: "hint" }, `${page.nameOf(run.requester)} · `, when)), chip(run.status)),
    run.held_because ? element("p", { class: "why-held" }, run.held_because) : null,
    waits && element("p", { class: "hint" }, t("waitsFor", waits)),
    labelled(t("reasonKept"), reason),
    element(
      "div",
      { class: "actions" },
      run.held && !lost ? button(t("retry"), () => act("retry", "retried"), { class: "primary" }) : null,
      lost ? null : twice(t("terminate"), t("reallyTerminate"), ends, () => act("terminate", "terminated"), { class: "danger" }),
      temporalLink(run),
    ),
    waits && reassigning(run, page, (body) => act("reassign", "reassigned", body)),
    unfolding(t("history"), () => [known(run), timeline(run, page), diagram(run, page)]),
  );
}

function reassigning(run, page, act) {
  const option = (id) => element("option", { value: id }, page.nameOf(id));
  const fill = () => {
    const gone = element("select", { required: true }, ...run.waiting_for.map(option));
    const others = page.people().map(({ id }) => id).filter((id) => id !== run.requester && !run.waiting_for.includes(id));
    const to = element("select", { required: true }, element("option", { value: "" }, t("choose")), ...others.map(option));
    const onsubmit = (event) => {
      event.preventDefault();
      act({ instead_of: gone.value, to: to.value });
    };
    return element("form", { class: "passing", onsubmit }, labelled(t("insteadOf"), gone), labelled(t("toWhom"), to), button(t("reassign"), null, { type: "submit" }));
  };
  return unfolding(t("reassign"), fill);
}

// Workflows that stand still until a mended version is deployed: nothing can be done about them here.
function failingWorkflows() {
  const heading = element("h2", { id: freshId("failing") }, t("failing"));
  const body = element("div", { class: "part" });

  async function load() {
    const { items, complete, trouble } = await get("/v1/failing-workflows");
    const hint = (words) => element("p", { class: "hint" }, words);
    const parts = [
      trouble && hint(t("failingUnknown")),
      items.length ? hint(t("failingHint")) : !trouble && complete && hint(t("nothingFailing")),
      items.length && element("ul", { class: "cards" }, ...items.map(failingCard)),
      !trouble && !complete && hint(t("moreFailing")),
    ];
    body.replaceChildren(...parts.filter(Boolean));
  }

  return { view: element("section", { class: "part", "aria-labelledby": heading.id }, heading, body), load };
}

function failingCard({ workflow_type, since, attempt, error, temporal }) {
  const title = element("h3", { id: freshId("workflow"), class: "title" }, temporal.workflow_id);
  const when = since && element("time", { datetime: since, title: moment(since) }, t("failsSince", ago(since), number(attempt)));
  return element(
    "li",
    { class: "card", "aria-labelledby": title.id },
    element("header", {}, element("div", {}, title, element("p", { class: "hint" }, workflow_type, when ? " · " : "", when || ""))),
    element("p", { class: "why-held" }, error),
    element("div", { class: "actions" }, temporalLink({ temporal })),
  );
}

// Events that other systems never took; an operator has them sent again once that is mended.
function undelivered(page) {
  const heading = element("h2", { id: freshId("undelivered"), tabindex: "-1" }, t("undelivered"));
  const body = element("div", { class: "part" });

  async function load() {
    const { items, next } = await get(`/v1/webhooks/deliveries?limit=${MOST}`);
    const holds = body.contains(document.activeElement);
    body.replaceChildren(...(items.length ? listed(items, next) : [element("p", { class: "hint" }, t("nothingUndelivered"))]));
    if (holds) heading.focus();
  }

  // One after the other: those of one run are to come as they happened.
  const again = (events, said) => page.trying(async () => {
    for (const { id } of events) await post(`/v1/webhooks/deliveries/${encodeURIComponent(id)}/retry`);
    page.say(said);
    await load();
  });

  function listed(items, next) {
    const cards = items.map((item) => eventCard(item, () => again([item], t("sentOneAgain", item.event, item.url))));
    const all = button(t("sendAllAgain"), () => again([...items].reverse(), t("sentAgain", number(items.length))));
    return [
      element("p", { class: "hint" }, t("undeliveredHint")),
      element("ul", { class: "cards" }, ...cards),
      next === null ? null : element("p", { class: "hint" }, t("moreEvents", MOST)),
      items.length > 1 ? element("div", { class: "actions" }, all) : null,
    ].filter(Boolean);
  }

  return { view: element("section", { class: "part", "aria-labelledby": heading.id }, heading, body), load };
}

function eventCard({ event, url, subject, attempts, created_at, error }, again) {
  const title = element("h3", { id: freshId("event"), class: "title" }, event);
  const when = element("time", { datetime: created_at, title: moment(created_at) }, ago(created_at));
  return element(
    "li",
    { class: "card", "aria-labelledby": title.id },
    element("header", {}, element("div", {}, title, element("p", { class: "hint" }, `${url} · ${subject} · `, when))),
    element("p", { class: "why-held" }, t("triedTimes", number(attempts), error)),
    element("div", { class: "actions" }, button(t("sendAgain"), again)),
  );
}

// What went on; the server knows which day it is where its reader is.
function traffic(page) {
  return ofPeriods(page, t("traffic"), "figures", async (days) => figuresOf(await get(`/v1/traffic?days=${days}`), page));
}

// A part of the page over some days; `views(days)` are what it shows of them.
function ofPeriods(page, title, kind, views) {
  const body = element("div", { class: kind });
  const choose = (days) => page.trying(() => ((chosen = days), load()));
  const buttons = PERIODS.map((days) => [days, button(t("lastDays", days), () => choose(days), { "aria-pressed": "false" })]);
  const group = element("div", { class: "actions", role: "group", "aria-label": `${title}: ${t("period")}` }, ...buttons.map(([, each]) => each));
  let chosen = PERIODS[0];
  let asked = 0;

  async function load() {
    const mine = ++asked;
    const found = await views(chosen);
    if (mine !== asked) return; // another period was chosen meanwhile
    for (const [days, each] of buttons) each.setAttribute("aria-pressed", String(days === chosen));
    body.replaceChildren(...found);
  }

  return { view: element("section", { class: "part" }, element("h2", {}, title), group, body), load };
}

function figuresOf(found, page) {
  const period = element("p", { class: "hint" }, t("periodIs", date(found.since), date(found.until), found.timezone));
  const sum = (rows, of) => rows.reduce((all, row) => all + of(row), 0);
  const turns = sum(found.days, (day) => day.turns);
  if (!turns && !found.flows.length && !found.approvals.length && !found.model.length) return [period, empty("chart", t("noTraffic"), t("noTrafficHint"))];
  const summary = tiles([
    [t("turns"), number(turns)],
    [t("misses"), share(sum(found.days, (day) => day.misses), turns)],
    [t("handoffs"), number(sum(found.days, (day) => day.handoffs))],
    [t("abandoned"), number(sum(found.flows, (flow) => flow.abandoned))],
    [t("medianHours"), orNone(found.median_hours, hours)],
    [t("tokens"), short(sum(found.model, (day) => day.prompt_tokens + day.completion_tokens))],
  ]);
  const days = found.days.map(({ day, routes }) => ({ day, counts: routes }));
  const chart = stackedBars(t("byDay"), KINDS.map((kind) => [kind, kindName(kind)]), days);
  return [period, summary, chart, ...tables(found), downloads(found, page)];
}

const OUTCOMES = ["completed", "rejected", "cancelled", "expired", "failed"];

function tables({ flows, approvals, model }) {
  const counted = (name, label = t(name)) => [label, (row) => number(row[name])];
  const outcomes = OUTCOMES.map((status) => counted(status, statusName(status)));
  const perFlow = [[t("flow"), (row) => row.title], counted("begun"), ...outcomes, counted("under_way"), counted("abandoned")];
  const lengths = [["median_hours", t("median")], ["p90_hours", t("p90")]].map(([name, label]) => [label, (row) => orNone(row[name], hours)]);
  const perApproval = [[t("flow"), (row) => row.title], counted("decided", t("decisions")), counted("waiting"), ...lengths];
  const perDay = [[t("day"), (row) => date(row.day)], counted("calls"), counted("prompt_tokens"), counted("completion_tokens")];
  return [[t("perFlow"), perFlow, flows], [t("perApproval"), perApproval, approvals], [t("perModel"), perDay, model]]
    .filter(([, , rows]) => rows.length)
    .map(([title, columns, rows]) => element("div", { class: "part" }, element("h3", {}, title), table(title, columns, rows)));
}

function downloads({ since, until }, page) {
  const names = { days: t("byDay"), flows: t("perFlow"), approvals: t("perApproval"), model: t("perModel") };
  const each = ([name, label]) => button(t("csv", label), () => page.trying(() => save(`/v1/traffic.csv?table=${name}&since=${since}&until=${until}`)));
  return element("div", { class: "actions" }, ...Object.entries(names).map(each));
}

// What models cost: by day and by model, and by person.
const SPENT = ["model", "person", "role", "prompt"];
const COLOURS = ["flow", "skill", "tool", "reply", "confirm", "cancel", "clarify"];

function spending(page) {
  const views = async (days) => {
    const ask = (by) => get(`/v1/spending?days=${days}&by=${by}`);
    const [each, ...apart] = await Promise.all([ask("day,model"), ...SPENT.map(ask)]);
    return costsOf(each, apart, page);
  };
  return ofPeriods(page, t("spending"), "costs", views);
}

function costsOf(each, apart, page) {
  const { since, until, timezone, currency, total } = each;
  const period = element("p", { class: "hint" }, t("periodIs", date(since), date(until), timezone));
  if (!each.lines.length) return [period, empty("chart", t("noSpending"), t("noSpendingHint"))];
  const cost = (line) => orNone(line.cost, (amount) => money(amount, currency));
  const least = total.unpriced_calls ? element("p", { class: "hint" }, t("atLeast", number(total.unpriced_calls))) : null;
  const summary = tiles([
    [t("cost"), cost(total)],
    [t("calls"), number(total.calls)],
    [t("tokens"), short(total.prompt_tokens + total.completion_tokens)],
    [t("fromCache"), share(total.cached_tokens, total.prompt_tokens)],
  ]);
  const called = (part, line) => (part === "person" ? page.nameOf(line.person) : line[part]) || t("notKept");
  const counted = (name) => [t(name), (line) => number(line[name])];
  const columns = (part) => [[t(part), (line) => called(part, line)], [t("cost"), cost], ...["calls", "prompt_tokens", "cached_tokens", "completion_tokens"].map(counted)];
  const tables = apart.map(({ lines }, n) => element("div", { class: "part" }, element("h3", {}, t(`by_${SPENT[n]}`)), table(t(`by_${SPENT[n]}`), columns(SPENT[n]), lines)));
  const saving = (by) => () => page.trying(() => save(`/v1/spending.csv?by=${by}&since=${since}&until=${until}`));
  const downloads = [["day,model", t("costByDay")], ...SPENT.map((part) => [part, t(`by_${part}`)])].map(([by, label]) => button(t("csv", label), saving(by)));
  const models = apart[0].lines.map((line) => [called("model", line), Number(line.cost ?? 0)]);
  const shown = (value) => money(value, currency);
  return [
    period,
    ...(least ? [least] : []),
    summary,
    stackedBars(t("costByDay"), ...byDay(each, apart[0].lines), shown),
    rowBars(t("costByModel"), models, shown),
    ...tables,
    element("div", { class: "actions" }, ...downloads),
  ];
}

// The dearest models have a colour each; the others share one.
function byDay({ since, until, lines }, models) {
  const own = models.slice(0, COLOURS.length).map(({ model }) => model);
  const kinds = own.map((model, n) => [COLOURS[n], model || t("notKept")]);
  if (models.length > own.length) kinds.push(["handoff", t("others")]);
  const days = new Map();
  for (let at = new Date(`${since}T00:00Z`); at <= new Date(`${until}T00:00Z`); at.setUTCDate(at.getUTCDate() + 1)) days.set(at.toISOString().slice(0, 10), {});
  for (const { day, model, cost } of lines) {
    const counts = days.get(day);
    const kind = COLOURS[own.indexOf(model)] ?? "handoff";
    counts[kind] = (counts[kind] ?? 0) + Number(cost ?? 0);
  }
  return [kinds, [...days].map(([day, counts]) => ({ day, counts }))];
}

// What might be mended; asked for when it is opened, since it takes a while. Words are there for those who may read them.
function lessons(page) {
  const said = ({ sentences }) => (sentences ?? []).join(" / ");
  const parts = (found) => [
    [t("topics"), [[t("times"), ({ times }) => number(times)], [t("words"), said, true]], found.topics],
    [t("missingExamples"), [[t("capability"), ({ title }) => title], [t("sentences"), ({ count }) => number(count)], [t("words"), said, true]], found.examples],
    [t("misfires"), [[t("flow"), ({ title }) => title], [t("calledOff"), ({ called_off }) => number(called_off)], [t("begun"), ({ began }) => number(began)], [t("words"), said, true]], found.misfires],
    [t("mistaken"), [[t("offered"), ({ offered }) => offered], [t("meant"), ({ meant }) => meant, true], [t("times"), ({ times }) => number(times)], [t("words"), said, true]], found.mistaken],
  ];
  const fill = async () => {
    const found = await page.trying(() => get("/v1/lessons"));
    if (!found) return [];
    const filled = parts(found).filter(([, , rows]) => rows.length);
    if (!filled.length) return [element("p", { class: "hint" }, t("noLessons", found.days))];
    return filled.map(([title, columns, rows]) => element("div", { class: "part" }, element("h3", {}, title), table(title, columns, rows)));
  };
  return unfolding(t("lessons"), fill);
}

// Asked for when it is opened, and then once.
function trail(page) {
  const columns = [
    [t("when"), ({ at }) => moment(at)],
    [t("who"), ({ who }) => page.nameOf(who), true],
    [t("what"), ({ title }) => title, true],
    [t("subject"), ({ subject, whose, detail }) => [subject, whose && page.nameOf(whose), detail].filter(Boolean).join(" · "), true],
    [t("reason"), ({ reason }) => reason, true],
  ];
  const fill = async () => {
    const found = await page.trying(() => get(`/v1/audit?limit=${LINES}`));
    return found ? [table(t("trail"), columns, found.items)] : [];
  };
  return unfolding(t("trail"), fill);
}
