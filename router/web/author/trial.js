// The draft played beside it: as whoever asks and whoever decides, with days that pass and tools that fail.
// Nothing real is touched. All steps are sent each time; the server goes on from what it has played.

import { post } from "../api.js";
import { button, element, freshId, labelled, pairs, twice } from "../dom.js";
import { statusName } from "../words.js";
import { t } from "./texts.js";

const PASSES = [["P1D", "aDay"], ["P3D", "threeDays"], ["P7D", "aWeek"]];
const DECISIONS = ["approve", "reject", "return"];

export function trial(draft, { page, vocabulary }) {
  let steps = [];
  let answers = {};
  let played = null;
  let of = null; // the text that was played
  let busy = false;

  const log = element("ol", { class: "trial-log", "aria-live": "polite", "aria-label": t("trialLog"), tabindex: "0" });
  const standing = element("div", { class: "trial-standing" });
  const decisions = element("div", { class: "trial-decisions" });
  const wrong = element("p", { class: "error", role: "alert" });
  const stale = element("p", { class: "notice", hidden: true }, t("trialStale"));
  const people = page.people();
  const user = element("select", {}, ...people.map(({ id, name }) => element("option", { value: id }, name)));
  const says = element("input", { autocomplete: "off", id: freshId("says") });
  const asking = element("form", { class: "trial-say", onsubmit: (event) => (event.preventDefault(), say()) }, element("label", { for: says.id, class: "unseen" }, t("trialSays")), says, button(t("send"), null, { type: "submit", class: "primary" }));
  const failing = element("div", { class: "field" });
  const answering = element("details", { class: "answers" }, element("summary", {}, t("toolAnswers")), element("p", { class: "hint" }, t("toolAnswersHint")));
  const answerFields = element("div", {});
  answering.append(answerFields);
  const title = element("input", { maxlength: "120", autocomplete: "off" });
  const keeping = element("form", { class: "keeping", onsubmit: (event) => (event.preventDefault(), page.trying(keep)) }, labelled(t("storyTitle"), title), button(t("keepStory"), null, { type: "submit" }));
  user.addEventListener("change", again);

  const view = element(
    "section",
    { class: "trial" },
    element("p", { class: "hint" }, t("trialHint")),
    labelled(t("asWhom"), user),
    stale,
    log,
    wrong,
    standing,
    decisions,
    asking,
    element("div", { class: "actions", role: "group", "aria-label": t("whatHappens") }, ...PASSES.map(([span, label]) => button(t(label), () => play({ after: span }))), button(t("takeBack"), () => takeBack()), twice(t("fromStart"), t("reallyFromStart"), { yes: t("fromStart"), no: t("neverMind") }, again, { unless: () => steps.length < 2 })),
    failing,
    answering,
    keeping,
  );

  const body = () => ({ flow: draft.flow, text: draft.text, user: user.value, steps, answers });

  async function play(step) {
    if (busy) return;
    await run([...steps, step]);
  }

  async function run(wanted) {
    busy = true;
    view.setAttribute("aria-busy", "true");
    const before = steps;
    steps = wanted;
    try {
      const made = await page.trying(() => post("/v1/flow-trials", body()));
      if (!made) return void (steps = before);
      played = made;
      of = draft.text;
    } finally {
      busy = false;
      view.removeAttribute("aria-busy");
      paint();
    }
  }

  const say = () => {
    const text = says.value.trim();
    if (!text) return;
    says.value = "";
    play({ user: text });
  };

  const takeBack = () => (steps.length > 1 ? run(steps.slice(0, -1)) : again());

  function again() {
    steps = [];
    played = null;
    paint();
  }

  async function keep() {
    const { stories } = await post("/v1/flow-trials/story", { ...body(), stories: draft.stories, title: title.value.trim() || t("storyUntitled") });
    draft.keepStories(stories);
    await draft.save();
    page.say(t("storyKept", title.value.trim() || t("storyUntitled")));
    title.value = "";
  }

  function paint() {
    log.replaceChildren(...(played?.steps ?? []).flatMap((one, n) => lines(one, steps[n])));
    log.scrollTop = log.scrollHeight;
    wrong.textContent = played?.failed ? t("trialFailed", played.failed.message) : "";
    const stands = played?.standing;
    standing.replaceChildren(...(stands ? [stood(stands)] : []));
    decisions.replaceChildren(...offered());
    title.disabled = keeping.querySelector("button").disabled = steps.length === 0;
    update();
  }

  // What the last words offer to press, and what whoever is asked may decide.
  function offered() {
    const said = played?.steps.at(-1)?.said ?? [];
    const last = said.at(-1);
    const options = (last?.options ?? []).map(({ label, value }) => button(label, () => play({ user: { choose: value } })));
    const yesNo = last?.type === "confirm" ? [button(t("yes"), () => play({ user: { confirm: true } }), { class: "primary" }), button(t("no"), () => play({ user: { confirm: false } }))] : [];
    const asked = played?.standing?.approvers ?? [];
    const each = asked.map((who) => element("div", { class: "actions", role: "group", "aria-label": t("decidesAs", page.nameOf(who)) }, element("span", {}, t("decidesAs", page.nameOf(who))), ...DECISIONS.map((how) => button(t(how), () => play({ approver: { [who]: how } })))));
    const chosen = [...options, ...yesNo];
    return [...(chosen.length ? [element("div", { class: "actions" }, ...chosen)] : []), ...each];
  }

  function stood({ status, state, slots, waits_until }) {
    const known = Object.fromEntries(Object.entries(slots ?? {}).filter(([, value]) => value !== null).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value]));
    return element("div", {}, element("p", {}, t("stands", statusName(status), state ?? ""), waits_until ? ` ${t("waitsUntil", waits_until)}` : ""), Object.keys(known).length ? pairs(known) : null);
  }

  function lines({ said, calls, told }, step) {
    const own = element("li", { class: step?.user ? "own" : "did" }, happened(step));
    const replies = said.map((reply) => element("li", { class: "bot" }, reply.text ?? ""));
    const called = calls.map((call) => element("li", { class: "did" }, `${call.tool} ${JSON.stringify(call.arguments)} ▸ ${call.error ? `${t("failedWith")} ${shown(call.error)}` : shown(call.result)}`));
    const news = told.map(({ person, how }) => element("li", { class: "did" }, t("toldTo", page.nameOf(person), t(`how_${how}`))));
    return [own, ...called, ...replies, ...news];
  }

  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? null));

  function happened(step) {
    if (step?.after) return t("passed", PASSES.find(([span]) => span === step.after) ? t(PASSES.find(([span]) => span === step.after)[1]) : step.after);
    if (step?.approver) return Object.entries(step.approver).map(([who, how]) => `${page.nameOf(who)}: ${t(how)}`).join(", ");
    if (step?.tool_fails) return Object.entries(step.tool_fails).map(([tool, how]) => t(how === "no" ? "toolWorks" : "toolFails", tool)).join(", ");
    if (typeof step?.user === "string") return step.user;
    const [[how, value]] = Object.entries(step?.user ?? { "": "" });
    if (how === "confirm") return value ? t("yes") : t("no");
    return shown(value);
  }

  // The tools that the draft calls: each may fail, and answers what is written for it.
  const tools = () => [...new Set(Object.values(draft.data?.states ?? {}).flatMap((state) => [state?.call, state?.undo].filter(Boolean)))];

  let named = null;
  function update() {
    stale.hidden = !played || of === draft.text;
    const names = tools();
    if (JSON.stringify(names) === named) return;
    named = JSON.stringify(names);
    failing.hidden = answering.hidden = !names.length;
    const which = element("select", { id: freshId("field") }, ...names.map((name) => element("option", { value: name }, name)));
    failing.replaceChildren(element("label", { for: which.id }, t("toolToFail")), element("div", { class: "actions" }, which, button(t("theToolFails"), () => play({ tool_fails: { [which.value]: "permanent" } })), button(t("theToolWorks"), () => play({ tool_fails: { [which.value]: "no" } }))));
    answerFields.replaceChildren(...names.map(answerOf));
  }

  function answerOf(name) {
    const area = element("textarea", { class: "code", rows: "3", spellcheck: "false" });
    const error = element("p", { class: "error", role: "alert" });
    area.value = name in answers ? JSON.stringify(answers[name], null, 2) : "";
    area.addEventListener("change", () => {
      error.textContent = "";
      try {
        if (area.value.trim()) answers = { ...answers, [name]: JSON.parse(area.value) };
        else delete answers[name];
        if (steps.length) run(steps);
      } catch {
        error.textContent = t("notJson");
      }
    });
    return element("div", {}, labelled(vocabulary.tools.find((one) => one.name === name)?.name ?? name, area), error);
  }

  paint();
  return { view, update, opened: () => (steps.length && of !== draft.text && !busy ? void run(steps) : undefined) };
}
