// Where a state leads: each way out with its branches, in the order in which they are tried.

import { button, element } from "../dom.js";
import { language } from "../texts.js";
import { comparisons, expressed, inOneCurrency, worded } from "./conditions.js";
import { valueAt } from "./draft.js";
import { t } from "./texts.js";

export const EXPRESSION = "=";

// The branches of a way, however short it is written.
export const branchesOf = (stands) => (stands === undefined ? [] : typeof stands === "string" ? [{ to: stands }] : stands);

// `names` are the ways that such a state must and may have.
export function ways(form, place, data, { must, may, commit, called, vocabulary }) {
  const state = valueAt(data, place) ?? {};
  const present = [...must, ...may.filter((name) => state[name] !== undefined)];
  const targets = Object.keys(data.states ?? {}).map((name) => [name, called(name)]);
  const first = targets[0]?.[0] ?? "";
  const each = present.map((name) => way(form, [...place, name], data, { targets, commit, vocabulary, optional: may.includes(name) }));
  const left = may.filter((name) => state[name] === undefined);
  const more = left.map((name) => button(t("addWay", t.known(`way_${name}`, name)), () => commit([{ op: "set", place: [...place, name], value: first }]), { "data-key": `way.${name}` }));
  return element("section", { class: "ways" }, element("h3", {}, t("waysOn")), ...each, element("div", { class: "actions" }, ...more));
}

function way(form, place, data, { targets, commit, vocabulary, optional }) {
  const name = place.at(-1);
  const branches = branchesOf(valueAt(data, place));
  const plain = branches.length < 2 && !branches[0]?.if;
  const title = t.known(`way_${name}`, name);
  const out = optional ? button(t("noWay", title), () => commit([{ op: "remove", place }]), { class: "link" }) : null;
  const split = button(t("splitWay"), () => commit([{ op: "set", place, value: [{ if: firstCondition(data), to: branches[0]?.to ?? targets[0]?.[0] }, ...branches] }, ...inOneCurrency(firstCompared(data), data, vocabulary)]), { class: "link", "data-key": `${JSON.stringify(place)}.split` });
  if (plain) {
    const at = Array.isArray(valueAt(data, place)) ? [...place, 0, "to"] : place;
    return element("div", { class: "way" }, form.choice(title, at, targets, { none: t("chooseState"), read: (now) => branchesOf(valueAt(now, place))[0]?.to ?? "" }), element("div", { class: "actions" }, split, out));
  }
  const rows = branches.map((_, n) => branch(form, [...place, n], data, { targets, commit, vocabulary, last: n === branches.length - 1, count: branches.length, title }));
  return element("fieldset", { class: "way" }, element("legend", {}, title), element("p", { class: "hint" }, t("branchesHint")), element("ol", { class: "branches" }, ...rows), out);
}

function branch(form, place, data, { targets, commit, vocabulary, count, title }) {
  const stands = valueAt(data, place) ?? {};
  const at = place.at(-1);
  const above = place.slice(0, -1);
  const conditional = stands.if !== undefined;
  const gone = () => commit(count === 1 ? [{ op: "set", place: above, value: stands.to }] : [{ op: "remove", place }]);
  return element(
    "li",
    { class: "branch" },
    conditional ? condition(form, [...place, "if"], data, { commit, vocabulary }) : element("p", {}, t("otherwise")),
    form.choice(t("goesTo"), [...place, "to"], targets),
    conditional ? form.words(t("conditionInWords"), [...place, "name"]) : null,
    element(
      "div",
      { class: "actions" },
      at > 0 && conditional ? button("↑", () => commit([{ op: "move", place, at: at - 1 }]), { class: "small", "aria-label": t("earlier", `${title} ${at + 1}`) }) : null,
      button(t("removeBranch"), gone, { class: "link" }),
    ),
  );
}

// A condition as a slot, a comparison and a value; or as the expression that it is.
export function condition(form, place, data, { vocabulary, label = t("when") }) {
  const slots = data.slots ?? {};
  const expression = String(valueAt(data, place) ?? "");
  const found = worded(expression, slots);
  const comparable = Object.entries(slots).filter(([, slot]) => comparisons(slot).length);
  const options = [...comparable.map(([name, slot]) => [name, slot.label?.[language()] ?? name]), [EXPRESSION, t("asExpression")]];
  const set = (parts, now = data) => [{ op: "set", place, value: expressed(parts, now.slots[parts.slot]) }, ...inOneCurrency(parts.slot, now, vocabulary)];
  const choose = (name, now) => (name === EXPRESSION ? [{ op: "set", place, value: expression === "" ? "true" : `(${expression})` }] : set(beginning(name, slots), now));
  const key = JSON.stringify(place);
  const head = form.choice(label, place, options, { read: (now) => worded(String(valueAt(now, place) ?? ""), slots)?.slot ?? EXPRESSION, set: choose, key: `${key}.slot` });
  if (!found) return element("div", { class: "condition" }, head, form.text(t("expression"), place, { code: true, required: true }));
  const slot = slots[found.slot];
  const compared = comparisons(slot).map((name) => [name, t(`by_${slot.type === "boolean" ? "boolean_" : ""}${name}`)]);
  const now = (data_) => worded(String(valueAt(data_, place) ?? ""), data_.slots) ?? found;
  const by = form.choice(t("compared"), place, compared, { read: (data_) => now(data_).by, set: (name, data_) => set({ ...now(data_), by: name }, data_), key: `${key}.by` });
  return element("div", { class: "condition" }, head, by, slot.type === "boolean" ? null : compareTo(form, place, slot, { now, set, key }));
}

function compareTo(form, place, slot, { now, set, key }) {
  const more = { read: (data) => now(data).value, set: (value, data) => set({ ...now(data), value }, data), key: `${key}.value` };
  if (slot.type === "choice") return form.choice(t("value"), place, Object.entries(slot.choices ?? {}).map(([name, { label }]) => [name, label?.[language()] ?? name]), more);
  return form.figure(t("value"), place, more);
}

function beginning(name, slots) {
  const slot = slots[name];
  const value = slot.type === "choice" ? (Object.keys(slot.choices ?? {})[0] ?? "") : "1";
  return { slot: name, by: comparisons(slot)[0], value };
}

const firstCompared = ({ slots = {} }) => Object.keys(slots).find((one) => comparisons(slots[one]).length);

// Something that can be compared, where there is something; else what one may put another thing in place of.
export function firstCondition(data) {
  const slots = data.slots ?? {};
  const name = firstCompared(data);
  return name ? expressed(beginning(name, slots), slots[name]) : "true";
}
