// A tool and what each of its parameters gets: an expression, mostly a slot chosen from a list.

import { element } from "../dom.js";
import { language } from "../texts.js";
import { valueAt } from "./draft.js";
import { either, t } from "./texts.js";
import { EXPRESSION } from "./ways.js";

const READ = /^(?:slots|results)\.\w+$/;

export function toolForm(form, place, data, { key, vocabulary }) {
  const name = valueAt(data, [...place, key]);
  const tool = vocabulary.tools.find((one) => one.name === name);
  const options = vocabulary.tools.map((one) => [one.name, `${titled(one)} · ${one.name}`]);
  const chosen = form.choice(t("tool"), [...place, key], options, { none: t("chooseTool"), set: (value) => [{ op: "set", place: [...place, key], value }] });
  const about = tool && element("p", { class: "hint" }, [either(tool.description), tool.writes && t("writes")].filter(Boolean).join(" "));
  const undo = key === "call" && tool?.writes ? form.choice(t("undoneBy"), [...place, "undo"], options, { none: t("notUndone") }) : null;
  const save = key === "call" ? form.text(t("saveAs"), [...place, "save"], { hint: t("saveAsHint") }) : null;
  return element("section", { class: "tool" }, chosen, about, tool ? mapping(form, [...place, "with"], data, tool.parameters) : null, save, undo);
}

const titled = (tool) => either(tool.title) || tool.name;

function mapping(form, place, data, schema) {
  const parameters = Object.entries(schema?.properties ?? {});
  if (!parameters.length) return element("p", { class: "hint" }, t("noParameters"));
  const required = new Set(schema.required ?? []);
  const each = parameters.map(([name, parameter]) => mapped(form, [...place, name], data, parameter, required.has(name)));
  return element("fieldset", { class: "mapping" }, element("legend", {}, t("parameters")), ...each);
}

// What a parameter may get: what the flow knows, what tools before it gave, what an enumeration has.
function mapped(form, place, data, parameter, isRequired) {
  const name = place.at(-1);
  const stands = valueAt(data, place);
  const slots = Object.entries(data.slots ?? {}).map(([slot, { label }]) => [`slots.${slot}`, label?.[language()] ?? slot]);
  const results = Object.values(data.states ?? {}).filter((state) => state?.save).map(({ save }) => [`results.${save}`, t("resultOf", save)]);
  const values = (parameter.enum ?? []).map((value) => [typeof value === "string" ? `'${value}'` : String(value), t("always", value)]);
  const options = [...slots, ...results, ...values, ["requester.id", t("requesterId")], [EXPRESSION, t("asExpression")]];
  const known = new Set(options.map(([value]) => value));
  const kind = (now) => {
    const value = valueAt(now, place);
    return value === undefined ? "" : known.has(String(value)) || READ.test(String(value)) ? String(value) : EXPRESSION;
  };
  const label = [parameter.title ?? name, !isRequired && `(${t("optional")})`].filter(Boolean).join(" ");
  const set = (value) => [value === "" ? { op: "remove", place } : { op: "set", place, value: value === EXPRESSION ? `(${stands ?? "''"})` : value }];
  const head = form.choice(label, place, options, { none: t("nothing"), read: kind, set, key: `${JSON.stringify(place)}.from`, hint: either(parameter.description) || null });
  return kind(data) === EXPRESSION ? element("div", {}, head, form.text(t("expression"), place, { code: true, required: true })) : head;
}
