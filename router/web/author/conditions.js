// Expressions that people needn't read: who is asked, and when a way is taken, as parts of a form and back.

const LIMIT = /^amount\(([\w.]+)\) (>|<=) (\d+)$/;
const AMOUNT = /^([\w.]+) (>|>=|<|<=|==|!=) (-?\d+(?:\.\d+)?)$/;
const CHOSEN = /^([\w.]+) (==|!=) '([^'\\]*)'$/;
const TRUTH = /^(!?)([\w.]+)$/;
const BY_AMOUNT = /^amount\(([\w.]+)\) > (\d+) \? (.+) : (.+)$/;
const GUARD = /^has\(([\w.]+)\) && (.+)$/;

const MINOR = 100; // of a unit of money
const COMPARED = { more: ">", most: "<=", least: ">=", less: "<", is: "==", isnt: "!=" };
const CALLED = Object.fromEntries(Object.entries(COMPARED).map(([name, sign]) => [sign, name]));

// What a slot of this type can be compared by; none where only an expression can say it.
export const comparisons = ({ type }) =>
  ({ money: ["more", "most"], number: ["more", "most", "least", "less", "is"], integer: ["more", "most", "least", "less", "is"], choice: ["is", "isnt"], boolean: ["is", "isnt"] })[type] ?? [];

// `{ slot, by, value }` as the expression that says so. Numbers are doubles there, and money is in its smallest unit.
export function expressed({ slot, by, value }, { type, required = true }) {
  const read = `slots.${slot}`;
  const said = {
    money: () => `amount(${read}) ${COMPARED[by]} ${Math.round(Number(value) * MINOR)}`,
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
  return isOne && comparisons(slots[slot]).includes(found.by) ? { slot, by: found.by, value: found.value } : null;
}

function parts(expression) {
  const limit = LIMIT.exec(expression);
  if (limit) return { kind: "limit", read: limit[1], by: CALLED[limit[2]], value: String(Number(limit[3]) / MINOR) };
  const amount = AMOUNT.exec(expression);
  if (amount) return { kind: "amount", read: amount[1], by: CALLED[amount[2]], value: String(Number(amount[3])) };
  const chosen = CHOSEN.exec(expression);
  if (chosen) return { kind: "chosen", read: chosen[1], by: CALLED[chosen[2]], value: chosen[3] };
  const truth = TRUTH.exec(expression);
  return truth ? { kind: "truth", read: truth[2], by: truth[1] ? "isnt" : "is", value: "" } : null;
}

const doubled = (value) => (Number.isInteger(Number(value)) ? `${Number(value)}.0` : String(Number(value)));

// Who is asked above an amount, and who up to it: `{ slot, limit, above, otherwise }`, or null.
export function byAmount(expression) {
  const [, read, limit, above, otherwise] = BY_AMOUNT.exec(expression ?? "") ?? [];
  return read?.startsWith("slots.") ? { slot: read.slice(6), limit: String(Number(limit) / MINOR), above, otherwise } : null;
}

export const byAmountOf = ({ slot, limit, above, otherwise }) =>
  `amount(slots.${slot}) > ${Math.round(Number(limit) * MINOR)} ? ${above} : ${otherwise}`;

// A person is called by their id, as a text of the language.
export const personOf = (expression) => /^'([^'\\]+)'$/.exec(expression ?? "")?.[1] ?? null;
export const personAs = (id) => `'${id}'`;
