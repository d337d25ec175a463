// A flow run as people look at it: what is known, the way it took, its files and its picture.

import { button, choosing, element, icon, pairs, unfolding } from "./dom.js";
import { fileList, picture } from "./files.js";
import { t } from "./texts.js";
import { moment } from "./times.js";
import { eventName, saidWith, statusName } from "./words.js";

export const ENDED = new Set(["completed", "rejected", "cancelled", "failed", "expired"]);

export const chip = (status) => element("span", { class: `chip ${status}` }, statusName(status));

export const known = (run) =>
  Object.keys(run.summary).length ? pairs(run.summary) : element("p", { class: "hint" }, t("nothingKnown"));

// A button for each thing that can be changed in what waits for approval: it puts the words for that where one types.
// What is said then is understood as a change, shown with what is different, and confirmed as any.
export function changing(run, page) {
  if (!run.conversation || !run.changeable?.length) return null;
  const choices = run.changeable.map((name) => [name, () => page.draft(run.conversation, t("changeTo", name))]);
  return choosing(t("change"), t("changeWhat"), choices, t("neverMind"));
}

export function filesOf(run, page) {
  return Object.keys(run.files).length ? fileList(run.files, page, { read: true }) : null;
}

// What happened, a line each; that it went on by itself is nobody's news.
export function timeline(run, page) {
  const lines = run.history.map((entry) => ({ ...entry, words: eventName(entry.event) })).filter(({ words }) => words);
  const line = (entry) =>
    element(
      "li",
      {},
      element("strong", {}, entry.words),
      entry.by && ` · ${page.nameOf(entry.by)}`,
      element("time", { datetime: entry.at }, moment(entry.at)),
      saidWith(entry) && element("q", {}, entry.comment),
    );
  return element("ol", { class: "timeline" }, ...lines.map(line), ended(run));
}

function ended(run) {
  if (!ENDED.has(run.status)) return null;
  const at = run.history.at(-1)?.at ?? run.updated_at;
  return element("li", { class: run.status }, element("strong", {}, statusName(run.status)), element("time", { datetime: at }, moment(at)));
}

// Its flow as a picture, with the way that it took.
export function diagram(run, page) {
  const path = `/v1/flow-runs/${encodeURIComponent(run.id)}/graph`;
  const drawing = async (query = "") => (await page.trying(() => picture(path + query, t("diagramOf", run.title)))) ?? t("failed");
  const fill = async () => {
    const frame = element("div", { class: "diagram", tabindex: "0", role: "region", "aria-label": t("diagram") }, await drawing());
    const zoom = button(t("zoom"), () => zoom.setAttribute("aria-pressed", String(frame.classList.toggle("full"))), { "aria-pressed": "false" });
    const exact = button(t("exactly"), async () => {
      const whole = exact.getAttribute("aria-pressed") === "false";
      exact.setAttribute("aria-pressed", String(whole));
      frame.replaceChildren(await drawing(whole ? "?details=true" : ""));
    }, { "aria-pressed": "false" });
    return [frame, element("div", { class: "actions" }, zoom, exact)];
  };
  return unfolding(t("diagram"), fill);
}

export const temporalLink = (run) =>
  element("a", { href: run.temporal.url, target: "_blank", rel: "noopener noreferrer" }, t("inTemporal"));

// A person's initial in a circle of their own colour.
export function avatar(name, id) {
  const hue = [...id].reduce((sum, letter) => sum + letter.charCodeAt(0) * 47, 0) % 6;
  return element("span", { class: "avatar", "data-hue": String(hue), "aria-hidden": "true" }, [...name][0] ?? "?");
}

export const empty = (picture, title, hint) =>
  element("div", { class: "empty" }, icon(picture), element("h2", {}, title), element("p", { class: "hint" }, hint));
