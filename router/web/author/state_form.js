// A state: what it is called, what it does, and where it leads.

import { button, element, twice } from "../dom.js";
import { language } from "../texts.js";
import { approvalForm } from "./approval_form.js";
import { valueAt } from "./draft.js";
import { either, t } from "./texts.js";
import { toolForm } from "./tool_form.js";
import { EXPRESSION, branchesOf, ways } from "./ways.js";

// The ways that a kind of state must have, and those that it may have besides.
function waysOf(kind, vocabulary) {
  const { ways: all, needs } = vocabulary.kinds.find((one) => one.kind === kind) ?? { ways: ["next"], needs: [] };
  return [needs, all.filter((way) => !needs.includes(way))];
}

const ENDS = ["completed", "rejected", "cancelled", "expired", "failed"];

// What only ends says nothing, and is of the kind that says.
export const kindOf = (state, vocabulary) => vocabulary.kinds.find(({ kind }) => state?.[kind] !== undefined)?.kind ?? "say";

// What a state is called in lists: its name in words, what its kind does, and its name in the file.
export function called(data, name, vocabulary) {
  const state = data.states?.[name];
  const words = state?.name?.[language()] || kindLabel(vocabulary, kindOf(state, vocabulary));
  return `${words} · ${name}`;
}

export const kindLabel = (vocabulary, kind) => either(vocabulary.kinds.find((one) => one.kind === kind)?.label) || kind;

// What a form of it is made of: while that stays as it is, so does the form.
export function stateShape(data, name, vocabulary) {
  const state = data.states?.[name];
  if (!state) return null;
  const [must, may] = waysOf(kindOf(state, vocabulary), vocabulary);
  const branched = [...must, ...may].map((way) => branchesOf(state[way]).map((one) => [one.if !== undefined, conditionKind(one.if)]).concat(state[way] === undefined ? ["none"] : []));
  const asked = state.approve && [[state.approve.by ?? []].flat().map(conditionKind), conditionKind(state.approve.otherwise), conditionKind(state.approve.escalate_to)];
  const mapped = state.with && Object.entries(state.with).map(([key, value]) => [key, conditionKind(value)]);
  const waits = state.wait && Object.keys(state.wait);
  return JSON.stringify([kindOf(state, vocabulary), branched, asked, mapped, waits, state.collect, state.forget, state.call, state.check, state.flow, state.parallel, state.end !== undefined, Object.entries(data.states).map(([key, one]) => [key, one?.name?.[language()]]), Object.entries(data.slots ?? {}).map(([key, slot]) => [key, slot?.type, slot?.label?.[language()]])]);
}

// Expressions are told apart by what they are made of, not by their numbers: those are typed.
const conditionKind = (expression) => String(expression ?? "").replace(/-?\d+(?:\.\d+)?/g, "0");

export function stateForm(form, name, data, { vocabulary, people, commit, choose, flows }) {
  const place = ["states", name];
  const state = data.states[name];
  const kind = kindOf(state, vocabulary);
  const kinds = vocabulary.kinds.map((one) => [one.kind, kindLabel(vocabulary, one.kind)]);
  const label = (one) => called(data, one, vocabulary);
  const change = (to) => [{ op: "set", place, value: { ...(state.name && { name: state.name }), ...begun(to, data, { next: onward(state) ?? name, vocabulary }) } }, ...besides(to, data)];
  const rename = (to) => commit([{ op: "rename", place, key: to }]).then(() => choose({ kind: "state", name: to }));
  const [must, may] = waysOf(kind, vocabulary);
  const begins = data.start === name;
  const parts = { collect: collects, confirm: confirms, approve: approves, call: tools, check: tools, wait: waits, flow: starts, parallel: splits, say: says }[kind] ?? (() => []);
  const remove = () => commit(removal(data, name, vocabulary)).then(() => choose({ kind: "about" }));
  return [
    form.choice(t("does"), place, kinds, { read: (now) => kindOf(valueAt(now, place), vocabulary), set: change, key: `${name}.kind` }),
    element("p", { class: "hint" }, kindHint(vocabulary, kind)),
    form.words(t("nameInWords"), [...place, "name"]),
    ...parts(form, place, data, { vocabulary, people, commit, flows }),
    state.end === undefined ? ways(form, place, data, { must, may, commit, vocabulary, called: label }) : null,
    element("section", {}, element("h3", {}, t("more")), form.name(t("nameInFile"), place, rename), element("div", { class: "actions" }, begins ? element("p", { class: "hint" }, t("beginsHere")) : button(t("beginHere"), () => commit([{ op: "set", place: ["start"], value: name }])), begins ? null : twice(t("removeState"), t("reallyRemoveState"), { yes: t("removeState"), no: t("neverMind") }, remove, { class: "danger" }))),
  ];
}

