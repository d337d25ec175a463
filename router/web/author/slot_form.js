// Something the flow has to know: its type, how it is asked for, and what it must be like.

import { button, element, twice } from "../dom.js";
import { language } from "../texts.js";
import { FIRST_CURRENCY, minor } from "./conditions.js";
import { condition } from "./ways.js";
import { valueAt } from "./draft.js";
import { either, t } from "./texts.js";

export const slotCalled = (name, slot) => `${slot?.label?.[language()] || name} · ${name}`;

export function slotShape(data, name) {
  const slot = data.slots?.[name];
  return slot ? JSON.stringify([shaped(slot), Object.entries(data.slots).map(([key, one]) => [key, one?.type])]) : null;
}

const shaped = (slot) => [
  slot?.type,
  slot?.when !== undefined && String(slot.when).replace(/-?\d+(?:\.\d+)?/g, "0"),
  Object.keys(slot?.choices ?? {}),
  (slot?.check ?? []).map(({ that }) => String(that).replace(/\d+/g, "0")),
  slot?.of && shaped(slot.of),
  Object.entries(slot?.fields ?? {}).map(([name, field]) => [name, shaped(field)]),
];

export function slotForm(form, name, data, { vocabulary, commit, choose }) {
  const place = ["slots", name];
  const rename = (to) => commit([{ op: "rename", place, key: to }]).then(() => choose({ kind: "slot", name: to }));
  const remove = () => commit([...uncollected(data, name), { op: "remove", place }]).then(() => choose({ kind: "about" }));
  return [
    ...slotParts(form, place, data, { vocabulary, commit }),
    element("section", {}, element("h3", {}, t("more")), form.name(t("nameInFile"), place, rename), element("div", { class: "actions" }, twice(t("removeSlot"), t("reallyRemoveSlot"), { yes: t("removeSlot"), no: t("neverMind") }, remove, { class: "danger" }))),
  ];
}

function uncollected(data, name) {
  return Object.entries(data.states ?? {}).flatMap(([state, { collect }]) => {
    const at = [collect ?? []].flat().indexOf(name);
    return at < 0 ? [] : [Array.isArray(collect) ? { op: "remove", place: ["states", state, "collect", at] } : { op: "set", place: ["states", state, "collect"], value: [] }];
  });
}

// Of a slot, of a list's items or of an object's field: the same parts.
function slotParts(form, place, data, more) {
  const slot = valueAt(data, place) ?? {};
  const types = more.vocabulary.slot_types.map(({ type, label }) => [type, either(label)]);
  const retype = (type) => [{ op: "set", place: [...place, "type"], value: type }, ...needed(slot, type, place)];
  return [
    form.choice(t("slotType"), [...place, "type"], types, { set: retype }),
    form.words(t("slotLabel"), [...place, "label"]),
    form.words(t("slotAsk"), [...place, "ask"], { rows: 2, hint: t("slotAskHint") }),
    form.tick(t("required"), [...place, "required"], { otherwise: true }),
    slot.type === "choice" ? choices(form, place, data, more) : null,
    slot.type === "text" ? form.number(t("maxLength"), [...place, "max_length"], { min: "1", max: "8000" }) : null,
    slot.type === "list" ? element("div", { class: "both" }, form.number(t("atLeast"), [...place, "min"], { min: "0" }), form.number(t("atMostItems"), [...place, "max"], { min: "1" })) : null,
    slot.of ? element("fieldset", { class: "nested" }, element("legend", {}, t("eachItem")), ...slotParts(form, [...place, "of"], data, { ...more, item: true })) : null,
    slot.fields ? fields(form, place, data, more) : null,
    checks(form, place, data, more),
    place.length === 2 ? only(form, place, data, more) : null,
  ];
}

// What a type can't be without.
function needed(slot, type, place) {
  const begins = {
    choice: () => (slot.choices ? [] : [["choices", { one: { label: { zh: "一", en: "one" } } }]]),
    list: () => (slot.of ? [] : [["of", { type: "text" }]]),
    object: () => (slot.fields ? [] : [["fields", { note: { type: "text", label: { zh: "说明", en: "Note" } } }]]),
  };
  const set = (begins[type]?.() ?? []).map(([key, value]) => ({ op: "set", place: [...place, key], value }));
  const gone = [["choices", "choice"], ["of", "list"], ["fields", "object"]].filter(([key, of]) => slot[key] !== undefined && of !== type);
  return [...set, ...gone.map(([key]) => ({ op: "remove", place: [...place, key] }))];
}

