// One decision that is asked for: a row, which opens into what is decided on and the ways to decide.

import { get } from "./api.js";
import { keeping } from "./unsent.js";
import { button, element, freshId, labelled, pairs, twice, unfolding } from "./dom.js";
import { avatar, diagram, filesOf, timeline } from "./runs.js";
import { t } from "./texts.js";
import { ago, left, moment } from "./times.js";
import { fresh } from "./wire.js";

const WAYS = [
  ["delegate", { decision: "delegate" }],
  ["addAfter", { decision: "add", position: "after" }],
  ["addBefore", { decision: "add", position: "before" }],
];

// `send(item, body, comment, key)` decides; `ticked()` hears that the row was chosen, or isn't any more.
export function approvalCard(item, { page, draft, send, ticked }) {
  const key = fresh();
  const row = opening(item, page, fill);
  const tick = item.bulk ? element("input", { type: "checkbox", class: "tick", "aria-label": t("tick", item.title), onchange: ticked }) : null;
  const view = element(
    "li",
    { class: "card row", "aria-labelledby": row.title.id, "data-id": item.id, "data-since": item.since, "data-due": item.due ?? "" },
    element("header", {}, tick && element("label", { class: "ticking" }, tick), row.heading, due(item)),
    row.body,
  );

  function fill() {
    const comment = keeping(element("textarea", { rows: "2", maxlength: "2000" }), draft);
    const decide = (decision, more = {}) => page.trying(() => send(item, { decision, ...more }, comment.value.trim(), key));
    const reasoned = { unless: () => comment.value.trim() !== "", not: () => comment.focus() };
    return [
      changes(item),
      pairs(item.summary),
      ...about(item, page),
      labelled(`${t("comment")} (${t("optional")})`, comment),
      element(
        "div",
        { class: "actions" },
        button(t("approve"), () => decide("approve"), { class: "primary", "data-key": "a" }),
        twice(t("return"), t("reallyReturn"), { yes: t("return"), no: t("sayWhy") }, () => decide("return"), { ...reasoned, "data-key": "r" }),
        twice(t("reject"), t("reallyReject"), { yes: t("reject"), no: t("neverMind") }, () => decide("reject"), { class: "danger" }),
      ),
      passing(item, page, decide),
    ];
  }

  return { item, view, title: row.title, open: row.open, tick };
}

// What was decided by the reader, and what became of it.
export function decidedCard(item, page) {
  const row = opening(item, page, () => [pairs(item.summary), ...about(item, page)]);
  const said = [t(PLAIN.has(item.decision) ? item.decision : "passedOn"), ago(item.decided_at)].join(" · ");
  const came = element("span", { class: "hint" }, said);
  return element("li", { class: "card row", "aria-labelledby": row.title.id }, element("header", {}, row.heading, came), row.body);
}

export const PLAIN = new Set(["approve", "return", "reject"]);

// A title that opens and closes what belongs to it, which is made when it is first looked at.
function opening(item, page, fill) {
  const name = page.nameOf(item.requester);
  const body = element("div", { class: "opened", id: freshId("opened"), hidden: true });
  const title = element("button", { type: "button", class: "opener", id: freshId("approval"), "aria-expanded": "false", "aria-controls": body.id }, item.title);
  const open = (whether = true) => {
    if (whether && !body.childElementCount) body.append(...fill().filter(Boolean));
    body.hidden = !whether;
    title.setAttribute("aria-expanded", String(whether));
  };
  title.addEventListener("click", () => open(body.hidden));
  const heading = element(
    "div",
    { class: "heading" },
    avatar(name, item.requester),
    element("div", {}, element("h2", {}, title), element("p", { class: "hint" }, ago(item.since), unsaid(item, name))),
  );
  return { title, body, open, heading };
}

const YEAR_AND_WEEKDAY = /^(\d{4}年|[A-Z][a-z]{2} )|(（周.）| \d{4})$/g; // which titles have not

// What a closed row says besides its title.
function unsaid({ title, summary }, name) {
  const rest = [name, ...Object.values(summary)].filter((value) => !title.includes(value.replace(YEAR_AND_WEEKDAY, "")));
  return element("span", { class: "rest" }, rest.map((value) => ` · ${value}`).join(""));
}

function due(item) {
  const until = item.due && left(item.due);
  if (!until) return null;
  return element("time", { class: `chip ${until.soon ? "soon" : ""}`, datetime: item.due, title: moment(item.due) }, until.text);
}

function changes(item) {
  if (!item.changes.length) return null;
  const line = ({ label, before, now }) => element("li", {}, `${label}: `, element("del", {}, before || "–"), " → ", element("ins", {}, now || "–"));
  return element("div", { class: "changes" }, element("h3", {}, t("changedSince")), element("ul", {}, ...item.changes.map(line)));
}

// Its files at once, since they are what is to be looked at; the rest when it is asked for.
function about(item, page) {
  const run = get(`/v1/flow-runs/${encodeURIComponent(item.flow_run)}`);
  const files = element("div", { hidden: true });
  const found = (one) => {
    const list = filesOf(one, page);
    if (list) files.append(list);
    files.hidden = !list;
  };
  run.then(found).catch(() => files.remove());
  const history = async () => {
    const known = await page.trying(() => run);
    return known ? [timeline(known, page), diagram(known, page)] : [];
  };
  return [files, unfolding(t("history"), history)];
}

function passing(item, page, decide) {
  const refused = new Set([page.me.id, item.requester, ...item.asked]);
  const fill = () => {
    const others = page.people().filter((person) => !refused.has(person.id));
    const to = element("select", { required: true }, element("option", { value: "" }, t("choose")), ...others.map(option));
    const how = element("select", {}, ...WAYS.map(([name]) => element("option", { value: name }, t(name))));
    const onsubmit = (event) => {
      event.preventDefault();
      const [, body] = WAYS.find(([name]) => name === how.value);
      decide(body.decision, { ...body, to: to.value });
    };
    const submit = button(t("passIt"), null, { type: "submit" });
    return element("form", { class: "passing", onsubmit }, labelled(t("toWhom"), to), labelled(t("how"), how), submit);
  };
  return unfolding(t("passOn"), fill);
}

const option = (person) => element("option", { value: person.id }, person.department ? `${person.name} · ${person.department}` : person.name);
