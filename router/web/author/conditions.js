// Expressions that people needn't read: who is asked, and when a way is taken, as parts of a form and back.

const LIMIT = /^amount\(([\w.]+)\) (>|<=) (\d+)$/;
const AMOUNT = /^([\w.]+) (>|>=|<|<=|==|!=) (-?\d+(?:\.\d+)?)$/;
const CHOSEN = /^([\w.]+) (==|!=) '([^'\\]*)'$/;
const TRUTH = /^(!?)([\w.]+)$/;
const BY_AMOUNT = /^amount\(([\w.]+)\) > (\d+) \? (.+) : (.+)$/;
const GUARD = /^has\(([\w.]+)\) && (.+)$/;

const CURRENCY = /^(?:slots|item)\.\w+\.currency\s*==\s*['"]([A-Z]{3})['"]$/;
const WITHOUT_CENTS = ["JPY", "KRW", "VND"]; // as `amount()` counts them

// What the amounts of a slot are in, by its own check; undefined where they may be in any.
export const currencyOf = (slot) => (slot?.check ?? []).map(({ that }) => CURRENCY.exec(that)?.[1]).find(Boolean);

export const minor = (slot) => (WITHOUT_CENTS.includes(currencyOf(slot)) ? 1 : 100); // of a unit of money
export const FIRST_CURRENCY = "CNY";
const COMPARED = { more: ">", most: "<=", least: ">=", less: "<", is: "==", isnt: "!=" };
const CALLED = Object.fromEntries(Object.entries(COMPARED).map(([name, sign]) => [sign, name]));

// What a slot of this type can be compared by; none where only an expression can say it.
export const comparisons = ({ type }) =>
  ({ money: ["more", "most"], number: ["more", "most", "least", "less", "is"], integer: ["more", "most", "least", "less", "is"], choice: ["is", "isnt"], boolean: ["is", "isnt"] })[type] ?? [];

// `{ slot, by, value }` as the expression that says so. Numbers are doubles there, and money is in its smallest unit.
export function expressed({ slot, by, value }, of) {
  const { type, required = true } = of;
  const read = `slots.${slot}`;
  const said = {
    money: () => `amount(${read}) ${COMPARED[by]} ${Math.round(Number(value) * minor(of))}`,
    choice: () => `${read} ${COMPARED[by]} '${value}'`,
    boolean: () => (by === "is" ? read : `!${read}`),
  };
  const whole = (said[type] ?? (() => `${read} ${COMPARED[by]} ${doubled(value)}`))();
  return required ? whole : `has(${read}) && ${whole}`;
}

// The parts of an expression that is one of those; null for any other.
export function worded(expression, slots) {
  const [, guarded, rest] = GUARD.exec(expression ?? "") ?? [null, null, expression ?? ""];
  const found = parts(rest);
  const slot = found?.read.startsWith("slots.") ? found.read.slice(6) : null;
  if (!slot || !slots[slot] || (guarded && guarded !== found.read)) return null;
  const type = slots[slot].type;
  const isOne = { money: found.kind === "limit", choice: found.kind === "chosen", boolean: found.kind === "truth" }[type] ?? found.kind === "amount";
  const value = found.kind === "limit" ? String(Number(found.value) / minor(slots[slot])) : found.value;
  return isOne && comparisons(slots[slot]).includes(found.by) ? { slot, by: found.by, value } : null;
}

function parts(expression) {
  const limit = LIMIT.exec(expression);
  if (limit) return { kind: "limit", read: limit[1], by: CALLED[limit[2]], value: limit[3] };
  const amount = AMOUNT.exec(expression);
  if (amount) return { kind: "amount", read: amount[1], by: CALLED[amount[2]], value: String(Number(amount[3])) };
  const chosen = CHOSEN.exec(expression);
  if (chosen) return { kind: "chosen", read: chosen[1], by: CALLED[chosen[2]], value: chosen[3] };
  const truth = TRUTH.exec(expression);
  return truth ? { kind: "truth", read: truth[2], by: truth[1] ? "isnt" : "is", value: "" } : null;
}

const doubled = (value) => (Number.isInteger(Number(value)) ? `${Number(value)}.0` : String(Number(value)));

// Who is asked above an amount, and who up to it: `{ slot, limit, above, otherwise }`, or null.
export function byAmount(expression, slots) {
  const [, read, limit, above, otherwise] = BY_AMOUNT.exec(expression ?? "") ?? [];
  const slot = read?.startsWith("slots.") ? read.slice(6) : null;
  return slot ? { slot, limit: String(Number(limit) / minor(slots?.[slot])), above, otherwise } : null;
}

export const byAmountOf = ({ slot, limit, above, otherwise }, slots) =>
  `amount(slots.${slot}) > ${Math.round(Number(limit) * minor(slots?.[slot]))} ? ${above} : ${otherwise}`;

// What makes a limit of the slot mean one thing: its amounts are in one currency.
export function inOneCurrency(name, { slots }, { checks }) {
  const slot = slots?.[name];
  if (slot?.type !== "money" || currencyOf(slot)) return [];
  const { expression, say } = checks.find((check) => check.name === "in_currency");
  const filled = (text) => text.replace("{value}", `slots.${name}`).replaceAll("{currency}", FIRST_CURRENCY);
  const check = { that: filled(expression), say: { zh: filled(say.zh), en: filled(say.en) } };
  const place = ["slots", name, "check"];
  return [slot.check?.length ? { op: "insert", place, at: slot.check.length, value: check } : { op: "set", place, value: [check] }];
}

// A person is called by their id, as a text of the language.
export const personOf = (expression) => /^'([^'\\]+)'$/.exec(expression ?? "")?.[1] ?? null;
export const personAs = (id) => `'${id}'`;
