// Why a message went where it went: what the turn says of it, and what the words are read as.

import { post } from "./api.js";
import { element, pairs, unfolding } from "./dom.js";
import { t } from "./texts.js";
import { byName, kindName } from "./words.js";

const BY_WORDS = new Set(["pattern", "llm", "retrieval", "fallback"]);
const LONGEST = 80;

// `said` is the text of the message; null where a button or form answered. A sentence says why; what
// it was weighed by is for those who ask.
export function why(route, said, page) {
  const target = page.titleOf(route.target) ?? kindName(route.kind);
  const sentence = route.by === "llm" || !route.reason ? t(route.by === "llm" ? "byModel" : "byOther", target, byName(route.by)) : route.reason;
  const details = async () => {
    const parts = [standing(route)];
    if (route.candidates?.length) parts.push(...candidates(route.candidates, page));
    if (said && BY_WORDS.has(route.by)) parts.push(...(await read(said, page)));
    return parts;
  };
  const fill = () => [element("p", {}, sentence), unfolding(t("whyDetails"), details, { class: "details" })];
  return unfolding(`${t("why")} · ${target}`, fill, { class: "why" });
}

function standing(route) {
  const rows = { [t("whyKind")]: kindName(route.kind), [t("whyBy")]: byName(route.by) };
  if (route.by === "llm" && route.reason) rows[t("whyReason")] = route.reason;
  if (route.confidence != null) rows[t("confidence")] = `${Math.round(route.confidence * 100)} %`;
  return pairs(rows);
}

async function read(said, page) {
  const found = await page.trying(() => post("/v1/route", { text: said }));
  if (!found) return [];
  const parts = [element("p", { class: "hint" }, t("ifSaidNow"))];
  if (found.patterns.length) parts.push(...titled("patterns", found.patterns.map((hit) => pattern(hit, found, page))));
  if (found.entities.length) parts.push(...titled("entities", found.entities.map(entity)));
  if (found.candidates.length) parts.push(...candidates(found.candidates, page));
  if (parts.length === 1) parts.push(element("p", {}, t("nothingFound")));
  return parts;
}

const titled = (key, lines) => [element("h3", {}, t(key)), element("ul", {}, ...lines.map((line) => element("li", {}, ...line)))];

function candidates(found, page) {
  const line = (one) => [page.titleOf(one.name) ?? one.name, " ", element("meter", { min: "0", max: "1", value: one.score, "aria-hidden": "true" }), ` ${one.score.toFixed(2)}`];
  return titled("candidates", found.map(line));
}

function pattern(hit, found, page) {
  const matched = Array.from(found.normalised).slice(...hit.span).join("");
  const source = hit.pattern.length > LONGEST ? `${hit.pattern.slice(0, LONGEST)}…` : hit.pattern;
  const blocked = hit.blocked_by && ` (${t("blocked", hit.blocked_by)})`;
  return [element("mark", {}, matched), ` → ${page.titleOf(hit.flow) ?? hit.flow}`, blocked, " ", element("code", {}, source)];
}

const entity = (one) => [element("mark", {}, one.text), ` ${one.type} `, element("code", {}, JSON.stringify(one.value))];