const kindHint = (vocabulary, kind) => either(vocabulary.kinds.find((one) => one.kind === kind)?.description);

function collects(form, place, data) {
  const slots = Object.entries(data.slots ?? {}).map(([name, { label }]) => [name, `${label?.[language()] ?? name} · ${name}`]);
  const stands = [data.states[place[1]].collect ?? []].flat();
  return [form.order(t("collects"), [...place, "collect"], slots, { hint: t("collectsHint"), stands, add: t("addSlotToCollect") })];
}

const confirms = (form, place) => [form.words(t("confirms"), [...place, "confirm"], { rows: 4, required: true, hint: t("templateHint") })];

const approves = (form, place, data, more) => [approvalForm(form, [...place, "approve"], data, more)];

const tools = (form, place, data, more) => [toolForm(form, place, data, { ...more, key: kindOf(data.states[place[1]], more.vocabulary) })];

const starts = (form, place, data, { flows }) => [form.choice(t("startsFlow"), [...place, "flow"], flows, { none: t("chooseFlow") })];

function splits(form, place, data, { vocabulary }) {
  const options = Object.keys(data.states).filter((name) => name !== place[1]).map((name) => [name, called(data, name, vocabulary)]);
  return [form.order(t("sideBySide"), [...place, "parallel"], options, { stands: [data.states[place[1]].parallel ?? []].flat(), add: t("addBranch") })];
}

const WAITS = { for: { for: "P1D" }, until: { until: "day(now)" }, event: { event: "arrived", for: "P7D" } };

function waits(form, place, data) {
  const at = [...place, "wait"];
  const stands = valueAt(data, at) ?? {};
  const how = (now) => ["event", "until", "for"].find((key) => valueAt(now, at)?.[key] !== undefined) ?? "for";
  const dates = Object.entries(data.slots ?? {}).filter(([, { type }]) => ["date", "datetime"].includes(type)).map(([name, { label }]) => [`slots.${name}`, label?.[language()] ?? name]);
  const kind = form.choice(t("waitsFor"), at, Object.keys(WAITS).map((key) => [key, t(`wait_${key}`)]), { read: how, set: (value) => [{ op: "set", place: at, value: value === "until" && dates.length ? { until: dates[0][0] } : WAITS[value] }], key: `${place[1]}.wait` });
  const parts = {
    for: () => [form.span(t("howLong"), [...at, "for"], { required: true })],
    until: () => [form.choice(t("untilWhen"), [...at, "until"], [...dates, [EXPRESSION, t("asExpression")]], { read: (now) => (dates.some(([value]) => value === valueAt(now, [...at, "until"])) ? valueAt(now, [...at, "until"]) : EXPRESSION), set: (value) => [{ op: "set", place: [...at, "until"], value: value === EXPRESSION ? `(${stands.until})` : value }], key: `${place[1]}.until` }), dates.some(([value]) => value === stands.until) ? null : form.text(t("expression"), [...at, "until"], { code: true, required: true })],
    event: () => [form.text(t("eventName"), [...at, "event"], { required: true }), form.lines(t("eventRoles"), [...at, "roles"], { rows: 2 }), form.span(t("atMost"), [...at, "for"])],
  };
  return [kind, ...parts[how(data)]()];
}

