// The flow that a conversation is about: where it stands, what it knows, its picture, and its end.

import { get, post } from "./api.js";
import { element, twice } from "./dom.js";
import { ENDED, changing, chip, diagram, filesOf, known, temporalLink } from "./runs.js";
import { t } from "./texts.js";

const LATELY = 30;

export function flowCard(page) {
  const view = element("details", { class: "flow-card", hidden: true, ontoggle: () => view.open && fill() });
  let run = null;
  let wanted = null;
  let shown = ""; // what the open card was drawn from

  // The last run that was begun in this conversation, as it stands now; none for no conversation.
  async function show(conversation) {
    wanted = conversation;
    const { items } = conversation ? await get(`/v1/flow-runs?limit=${LATELY}`) : { items: [] };
    if (conversation !== wanted) return;
    const found = items.find((one) => one.conversation === conversation);
    if (JSON.stringify(found ?? null) === JSON.stringify(run) && !view.open) return;
    const other = found?.id !== run?.id;
    run = found ?? null;
    view.hidden = !run;
    if (other) view.open = false;
    if (run && view.open) await fill();
    else if (run) draw();
  }

  function draw(parts = [], from = "") {
    shown = from;
    const title = element("summary", {}, element("strong", {}, run.title), chip(run.status));
    view.replaceChildren(title, ...parts);
  }

  // While it is being filled in, only the run itself knows what it has been told.
  async function fill() {
    const asked = run.id;
    const whole = await page.trying(() => get(`/v1/flow-runs/${encodeURIComponent(asked)}`));
    // Drawn anew only for news: somebody may be about to press a button of it.
    const said = JSON.stringify([whole, run.status]);
    if (!whole || asked !== run?.id || said === shown) return;
    const picture = view.querySelector("details[open]") ?? diagram(whole, page);
    draw([known(whole), filesOf(whole, page), picture, actions(whole)].filter(Boolean), said);
  }

  function actions(whole) {
    const cancel = () => page.trying(async () => {
      await post(`/v1/flow-runs/${encodeURIComponent(whole.id)}/withdraw`);
      await show(wanted);
    });
    const words = { yes: t("cancelFlow"), no: t("neverMind") };
    const stop = ENDED.has(whole.status) ? null : twice(t("cancelFlow"), t("reallyCancel"), words, cancel);
    return element("div", { class: "actions" }, changing(whole, page), stop, temporalLink(whole));
  }

  return { view, show };
}
