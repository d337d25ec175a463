// A form reply as input fields, and what was typed as the values that flows take.

import { button, element, labelled } from "./dom.js";
import { attaching } from "./files.js";
import { t } from "./texts.js";

// `answer` is given a function that fills the action in: files are sent first, which takes a while.
export function form(reply, answer) {
  const inputs = reply.fields.map((field) => ({ field, ...input(field) }));
  const submit = button(t("submit"), null, { type: "submit", class: "primary" });
  const onsubmit = (event) => {
    event.preventDefault();
    answer(async () => {
      submit.disabled = true;
      try {
        return { type: "form", values: await filled(inputs), question: reply.question };
      } finally {
        submit.disabled = false;
      }
    });
  };
  return element("form", { class: "card", onsubmit }, ...inputs.map((one) => labelled(one.field.label, one.control)), submit);
}

async function filled(inputs) {
  const given = inputs.filter(({ control }) => control.value !== "");
  return Object.fromEntries(await Promise.all(given.map(async ({ field, value }) => [field.name, await value()])));
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

// An input field, and what is in it as the value that a flow takes.
function input(field) {
  if (field.type === "file") return attaching({ required: field.required !== false });
  const control = typedInto(field);
  return { control, value: () => value(field, control.value) };
}

function typedInto(field) {
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
