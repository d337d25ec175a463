// What is done for a message while it is being answered: models that think, tools that work, and for
// how long by now. One quiet line, which opens into a list of the tools, and of a plan's steps.

import { element } from "./dom.js";
import { t } from "./texts.js";
import { seconds } from "./times.js";
import { toolStatus } from "./words.js";

const LONG = 2000; // milliseconds: what takes no longer needs no clock

export function work(titleOf) {
  const label = element("span", {}, t("thinking"));
  const clock = element("small", {});
  const title = element("summary", {}, label, " ", clock);
  const list = element("ul", {});
  // Read out only when asked for: it changes several times a second.
  const view = element("details", { class: "work", "aria-live": "off" }, title, list);
  const lines = new Map(); // call id to its line
  const steps = new Map(); // the same of a plan's steps
  const underway = new Map(); // those that have begun and not ended, as the title has them
  const began = Date.now();
  let since = began; // when what the title names began

  const ticking = setInterval(() => {
    if (Date.now() - since >= LONG) clock.textContent = seconds(Math.floor((Date.now() - since) / 1000) * 1000);
  }, 1000);

  function thinking({ status, skill, step }) {
    if (status !== "started") return entitle(t("thinking"));
    entitle(skill ? `${titleOf(skill)} · ${t("step", step)}…` : t("thinks"));
  }

  function started({ id, name, progress, arguments: given }) {
    if (!lines.has(id)) {
      lines.set(id, line(titleOf(name)));
      list.append(lines.get(id).view);
      entitle(`${titleOf(name)}…`);
    }
    const { note, called } = lines.get(id);
    if (progress) note.textContent = progress;
    if (given) called.textContent = Object.entries(given).map(shown).join("\n");
  }

  function finished({ id, status, milliseconds, result }) {
    const { view, note, said, came } = lines.get(id) ?? {};
    if (!view) return;
    view.dataset.status = status;
    said.textContent = toolStatus(status);
    came.textContent = result ?? "";
    note.textContent = milliseconds === undefined ? "" : seconds(milliseconds);
  }

  function entitle(text) {
    label.textContent = [...underway.values(), text].join(" · ");
    clock.textContent = "";
    since = Date.now();
  }

  function plan({ status, skill, id, number, steps: all, title: task, fate }) {
    const place = `${number}/${all} ${task}`;
    if (status === "started") {
      steps.get(id)?.view.remove(); // of a try before
      steps.set(id, line(place));
      list.append(steps.get(id).view);
      underway.set(id, place);
    } else if (steps.has(id)) {
      const status = fate === "done" ? "done" : "failed";
      steps.get(id).view.dataset.status = status;
      steps.get(id).said.textContent = toolStatus(status);
      underway.delete(id);
    }
    entitle(titleOf(skill));
  }

  const heeds = { thinking, plan, tool_started: started, tool_finished: finished };

  const stop = () => clearInterval(ticking);

  return {
    view,
    stop,
    heed: (name, data) => heeds[name]?.(data),
    // What is left of it once there is an answer; null where no tool was used and no plan made.
    ended: () => {
      stop();
      title.textContent = `${t("used", lines.size)} · ${seconds(Date.now() - began)}`;
      return lines.size + steps.size ? view : null;
    },
  };
}

function line(title) {
  const said = element("span", { class: "unseen" }, toolStatus("running"));
  const note = element("small", {});
  const called = element("code", {});
  const came = element("code", {});
  const view = element("li", { "data-status": "running" }, title, " ", note, said, called, came);
  return { view, note, said, called, came };
}

// An argument as it was given.
function shown([name, value]) {
  return `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
}
