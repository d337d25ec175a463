// Inputs of a form's fields, and what is typed there as the values that flows take.

const TYPES = {
  date: { type: "date" },
  datetime: { type: "datetime-local" },
  time: { type: "time" },
  number: { type: "number", step: "any", inputmode: "decimal" },
  integer: { type: "number", step: "1", inputmode: "numeric" },
  money: { type: "number", step: "0.01", min: "0", inputmode: "decimal" },
  duration: { type: "number", step: "0.5", min: "0.5", inputmode: "decimal" },
  file: { type: "file" },
};

export const inputOf = (field) => TYPES[field.type] ?? { type: "text" };

// `isChosen`: it is the value of an option, as JSON.
export function valueOf(field, typed, isChosen) {
  if (isChosen) return JSON.parse(typed);
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