function says(form, place, data) {
  const state = data.states[place[1]];
  const ends = [["", t("goesOn")], ...ENDS.map((name) => [name, t(`end_${name}`)])];
  const first = Object.keys(data.states)[0];
  const set = (value) => (value === "" ? [{ op: "remove", place: [...place, "end"] }, { op: "set", place: [...place, "next"], value: first }] : [...(state.next === undefined ? [] : [{ op: "remove", place: [...place, "next"] }]), { op: "set", place: [...place, "end"], value }]);
  const slots = Object.entries(data.slots ?? {}).map(([name, { label }]) => [name, label?.[language()] ?? name]);
  return [
    form.words(t("says"), [...place, "say"], { rows: 3, hint: t("templateHint") }),
    form.choice(t("afterwards"), [...place, "end"], ends, { set }),
    state.forget === undefined ? null : form.order(t("forgets"), [...place, "forget"], slots, { stands: [state.forget].flat() }),
  ];
}

// Where it mostly goes on.
function onward(state) {
  for (const way of ["next", "confirmed", "approved", "completed", "join"]) {
    const [first] = branchesOf(state?.[way]);
    if (first) return first.to;
  }
  return null;
}

export const mainWay = (state, vocabulary) => waysOf(kindOf(state, vocabulary), vocabulary).flat()[0] ?? "next";

// What a state of a kind begins with; `next` is where it goes on.
export function begun(kind, data, { next, vocabulary }) {
  const states = Object.entries(data.states ?? {});
  const asks = states.find(([, state]) => kindOf(state, vocabulary) === "collect")?.[0] ?? data.start;
  const refused = refusal(data);
  const tool = vocabulary.tools[0]?.name ?? "";
  const first = vocabulary.approvers[0]?.expression ?? "";
  return {
    collect: () => ({ collect: Object.keys(data.slots ?? {}).slice(0, 1), next }),
    confirm: () => ({ confirm: { zh: t.in("zh", "confirmText"), en: t.in("en", "confirmText") }, confirmed: next, declined: asks ?? next }),
    approve: () => ({ approve: { by: first, title: { zh: `{{ requester.name }}：${data.title?.zh ?? ""}`, en: `{{ requester.name }}: ${data.title?.en ?? ""}` }, remind_every: "PT24H" }, approved: next, rejected: refused, ...(asks && { returned: asks }) }),
    call: () => ({ call: tool, with: {}, next }),
    check: () => ({ check: tool, with: {}, next }),
    wait: () => ({ wait: { for: "P1D" }, next }),
    flow: () => ({ flow: "", completed: next }),
    parallel: () => ({ parallel: [], join: next }),
    say: () => ({ say: { zh: t.in("zh", "sayText"), en: t.in("en", "sayText") }, ...(next ? { next } : { end: "completed" }) }),
  }[kind]();
}

// Where a no leads: to the state that says so.
const refusal = (data) => Object.entries(data.states ?? {}).find(([, state]) => state?.end === "rejected")?.[0] ?? "refused";

// What a state of a kind needs besides itself: an approval can be refused, which is said somewhere.
export function besides(kind, data) {
  if (kind !== "approve" || data.states?.[refusal(data)]) return [];
  const value = { say: { zh: t.in("zh", "refusedText"), en: t.in("en", "refusedText") }, end: "rejected" };
  return [{ op: "insert", place: ["states"], at: Object.keys(data.states ?? {}).length, key: refusal(data), value }];
}

// Without a state: what led to it leads to where it went on.
export function removal(data, name, vocabulary) {
  const to = onward(data.states[name]);
  const away = to && to !== name ? to : data.start;
  const edits = Object.entries(data.states)
    .filter(([other]) => other !== name)
    .flatMap(([other, state]) => waysOf(kindOf(state, vocabulary), vocabulary).flat().flatMap((way) => bent(["states", other, way], state[way], name, away)));
  return [...edits, { op: "remove", place: ["states", name] }];
}

function bent(place, stands, name, away) {
  if (typeof stands === "string") return stands === name ? [{ op: "set", place, value: away }] : [];
  return branchesOf(stands).flatMap((branch, n) => (branch.to === name ? [{ op: "set", place: [...place, n, "to"], value: away }] : []));
}
