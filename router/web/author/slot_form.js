// Something the flow has to know: its type, how it is asked for, and what it must be like.

import { button, element, twice } from "../dom.js";
import { language } from "../texts.js";
import { condition } from "./ways.js";
import { valueAt } from "./draft.js";
import { t } from "./texts.js";

const said = (text) => (typeof text === "string" ? text : (text?.[language()] ?? ""));

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
  const types = more.vocabulary.slot_types.map(({ type, label }) => [type, said(label)]);
  const retype = (type) => [{ op: "set", place: [...place, "type"], value: type }, ...needed(slot, type, place)];
  return [
    form.choice(t("slotType"), [...place, "type"], types, { set: retype }),
    form.words(t("slotLabel"), [...place, "label"]),
    form.words(t("slotAsk"), [...place, "ask"], { rows: 2, hint: t("slotAskHint") }),
    form.tick(t("required"), [...place, "required"], { otherwise: true }),
    slot.type === "choice" ? choices(form, place, data, more) : null,
    slot.type === "text" ? form.number(t("maxLength"), [...place, "max_length"], { min: "1", max: "8000" }) : null,
    slot.type === "list" ? element("div", { class: "both" }, form.number(t("atLeast"), [...place, "min"], { min: "0" }), form.number(t("atMostItems"), [...place, "max"], { min: "1" })) : null,
    slot.of ? element("fieldset", { class: "nested" }, element("legend", {}, t("eachItem")), ...slotParts(form, [...place, "of"], data, more)) : null,
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
  const each = (name) => element("fieldset", { class: "nested" }, element("legend", {}, name), ...slotParts(form, [...at, name], data, more), stands.length > 1 ? button(t("removeField", name), () => more.commit([{ op: "remove", place: [...at, name] }]), { class: "link" }) : null);
  const fresh = freshName("field", stands);
  const add = button(t("addField"), () => more.commit([{ op: "insert", place: at, at: stands.length, key: fresh, value: { type: "text", label: { zh: "", en: "" }, ask: { zh: "", en: "" } } }]), { "data-key": `${JSON.stringify(at)}.add` });
  return element("section", {}, element("h3", {}, t("fields")), ...stands.map(each), add);
}

export function freshName(begins, taken) {
  for (let n = 1; ; n += 1) if (!taken.includes(`${begins}_${n}`)) return `${begins}_${n}`;
}

// Conditions that a value must meet: in words where the tenant's words have them, else as an expression.
function checks(form, place, data, { vocabulary, commit }) {
  const at = [...place, "check"];
  const slot = valueAt(data, place) ?? {};
  const stands = valueAt(data, at) ?? [];
  const offered = vocabulary.checks.filter(({ types }) => types.includes(slot.type));
  const read = place[0] === "slots" && place.length === 2 ? `slots.${place[1]}` : `item.${place.at(-1)}`;
  const row = (_, n) => check(form, [...at, n], data, { offered, read, commit });
  const put = (one) => commit([stands.length ? { op: "insert", place: at, at: stands.length, value: one } : { op: "set", place: at, value: [one] }]);
  const more = element("select", { "aria-label": t("addCheck"), "data-key": `${JSON.stringify(at)}.add` }, element("option", { value: "" }, t("addCheck")), ...offered.map((one, n) => element("option", { value: String(n) }, said(one.label))), element("option", { value: "=" }, t("asExpression")));
  more.addEventListener("change", () => more.value && put(more.value === "=" ? { that: "true", say: { zh: "", en: "" } } : checkOf(offered[Number(more.value)], read)));
  return element("fieldset", { class: "nested" }, element("legend", {}, t("checks")), element("ol", { class: "branches" }, ...stands.map(row)), more);
}

function check(form, place, data, { offered, read, commit }) {
  const known = (now) => understood(offered, valueAt(now, [...place, "that"]), read);
  const found = known(data);
  const at = [...place, "that"];
  const parts = found?.parameters.map((parameter) => form.figure(said(parameter.label) || t("value"), at, {
    read: (now) => known(now)?.values[parameter.name] ?? "",
    set: (value, now) => restated(found.check, place, read, { ...known(now)?.values, [parameter.name]: value }),
    key: `${JSON.stringify(at)}.${parameter.name}`,
  }));
  return element(
    "li",
    { class: "branch" },
    found ? element("p", {}, said(found.check.label)) : form.text(t("expression"), at, { code: true, required: true }),
    ...(parts ?? []),
    form.words(t("checkSays"), [...place, "say"], { required: true }),
    button(t("removeCheck"), () => commit([{ op: "remove", place }]), { class: "link" }),
  );
}

// The expression of a check of the vocabulary, `{slot}` and its parameters filled in.
const filledIn = (template, values) => template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

const HOLE = /\\\{(\w+)\\\}/g;

function parametersOf({ expression, parameters }) {
  if (parameters) return parameters;
  return [...new Set([...expression.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].filter((name) => name !== "slot").map((name) => ({ name, label: "", default: "1" }));
}

export function checkOf(check, read, given = {}) {
  const values = { ...Object.fromEntries(parametersOf(check).map((one) => [one.name, String(one.default ?? "1")])), ...given };
  const say = { zh: filledIn(check.say?.zh ?? "", values), en: filledIn(check.say?.en ?? "", values) };
  return { that: filledIn(check.expression, { ...values, slot: read }), say };
}

const restated = (check, place, read, values) => {
  const { that, say } = checkOf(check, read, values);
  return [{ op: "set", place: [...place, "that"], value: that }, { op: "set", place: [...place, "say"], value: say }];
};

// Which check of the vocabulary an expression is, and with what; null where it is none of them.
export function understood(offered, expression, read) {
  for (const check of offered) {
    const quoted = check.expression.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const names = [];
    const pattern = quoted.replace(HOLE, (_, name) => (name === "slot" ? read.replace(".", "\\.") : (names.push(name), "(.+?)")));
    const found = new RegExp(`^${pattern}$`).exec(String(expression ?? ""));
    if (found) return { check, parameters: parametersOf(check), values: Object.fromEntries(names.map((name, n) => [name, found[n + 1]])) };
  }
  return null;
}

// Under which condition it is asked for.
function only(form, place, data, { commit }) {
  const at = [...place, "when"];
  const stands = valueAt(data, at);
  if (stands === undefined) return element("div", { class: "actions" }, button(t("addWhen"), () => commit([{ op: "set", place: at, value: "true" }]), { class: "link", "data-key": `${JSON.stringify(at)}.add` }));
  return element("fieldset", { class: "nested" }, element("legend", {}, t("askedWhen")), condition(form, at, data, commit), button(t("removeWhen"), () => commit([{ op: "remove", place: at }]), { class: "link" }));
}
