// The YAML beside the forms: lines with numbers, and what is wrong at its line.

import { button, element, freshId } from "../dom.js";
import { t } from "./texts.js";

const AT_ONCE = 12; // problems that are listed; the others are counted

const END = /\r\n|\r|\n/g; // of a line: a field has only the last of those

// What was typed, with the ends of lines that the text had: an added line ends as its first one does.
export function withEndsOf(text, typed) {
  const [before, after] = [text.split(END), typed.split("\n")];
  const ends = text.match(END) ?? ["\n"];
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const endOf = (n) => (n < head ? ends[n] : n >= after.length - 1 - tail ? ends[n - after.length + before.length] : ends[0]);
  return after.map((line, n) => (n < after.length - 1 ? line + (endOf(n) ?? ends[0]) : line)).join("");
}

export function source(draft) {
  const numbers = element("pre", { class: "numbers", "aria-hidden": "true" });
  const area = element("textarea", { id: freshId("source"), class: "code", spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", rows: "24" });
  const keys = element("p", { class: "hint", id: freshId("hint") }, t("sourceHint"));
  const found = element("ul", { class: "problems", "aria-label": t("problems") });
  area.setAttribute("aria-describedby", keys.id);
  const typed = () => (number(), draft.write(withEndsOf(draft.text, area.value)));
  area.addEventListener("input", typed);
  area.addEventListener("scroll", () => (numbers.scrollTop = area.scrollTop));
  area.addEventListener("keydown", indent);
  const view = element("section", { class: "source" }, element("label", { for: area.id }, t("yaml")), keys, element("div", { class: "lined" }, numbers, area), found);
  let wrong = new Set();

  // Escape and then Tab leaves it: else Tab writes two blanks, as YAML wants them.
  let leaves = false;
  function indent(event) {
    const tabbed = event.key === "Tab" && !event.shiftKey && !leaves;
    leaves = event.key === "Escape";
    if (!tabbed) return;
    event.preventDefault();
    area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
    typed();
  }

  function number() {
    const lines = area.value.split("\n").length;
    const line = (_, n) => element("span", { class: wrong.has(n + 1) ? "wrong" : null }, `${wrong.has(n + 1) ? "! " : ""}${n + 1}\n`);
    numbers.replaceChildren(...Array.from({ length: lines }, line));
  }

  function update() {
    const { problems } = draft.examination;
    wrong = new Set(problems.map(({ line }) => line));
    const shown = draft.text.replace(END, "\n");
    if (area.value !== shown) {
      const at = area.selectionStart;
      area.value = shown;
      area.setSelectionRange(at, at);
    }
    number();
    const row = (problem) => element("li", {}, button(t("line", problem.line), () => go(problem.line), { class: "link" }), ` ${[problem.what, problem.remedy].filter(Boolean).join(" — ")}`);
    const more = problems.length > AT_ONCE ? [element("li", {}, t("moreProblems", problems.length - AT_ONCE))] : [];
    found.replaceChildren(...problems.slice(0, AT_ONCE).map(row), ...more);
  }

  function go(line) {
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    area.scrollTop = Math.max(0, (line - 5) * (area.scrollHeight / lines.length));
  }

  return { view, update };
}
