// Moments and lengths of time as people say them.

import { language } from "./texts.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = [
  ["day", DAY],
  ["hour", HOUR],
  ["minute", MINUTE],
];
const LEFT = { zh: (length) => `还剩 ${length}`, en: (length) => `${length} left` };
const OVERDUE = { zh: (length) => `已过期 ${length}`, en: (length) => `${length} overdue` };

let timeZone; // the browser's, until it is known whose page it is

export const inZone = (zone) => (timeZone = zone);

const dated = (iso, how) => new Intl.DateTimeFormat(language(), { ...how, timeZone }).format(new Date(iso));

export const moment = (iso) => dated(iso, { dateStyle: "medium", timeStyle: "short" });
export const clock = (iso) => dated(iso, { timeStyle: "short" });
export const day = (iso) => dated(iso, { month: "long", day: "numeric", weekday: "short" });

// A day as the API has it (`2026-11-23`), which is the same day wherever it is looked at.
export function date(day) {
  return new Intl.DateTimeFormat(language(), { month: "numeric", day: "numeric" }).format(new Date(`${day}T12:00`));
}

// `1.5 小时`, `1.5 hours`
export function hours(number) {
  const format = { style: "unit", unit: "hour", unitDisplay: "long", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(language(), format).format(number);
}

// `3 天前`, `2 hours ago`
export function ago(iso, now = Date.now()) {
  const passed = new Date(iso) - now;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(passed) >= size) ?? ["minute", MINUTE];
  return new Intl.RelativeTimeFormat(language(), { numeric: "auto" }).format(Math.trunc(passed / size), unit);
}

// `还剩 2 天`, `2 days left`, and whether that is soon.
export function left(iso, now = Date.now()) {
  const remaining = new Date(iso) - now;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(remaining) >= size) ?? ["minute", MINUTE];
  const format = new Intl.NumberFormat(language(), { style: "unit", unit, unitDisplay: "long" });
  const length = format.format(Math.trunc(Math.abs(remaining) / size));
  return { text: (remaining < 0 ? OVERDUE : LEFT)[language()](length), soon: remaining < DAY };
}

export function seconds(milliseconds) {
  const format = { style: "unit", unit: "second", unitDisplay: "narrow", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(language(), format).format(milliseconds / 1000);
}

export function size(bytes) {
  const large = bytes >= 1024 * 1024;
  const format = { style: "unit", unit: large ? "megabyte" : "kilobyte", maximumFractionDigits: large ? 1 : 0 };
  return new Intl.NumberFormat(language(), format).format(bytes / 1024 / (large ? 1024 : 1));
}
