// Figures as people look at them: tiles, bars by day, and tables that say the same.

import { drawn, element, freshId } from "./dom.js";
import { language, t } from "./texts.js";
import { date } from "./times.js";

const WIDTH = 600;
const HEIGHT = 160;
const NONE = "–"; // where there is nothing to divide by, or nothing was decided

export const number = (value) => new Intl.NumberFormat(language()).format(value);

// An amount may be a small part of a cent: two figures of it are told, whatever it is.
export const money = (value, currency) =>
  new Intl.NumberFormat(language(), { style: "currency", currency, maximumFractionDigits: Math.abs(value) >= 1 || !Number(value) ? 2 : 6 }).format(value);

export const short = (value) =>
  new Intl.NumberFormat(language(), { notation: "compact", maximumFractionDigits: 1 }).format(value);

export const share = (part, whole) =>
  whole ? new Intl.NumberFormat(language(), { style: "percent", maximumFractionDigits: 1 }).format(part / whole) : NONE;

export const orNone = (value, shown) => (value === null || value === undefined ? NONE : shown(value));

// `[[label, what it shows]…]`
export function tiles(figures) {
  const tile = ([label, shown]) => element("div", {}, element("dt", {}, label), element("dd", {}, shown));
  return element("dl", { class: "tiles" }, ...figures.map(tile));
}

// A table that scrolls within itself. `columns` are `[label, row => cell, isText?]`; the first names the row.
export function table(caption, columns, rows) {
  const id = freshId("table");
  const head = columns.map(([label, , isText], n) => element("th", { scope: "col", class: n && !isText ? "number" : null }, label));
  const cell = (row) => ([, of, isText], n) =>
    n ? element("td", { class: isText ? null : "number" }, of(row)) : element("th", { scope: "row" }, of(row));
  const whole = element(
    "table",
    {},
    element("caption", { id, class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...columns.map(cell(row))))),
  );
  return element("div", { class: "ledger", tabindex: "0", role: "region", "aria-labelledby": id }, whole);
}

// Bars of days (`[{ day, counts: { kind: number } }…]`), stacked in the order of `kinds`, `[[kind, name]…]`.
export function stackedBars(caption, kinds, days, shown = number) {
  const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);
  const dearest = Math.max(...days.map(({ counts }) => sum(counts)));
  const most = dearest || 1;
  const present = kinds.filter(([kind]) => days.some(({ counts }) => counts[kind]));
  const bars = days.flatMap((one, place) => bar(one, place, present, { most, width: WIDTH / days.length, shown }));
  const picture = drawn(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": caption },
    ...bars,
  );
  const ends = [days[0].day, days[Math.floor(days.length / 2)].day, days.at(-1).day];
  const axis = element("div", { class: "axis hint", "aria-hidden": "true" }, ...ends.map((day) => element("span", {}, date(day))));
  const columns = [[t("day"), ({ day }) => date(day)], ...present.map(([kind, name]) => [name, ({ counts }) => shown(counts[kind] ?? 0)])];
  return element(
    "figure",
    {},
    element("figcaption", {}, caption, element("span", { class: "hint" }, t(shown === number ? "mostADay" : "dearestDay", shown(dearest)))),
    picture,
    axis,
    legend(present, days, shown),
    element("details", {}, element("summary", {}, t("numbers")), table(caption, columns, days)),
  );
}

function bar({ day, counts }, place, kinds, { most, width, shown }) {
  let top = HEIGHT;
  return kinds.filter(([kind]) => counts[kind]).map(([kind, name]) => {
    const height = (counts[kind] / most) * HEIGHT;
    top -= height;
    const at = { x: (place + 0.12) * width, y: top, width: 0.76 * width, height: Math.max(height - 1, 0.5) };
    return drawn("rect", { ...at, class: `kind ${kind}` }, drawn("title", {}, `${date(day)} · ${name}: ${shown(counts[kind])}`));
  });
}

function legend(kinds, days, shown) {
  const all = (kind) => days.reduce((sum, { counts }) => sum + (counts[kind] ?? 0), 0);
  const entry = ([kind, name]) =>
    element("li", {}, element("span", { class: `swatch kind ${kind}`, "aria-hidden": "true" }), `${name} ${shown(all(kind))}`);
  return element("ul", { class: "legend" }, ...kinds.map(entry));
}

// A bar for each of `[[name, value]…]`, one below the other, with what it comes to.
export function rowBars(caption, rows, shown) {
  const most = Math.max(...rows.map(([, value]) => value)) || 1;
  const row = ([name, value]) =>
    element(
      "li",
      {},
      element("span", { class: "named" }, name),
      drawn("svg", { class: "row-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("rect", { x: 0, y: 0, width: (100 * value) / most, height: 8, class: "kind flow" })),
      element("span", { class: "number" }, shown(value)),
    );
  return element("figure", {}, element("figcaption", {}, caption), element("ul", { class: "row-bars", "aria-label": caption }, ...rows.map(row)));
}
