// The sections and the caller's conversations, by their first words; what is new in them is marked.

import { get } from "./api.js";
import { button, element, icon } from "./dom.js";
import { remember, remembered } from "./session.js";
import { t } from "./texts.js";
import { ago } from "./times.js";

const SECTIONS = { chat: ["#/", "chat"], approvals: ["#/approvals", "inbox"], requests: ["#/requests", "list"] };
const PAGE = 30;

export function sidebar(page) {
  const list = element("ul", {});
  const older = button(t("more"), () => page.trying(() => load(true)), { class: "quiet", hidden: true });
  const tabs = Object.entries(SECTIONS).map(([name, [href, picture]]) => {
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
  let current = null;
  let cursor = null;

  async function load(more = false) {
    const part = await get(`/v1/conversations?limit=${PAGE}${more && cursor ? `&after=${encodeURIComponent(cursor)}` : ""}`);
    cursor = part.next;
    older.hidden = cursor === null;
    const items = part.items.filter((item) => item.title).map(entry);
    if (more) list.append(...items);
    else list.replaceChildren(...items);
    mark(current);
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

  return { view, load, mark, count, note };
}