function choices(form, place, data, { commit }) {
  const at = [...place, "choices"];
  const stands = Object.keys(valueAt(data, at) ?? {});
  const row = (name) =>
    element(
      "li",
      {},
      form.name(t("choiceName"), [...at, name], (to) => commit([{ op: "rename", place: [...at, name], key: to }])),
      form.words(t("choiceLabel"), [...at, name, "label"], { required: true }),
      form.lines(t("synonyms"), [...at, name, "synonyms"], { rows: 2 }),
      stands.length > 1 ? button(t("removeChoice", name), () => commit([{ op: "remove", place: [...at, name] }]), { class: "link" }) : null,
    );
  const fresh = freshName("choice", stands);
  const add = button(t("addChoice"), () => commit([{ op: "insert", place: at, at: stands.length, key: fresh, value: { label: { zh: "", en: "" } } }]), { "data-key": `${JSON.stringify(at)}.add` });
  return element("fieldset", { class: "nested" }, element("legend", {}, t("choices")), element("ol", { class: "branches" }, ...stands.map(row)), add);
}

function fields(form, place, data, more) {
  const at = [...place, "fields"];
  const stands = Object.keys(valueAt(data, at) ?? {});
  const each = (name) => element("fieldset", { class: "nested" }, element("legend", {}, name), ...slotParts(form, [...at, name], data, { ...more, item: false }), stands.length > 1 ? button(t("removeField", name), () => more.commit([{ op: "remove", place: [...at, name] }]), { class: "link" }) : null);
  const fresh = freshName("field", stands);
  const add = button(t("addField"), () => more.commit([{ op: "insert", place: at, at: stands.length, key: fresh, value: { type: "text", label: { zh: "", en: "" }, ask: { zh: "", en: "" } } }]), { "data-key": `${JSON.stringify(at)}.add` });
  return element("section", {}, element("h3", {}, t("fields")), ...stands.map(each), add);
}

export function freshName(begins, taken) {
  for (let n = 1; ; n += 1) if (!taken.includes(`${begins}_${n}`)) return `${begins}_${n}`;
}

// Conditions that a value must meet: in words where the tenant's words have them, else as an expression.
function checks(form, place, data, { vocabulary, commit, item = false }) {
  const at = [...place, "check"];
  const slot = valueAt(data, place) ?? {};
  const stands = valueAt(data, at) ?? [];
  // No expression reads an item that has no fields.
  const readable = !item || slot.type === "object";
  if (!readable && !stands.length) return null;
  const offered = readable ? vocabulary.checks.filter(({ types }) => types.includes(slot.type)) : [];
  const about = { offered, data, commit, slot: slot.type, at: place, read: place.length === 2 ? `slots.${place[1]}` : `item.${place.at(-1)}` };
  const row = (_, n) => check(form, [...at, n], about);
  const put = (one) => commit([stands.length ? { op: "insert", place: at, at: stands.length, value: one } : { op: "set", place: at, value: [one] }]);
  const more = element("select", { "aria-label": t("addCheck"), "data-key": `${JSON.stringify(at)}.add` }, element("option", { value: "" }, t("addCheck")), ...offered.map((one) => element("option", { value: one.name }, filledIn(either(one.label), {}))), element("option", { value: "=" }, t("asExpression")));
  more.addEventListener("change", () => more.value && put(more.value === "=" ? { that: "true", say: { zh: "", en: "" } } : stated(offered.find(({ name }) => name === more.value), about)));
  return element("fieldset", { class: "nested" }, element("legend", {}, t("checks")), element("ol", { class: "branches" }, ...stands.map(row)), readable ? more : null);
}

function check(form, place, about) {
  const at = [...place, "that"];
  const known = (now) => understood(String(valueAt(now, at) ?? ""), about, now);
  const found = known(about.data);
  const parts = found ? Object.entries(found.check.parameters).map(([name, kind]) => parameter(form, at, name, kind, { ...about, known })) : [];
  return element(
    "li",
    { class: "branch" },
    found ? element("p", {}, filledIn(either(found.check.label), {})) : form.text(t("expression"), at, { code: true, required: true }),
    ...parts,
    form.words(t("checkSays"), [...place, "say"], { required: true }),
    button(t("removeCheck"), () => about.commit([{ op: "remove", place }]), { class: "link" }),
  );
}

