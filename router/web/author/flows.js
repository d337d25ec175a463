// The flows there are, with what became of them; a draft of one is opened beside its picture.

import { get } from "../api.js";
import { number } from "../charts.js";
import { element, freshId, unfolding } from "../dom.js";
import { empty } from "../runs.js";
import { ago, moment } from "../times.js";
import { beginnings } from "./beginnings.js";
import { editor } from "./editor.js";
import { publication } from "./publication.js";
import { statistics } from "./statistics.js";
import { either, t } from "./texts.js";

const MOST = 200; // reviews of one answer
const REVIEW = "review"; // what was submitted, for whoever has no draft of it

export function flows(page) {
  const view = element("div", { class: "authoring" });
  const list = element("ul", { class: "cards" });
  const waiting = element("div", { class: "part" });
  const title = element("h1", { tabindex: "-1" }, t("flows"));
  const none = empty("flow", t("noFlows"), t("noFlowsHint"));
  const index = element("section", { class: "sheet flows" }, title, waiting, beginnings(page, (name) => (location.hash = `#/flows/${name}`)), none, list);
  let open = null;
  let closing = null; // the one before, until it is kept
  let vocabulary = null;
  let known = [];

  async function show(name = null, part = null) {
    if (name === null) return listed();
    const flow = decodeURIComponent(name);
    if (part === REVIEW) return reviewing(flow);
    if (open?.flow === flow) return open.open(part ?? "edit");
    close();
    [vocabulary, known] = await Promise.all([vocabulary ?? get("/v1/flow-drafts/vocabulary"), items()]);
    await closing;
    const shown = await get(`/v1/flow-drafts/${encodeURIComponent(flow)}`);
    const others = known.map((one) => [one.flow, titled(one)]);
    open = editor(shown, { page, vocabulary, flows: others, part, left: () => ((open = null), (location.hash = "#/flows")) });
    view.replaceChildren(open.view);
    return view.querySelector("h1").focus();
  }

  function close() {
    if (open) closing = open.close();
    open = null;
  }

  async function reviewing(flow) {
    close();
    known = await items();
    const published = publication(flow, { page, holds: () => known.some((one) => one.flow === flow && one.version !== null) });
    const called = known.find((one) => one.flow === flow);
    view.replaceChildren(element("section", { class: "sheet author review-of" }, element("header", { class: "bar" }, element("a", { href: "#/flows" }, t("allFlows")), element("h1", { tabindex: "-1" }, called ? titled(called) : flow)), published.view));
    view.querySelector("h1").focus();
    await published.load();
  }

  async function listed() {
    close();
    view.replaceChildren(index);
    const [found, reviews] = await Promise.all([items(), waitingReviews()]);
    known = found;
    none.hidden = known.length > 0;
    list.replaceChildren(...known.map(card));
    const others = reviews.filter((one) => one.author !== page.me.id);
    const row = (one) => element("li", {}, element("a", { href: `#/flows/${encodeURIComponent(one.flow)}/${REVIEW}` }, t("toReview", one.flow, page.nameOf(one.author))));
    waiting.replaceChildren(...(others.length ? [element("h2", {}, t("reviewsWait")), element("ul", { class: "reviews" }, ...others.map(row))] : []));
  }

  async function waitingReviews() {
    const found = [];
    for (let next = ""; next !== null; ) {
      const part = await get(`/v1/flow-reviews?status=open&limit=${MOST}${next && `&after=${encodeURIComponent(next)}`}`);
      found.push(...part.items);
      next = part.next;
    }
    return found;
  }

  const items = async () => (await get("/v1/flow-drafts")).items;

  const titled = (one) => either(one.title) || one.flow;

  function card(one) {
    const heading = element("h2", { id: freshId("flow") }, element("a", { href: `#/flows/${encodeURIComponent(one.flow)}` }, titled(one)));
    const about = either(one.description);
    const partly = [one.share && t("shareOf", one.share), one.begins && t("begins", moment(one.begins))].filter(Boolean);
    const where = one.version === null ? t("onlyDraft") : t(`source_${one.source}`, one.version);
    const counts = [["started", one.started], ["completed", one.completed], ["cancelled", one.cancelled]].map(([name, count]) => t(`count_${name}`, number(count)));
    const drafts = one.drafts.map((each) => t("draftOf", page.nameOf(each.author), ago(each.updated_at)));
    return element(
      "li",
      { class: "card", "aria-labelledby": heading.id },
      element("header", {}, element("div", {}, heading, element("p", { class: "hint" }, `${[one.flow, where, ...partly].join(" · ")}${one.published_by ? ` · ${page.nameOf(one.published_by)}` : ""}`))),
      about && element("p", {}, about),
      element("p", { class: "hint" }, counts.join(" · ")),
      ...drafts.map((words) => element("p", { class: "hint" }, words)),
      one.started && page.has("statistics") ? unfolding(t("goes"), () => page.trying(() => figures(one.flow))) : null,
    );
  }

  // Where people give up, and how long each step takes.
  async function figures(flow) {
    const found = statistics(flow, page);
    await found.load();
    return found.view;
  }

  return { view, show, refresh: async () => (open ? open.refresh() : undefined) };
}
