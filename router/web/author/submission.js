// A draft's stories, and having it looked at by somebody else.

import { post } from "../api.js";
import { button, element, labelled, unfolding } from "../dom.js";
import { Problem } from "../wire.js";
import { coverageTold, storiesTold } from "./publication.js";
import { withEndsOf } from "./source.js";
import { t } from "./texts.js";

// `submitted()` once it was.
export function submission(draft, { page, submitted }) {
  const tested = element("div", { "aria-live": "polite" });
  const run = button(t("runStories"), () => page.trying(test));
  const stories = element("textarea", { class: "code", rows: "8", spellcheck: "false" });
  const note = element("textarea", { rows: "2", maxlength: "300" });
  const submit = button(t("submitReview"), null, { type: "submit", class: "primary" });
  const refused = element("ul", { class: "problems", role: "alert" });
  const form = element("form", { class: "part", onsubmit: (event) => (event.preventDefault(), page.trying(send)) }, labelled(t("reviewNote"), note), submit, refused);
  stories.addEventListener("change", () => draft.keepStories(withEndsOf(draft.stories, stories.value)));
  const view = element(
    "div",
    { class: "submission" },
    element("h3", {}, t("stories")),
    element("p", { class: "hint" }, t("storiesHint")),
    element("div", { class: "actions" }, run),
    tested,
    unfolding(t("storyFile"), () => labelled(t("storyFile"), stories)),
    form,
  );

  async function test() {
    tested.replaceChildren(element("p", {}, t("storiesRun")));
    const found = await page.trying(() => post("/v1/flow-trials/stories", { flow: draft.flow, text: draft.text, stories: draft.stories }));
    tested.replaceChildren(...(found ? outcome(found) : []));
  }

  function outcome({ stories: each, coverage, ...counts }) {
    const row = ({ name, ok, told }) => element("li", { class: ok ? "passed" : "failed" }, `${ok ? "✓" : "✗"} ${name}`, ...(ok ? [] : told.map((line) => element("p", { class: "hint" }, line))));
    return [element("p", {}, storiesTold(counts)), element("ul", { class: "stories" }, ...each.map(row)), coverageTold(coverage)];
  }

  async function send() {
    refused.replaceChildren();
    await draft.save();
    try {
      await post("/v1/flow-reviews", { flow: draft.flow, note: note.value.trim() });
    } catch (problem) {
      // Each thing that is in the way, such as a story that fails, by itself.
      if (problem instanceof Problem) refused.replaceChildren(...problem.errors.map(({ detail }) => element("li", {}, detail)));
      throw problem;
    }
    note.value = "";
    page.say(t("submitted"));
    await submitted();
  }

  function update() {
    submit.disabled = draft.examination.problems.length > 0;
    run.disabled = !draft.stories || draft.examination.problems.length > 0;
    if (document.activeElement !== stories) stories.value = draft.stories;
  }

  return { view, update };
}
