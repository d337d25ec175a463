// Who has to agree, when they are reminded, who is asked instead, and when it is over.

import { button, element } from "../dom.js";
import { language } from "../texts.js";
import { byAmount, byAmountOf, inOneCurrency, personAs, personOf } from "./conditions.js";
import { valueAt } from "./draft.js";
import { either, t } from "./texts.js";
import { EXPRESSION } from "./ways.js";

const AMOUNT = "=amount";
const FIRST_LIMIT = "1000";

export function approvalForm(form, place, data, { vocabulary, people, commit }) {
  const stands = valueAt(data, place) ?? {};
  const asked = [stands.by ?? []].flat();
  const who = { vocabulary, people, data, commit };
  const rows = asked.map((expression, n) => asking(form, Array.isArray(stands.by) ? [...place, "by", n] : [...place, "by"], String(expression), asked.length, who));
  const first = approvers(vocabulary)[0]?.[0] ?? "";
  const more = () => commit([{ op: "set", place: [...place, "by"], value: [...asked, first] }]);
  return element(
    "section",
    { class: "approval" },
    element("h3", {}, t("whoApproves")),
    ...rows,
    element("div", { class: "actions" }, button(t("addApprover"), more, { "data-key": "approver.more" })),
    asked.length > 1 ? form.choice(t("mode"), [...place, "mode"], ["any", "all", "sequential"].map((name) => [name, t(`mode_${name}`)]), { read: (now) => valueAt(now, [...place, "mode"]) ?? "any" }) : null,
    asker(form, t("ifNobody"), [...place, "otherwise"], who, t("nobodyElse")),
    form.words(t("approvalTitle"), [...place, "title"], { required: true, hint: t("templateHint") }),
    element("h3", {}, t("whileTheyWait")),
    form.span(t("remindEvery"), [...place, "remind_every"], { hint: t("emptyNever") }),
    form.span(t("escalateAfter"), [...place, "escalate_after"], { hint: t("emptyNever") }),
    asker(form, t("escalateTo"), [...place, "escalate_to"], { ...who, upwards: true }, t("nobodyElse")),
    form.span(t("expireAfter"), [...place, "expire_after"], { hint: t("emptyNever") }),
    form.choice(t("hours"), [...place, "hours"], ["calendar", "working"].map((name) => [name, t(`hours_${name}`)]), { read: (now) => valueAt(now, [...place, "hours"]) ?? "calendar" }),
    form.tick(t("bulk"), [...place, "bulk"], { hint: t("bulkHint") }),
  );
}

const approvers = (vocabulary) => vocabulary.approvers.map(({ label, expression }) => [expression, either(label)]);

// Whoever the tenant's words know: the manager, who has a role, a person; by amount; or an expression.
function choices({ vocabulary, people, data, upwards }, simple = false) {
  const everybody = people.map(({ id, name }) => [personAs(id), t("person", name)]);
  const ofApprover = upwards ? [["manager(approver)", t("theirManager")]] : [];
  const known = [...ofApprover, ...approvers(vocabulary), ...everybody];
  const money = Object.values(data.slots ?? {}).some(({ type }) => type === "money");
  return simple ? known : [...known, ...(money ? [[AMOUNT, t("byAmount")]] : []), [EXPRESSION, t("asExpression")]];
}

function asking(form, place, expression, count, who) {
  const gone = () => who.commit([{ op: "remove", place }]);
  return element("div", { class: "asked" }, asker(form, t("approver"), place, who), count > 1 ? button(t("removeApprover"), gone, { class: "link" }) : null);
}

function asker(form, label, place, who, none = null) {
  const options = choices(who);
  const known = new Set(options.map(([value]) => value));
  const key = JSON.stringify(place);
  const kind = (now) => {
    const value = valueAt(now, place);
    if (value === undefined) return "";
    if (byAmount(value)) return AMOUNT;
    return known.has(String(value)) || personOf(value) ? String(value) : EXPRESSION;
  };
  const set = (value, now) => {
    if (value === "") return [{ op: "remove", place }];
    if (value === AMOUNT) return limited(place, beginning(who), now, who);
    return [{ op: "set", place, value: { [EXPRESSION]: () => `(${valueAt(now, place) ?? "manager(requester)"})` }[value]?.() ?? value }];
  };
  const head = form.choice(label, place, options, { none, read: kind, set, key: `${key}.who` });
  const how = kind(who.data);
  if (how === EXPRESSION) return element("div", { class: "asker" }, head, form.text(t("expression"), place, { code: true, required: true }));
  return how === AMOUNT ? element("div", { class: "asker" }, head, ...amountParts(form, place, who, key)) : head;
}

function beginning({ vocabulary, data }) {
  const [[first], [second] = []] = approvers(vocabulary);
  const slot = Object.keys(data.slots).find((name) => data.slots[name].type === "money");
  return { slot, limit: FIRST_LIMIT, above: second ?? first, otherwise: first };
}

const limited = (place, parts, data, { vocabulary }) => [{ op: "set", place, value: byAmountOf(parts, data.slots) }, ...inOneCurrency(parts.slot, data, vocabulary)];

function amountParts(form, place, who, key) {
  const now = (data) => byAmount(valueAt(data, place), data.slots) ?? { slot: "", limit: "", above: "", otherwise: "" };
  const part = (name) => ({ read: (data) => now(data)[name], set: (value, data) => limited(place, { ...now(data), [name]: value }, data, who), key: `${key}.${name}` });
  const money = Object.entries(who.data.slots).filter(([, { type }]) => type === "money").map(([name, { label }]) => [name, label?.[language()] ?? name]);
  return [
    form.choice(t("whichAmount"), place, money, part("slot")),
    form.figure(t("limit"), place, part("limit")),
    form.choice(t("above"), place, choices(who, true), part("above")),
    form.choice(t("upTo"), place, choices(who, true), part("otherwise")),
  ];
}
