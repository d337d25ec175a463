// A form reply as input fields, and what was typed as the values that flows take.

import { button, element, labelled } from "./dom.js";
import { t } from "./texts.js";

export function form(reply, answer) {
  const inputs = reply.fields.map((field) => [field, input(field)]);
  const onsubmit = (event) => {
    event.preventDefault();
    const given = inputs.filter(([, control]) => control.value !== "");
    const values = Object.fromEntries(given.map(([field, control]) => [field.name, value(field, control.value)]));
    answer({ type: "form", values, question: reply.question });
  };
  return element(
    "form",
    { class: "card", onsubmit },
    ...inputs.map(([field, control]) => labelled(field.label, control)),
    button(t("submit"), null, { type: "submit", class: "primary" }),
  );
}

const KINDS = {
  date: { type: "date" },
  datetime: { type: "datetime-local" },
  time: { type: "time" },
  number: { type: "number", step: "any" },
  integer: { type: "number", step: "1" },
  money: { type: "number", step: "0.01", min: "0" },
  duration: { type: "number", step: "0.5", min: "0.5" },
};

function input(field) {
  const required = field.required !== false;
  const options = field.type === "boolean" ? yesOrNo() : field.options;
  if (options) return select(options, required);
  if (field.type === "text") return element("textarea", { rows: "2", required });
  return element("input", { ...(KINDS[field.type] ?? { type: "text" }), required, autocomplete: "off" });
}

const yesOrNo = () => [
  { label: t("yes"), value: true },
  { label: t("no"), value: false },
];

function select(options, required) {
  const nothing = element("option", { value: "" }, t("choose"));
  const items = options.map((option) => element("option", { value: JSON.stringify(option.value) }, option.label));
  return element("select", { required }, nothing, ...items);
}

function value(field, typed) {
  if (field.options || field.type === "boolean") return JSON.parse(typed);
  if (field.type === "number" || field.type === "integer") return Number(typed);
  if (field.type === "money") return { amount: typed, currency: "CNY" };
  if (field.type === "duration") return { days: Number(typed) };
  if (field.type === "datetime") return zoned(typed);
  return typed;
}

// A moment needs its offset: the browser's own, at that moment.
function zoned(typed) {
  const minutes = -new Date(typed).getTimezoneOffset();
  const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  return `${typed}:00${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
