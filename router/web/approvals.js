// What waits for the caller's decision.

import { fresh, get, post } from "./api.js";
import { button, element, freshId, labelled, pairs, twice, unfolding } from "./dom.js";
import { avatar, diagram, empty, filesOf, timeline } from "./runs.js";
import { t } from "./texts.js";
import { ago, left, moment } from "./times.js";

const MOST = 100;

export function approvals(page) {
  const list = element("ul", { class: "cards" });
  const none = empty("inbox", t("nothingWaits"), t("nothingWaitsHint"));
  const view = element("section", { class: "sheet" }, element("h1", { tabindex: "-1" }, t("approvals")), none, list);
  const shown = new Map(); // approval id to its card

  async function refresh() {
    const { items } = await get(`/v1/approvals?limit=${MOST}`);
    page.count(items.length);
    const waiting = new Set(items.map((item) => item.id));
    for (const [id, card] of shown) if (!waiting.has(id)) remove(id, card);
    // Cards that are there stay as they are: somebody may be writing a comment in one.
    for (const item of items.filter((one) => !shown.has(one.id))) {
      shown.set(item.id, card(item));
      list.append(shown.get(item.id));
    }
    none.hidden = items.length > 0;
  }

  function remove(id, card) {
    const held = card.contains(document.activeElement);
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    shown.delete(id);
    if (held) (next?.querySelector("h2") ?? view.querySelector("h1")).focus();
  }

  function card(item) {
    const title = element("h2", { id: freshId("approval"), tabindex: "-1" }, item.title);
    const comment = element("textarea", { rows: "2", maxlength: "2000" });
    const key = fresh();
    const decide = (decision, more = {}) => page.trying(() => send(item, { decision, ...more }, comment.value.trim(), key));
    return element(
      "li",
      { class: "card", "aria-labelledby": title.id },
      about(item, title),
      pairs(item.summary),
      ...more(item),
      labelled(`${t("comment")} (${t("optional")})`, comment),
      element(
        "div",
        { class: "actions" },
        button(t("approve"), () => decide("approve"), { class: "primary" }),
        button(t("return"), () => decide("return")),
        twice(t("reject"), t("reallyReject"), { yes: t("reject"), no: t("neverMind") }, () => decide("reject"), { class: "danger" }),
      ),
      passing(decide),
    );
  }

  function about(item, title) {
    const name = page.nameOf(item.requester);
    const due = item.due && left(item.due);
    return element(
      "header",
      {},
      avatar(name, item.requester),
      element("div", {}, title, element("p", { class: "hint" }, t("asks", name, ago(item.since)))),
      due && element("time", { class: `chip ${due.soon ? "soon" : ""}`, datetime: item.due, title: moment(item.due) }, due.text),
    );
  }

  // Its files at once, since they are what is to be looked at; the rest when it is asked for.
  function more(item) {
    const run = get(`/v1/flow-runs/${encodeURIComponent(item.flow_run)}`);
    const files = element("div", {});
    run.then((found) => files.append(filesOf(found, page) ?? "")).catch(() => files.remove());
    const history = async () => {
      const found = await page.trying(() => run);
      return found ? [timeline(found, page), diagram(found, page)] : [];
    };
    return [files, unfolding(t("history"), history)];
  }

  function passing(decide) {
    const fill = () => {
      const others = page.people().filter((person) => person.id !== page.me.id);
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

  async function send(item, body, comment, key) {
    const view = shown.get(item.id);
    view.inert = true;
    try {
      // The digest makes sure that what is decided is what was shown.
      const whole = { ...body, digest: item.digest, ...(comment && { comment }) };
      await post(`/v1/approvals/${encodeURIComponent(item.id)}/decision`, whole, `${key}-${Object.values(body).join("-")}`.slice(0, 64));
      page.say(`${t("decided")}: ${item.title}`);
    } finally {
      view.inert = false;
      await refresh();
    }
  }

  return { view, show: refresh, refresh };
}

const WAYS = [
  ["delegate", { decision: "delegate" }],
  ["addAfter", { decision: "add", position: "after" }],
  ["addBefore", { decision: "add", position: "before" }],
];

const option = (person) => element("option", { value: person.id }, person.department ? `${person.name} · ${person.department}` : person.name);
