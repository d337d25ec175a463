// The sections and the caller's conversations, by their first words; what is new in them is marked.

import { get } from "./api.js";
import { button, element, icon } from "./dom.js";
import { remember, remembered } from "./session.js";
import { t } from "./texts.js";
import { ago } from "./times.js";

const SECTIONS = { chat: ["#/", "chat"], approvals: ["#/approvals", "inbox"], requests: ["#/requests", "list"], memory: ["#/memory", "pin"], handoffs: ["#/handoffs", "people"], operations: ["#/operations", "chart"], flows: ["#/flows", "flow"] };
const PAGE = 30;

export function sidebar(page) {
  const list = element("ul", {});
  const older = button(t("more"), () => page.trying(() => load(true)), { class: "quiet", hidden: true });
  const some = { handoffs: page.takesHandOffs, operations: page.operates, flows: page.writesFlows };
  const open = Object.entries(SECTIONS).filter(([name]) => some[name] ?? true);
  const tabs = open.map(([name, [href, picture]]) => {
    const count = element("span", { class: "count", hidden: true });
    return [name, { count, view: element("a", { href, "data-section": name }, icon(picture), t(name), count) }];
  });
  const byName = Object.fromEntries(tabs);
  const begin = element("a", { href: "#/new", class: "begin" }, icon("plus"), t("newConversation"));
  const view = element(
    "div",
    { class: "lists" },
    begin,
    element("nav", { "aria-label": t("sections") }, ...tabs.map(([, { view }]) => view)),
    element("nav", { class: "conversations", "aria-label": t("conversations") }, element("h2", {}, t("conversations")), list, older),
  );
  const place = `seen.${page.me.id}`;
  const seen = JSON.parse(remembered(place) ?? "{}");
  const known = new Map(); // conversation id to what is listed of it
  let current = null;
  let cursor = null;

  async function load(more = false) {
    const part = await get(`/v1/conversations?limit=${PAGE}${more && cursor ? `&after=${encodeURIComponent(cursor)}` : ""}`);
    if (more || known.size <= PAGE) cursor = part.next;
    older.hidden = cursor === null;
    for (const item of part.items.filter((one) => one.title)) known.set(item.id, item);
    draw();
  }

  // The latest word first. The API lists them by when they began, which is what its pages go by.
  function draw() {
    const held = list.contains(document.activeElement) && document.activeElement.dataset.id;
    const byLatest = [...known.values()].sort((one, other) => Number(other.latest) - Number(one.latest));
    list.replaceChildren(...byLatest.map(entry));
    mark(current);
    if (held) list.querySelector(`[data-id="${CSS.escape(held)}"]`)?.focus();
  }

  // What was there before the page was ever opened in this browser is nobody's news.
  function entry(item) {
    seen[item.id] ??= item.latest;
    const isNew = item.id !== current && Number(item.latest) > Number(seen[item.id]);
    const news = isNew && element("span", { class: "news" }, element("span", { class: "unseen" }, t("unread")));
    const when = element("small", {}, ago(item.latest_at));
    return element("li", {}, element("a", { href: `#/c/${item.id}`, "data-id": item.id, title: item.title }, element("span", { class: "title" }, item.title), news || when));
  }

  // `section` is open, and in it perhaps a conversation.
  function mark(conversation, section) {
    current = conversation;
    for (const link of list.querySelectorAll("a")) point(link, link.dataset.id === conversation);
    if (section) for (const [name, { view }] of tabs) point(view, name === section);
  }

  function point(link, here) {
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }

  function count(number) {
    const { count } = byName.approvals;
    count.textContent = number || "";
    count.hidden = !number;
  }

  function note(conversation, latest) {
    if (!latest || document.hidden) return;
    seen[conversation] = latest;
    remember(place, JSON.stringify(seen));
    list.querySelector(`[data-id="${CSS.escape(conversation)}"] .news`)?.remove();
  }

  // It was deleted: it is in no list of the API's any more.
  function gone(conversation) {
    known.delete(conversation);
    delete seen[conversation];
    remember(place, JSON.stringify(seen));
    draw();
  }

  return { view, load, mark, count, note, gone };
}