// What a check of the vocabulary leaves open: a number, another slot, a currency.
function parameter(form, at, name, kind, about) {
  const { data, known } = about;
  const more = {
    read: (now) => known(now)?.values[name] ?? "",
    set: (value, now) => restated(at.slice(0, -1), known(now), { [name]: value }, about, now),
    key: `${JSON.stringify(at)}.${name}`,
  };
  if (kind === "slot") return form.choice(t("parameter_slot"), at, others(data, about).map((one) => [one, slotCalled(one, data.slots[one])]), more);
  return kind === "currency" ? form.choice(t("parameter_currency"), at, CURRENCIES.map((one) => [one, one]), more) : form.figure(t.known(`parameter_${name}`, name), at, more);
}

const CURRENCIES = Intl.supportedValuesOf("currency");
const others = (data, { slot, read }) => Object.keys(data.slots ?? {}).filter((name) => data.slots[name].type === slot && `slots.${name}` !== read);

const HOLE = /\{(\w+)\}/g;

// With what isn't given left out: `at most …`
const filledIn = (template, values) => template.replace(HOLE, (_, name) => values[name] ?? "…");

const WRITTEN = { decimal: (value) => (Number.isInteger(Number(value)) ? `${Number(value)}.0` : String(Number(value))), minor_units: (value, units) => String(Math.round(Number(value) * units)) };
const READ = { count: Number, decimal: Number, minor_units: (text, units) => Number(text) / units };
const begins = (kind, about) => ({ slot: () => others(about.data, about)[0] ?? "", currency: () => FIRST_CURRENCY })[kind]?.() ?? "1";

const named = (check, of) => Object.fromEntries(Object.entries(check.parameters).map(([name, kind]) => [name, of(name, kind)]));

// Of one of the money that the slot at hand is in.
const unitsOf = ({ at }, data) => minor(valueAt(data, at));

// A check of the vocabulary as a file has it.
export function stated(check, about, values = named(check, (_, kind) => begins(kind, about)), now = about.data) {
  const written = named(check, (name, kind) => WRITTEN[kind]?.(values[name], unitsOf(about, now)) ?? String(values[name]));
  return { that: filledIn(check.expression, { ...written, value: about.read }), say: { zh: filledIn(check.say.zh, values), en: filledIn(check.say.en, values) } };
}

// Another value of a parameter. What is said follows, unless somebody has put it in words of their own.
function restated(place, { check, values }, change, about, now) {
  const next = stated(check, about, { ...values, ...change }, now);
  const says = JSON.stringify(valueAt(now, [...place, "say"])) === JSON.stringify(stated(check, about, values, now).say);
  return [{ op: "set", place: [...place, "that"], value: next.that }, ...(says ? [{ op: "set", place: [...place, "say"], value: next.say }] : [])];
}

const plain = (expression) => expression.replace(/\s+/g, "").replaceAll('"', "'");

// Which check of the vocabulary an expression is, and with what; null where it is none of them.
export function understood(expression, about, now = about.data) {
  const { offered, read } = about;
  for (const check of offered) {
    const names = [];
    const pieces = plain(check.expression).split(HOLE);
    const pattern = pieces.map((piece, n) => (n % 2 === 0 ? quoted(piece) : piece === "value" ? quoted(read) : (names.push(piece), PARAMETERS[check.parameters[piece]] ?? "([\\d.]+)")));
    const found = new RegExp(`^${pattern.join("")}$`).exec(plain(expression));
    if (found) return { check, values: Object.fromEntries(names.map((name, n) => [name, String(READ[check.parameters[name]]?.(found[n + 1], unitsOf(about, now)) ?? found[n + 1])])) };
  }
  return null;
}

const PARAMETERS = { slot: "(\\w+)", currency: "([A-Z]{3})", count: "(\\d+)" };
const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Under which condition it is asked for.
function only(form, place, data, { vocabulary, commit }) {
  const at = [...place, "when"];
  const stands = valueAt(data, at);
  if (stands === undefined) return element("div", { class: "actions" }, button(t("addWhen"), () => commit([{ op: "set", place: at, value: "true" }]), { class: "link", "data-key": `${JSON.stringify(at)}.add` }));
  return element("fieldset", { class: "nested" }, element("legend", {}, t("askedWhen")), condition(form, at, data, { commit, vocabulary }), button(t("removeWhen"), () => commit([{ op: "remove", place: at }]), { class: "link" }));
}
