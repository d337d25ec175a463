// What is done for a message while it is being answered: models that think, tools that work. One
// quiet line, which opens into a list of the tools.

import { element } from "./dom.js";
import { t } from "./texts.js";
import { seconds } from "./times.js";
import { toolStatus } from "./words.js";

export function work(titleOf) {
  const title = element("summary", {}, t("thinking"));
  const list = element("ul", {});
  // Read out only when asked for: it changes several times a second.
  const view = element("details", { class: "work", "aria-live": "off" }, title, list);
  const lines = new Map(); // call id to its line
  const began = Date.now();

  function thinking({ status, skill, step }) {
    if (status !== "started") return;
    title.textContent = skill ? `${titleOf(skill)} · ${t("step", step)}…` : t("thinks");
  }

  function started({ id, name, progress }) {
    if (!lines.has(id)) {
      lines.set(id, line(titleOf(name)));
      list.append(lines.get(id).view);
      title.textContent = `${titleOf(name)}…`;
    }
    if (progress) lines.get(id).note.textContent = progress;
  }

  function finished({ id, status, milliseconds }) {
    const { view, note, said } = lines.get(id) ?? {};
    if (!view) return;
    view.dataset.status = status;
    said.textContent = toolStatus(status);
    note.textContent = milliseconds === undefined ? "" : seconds(milliseconds);
  }

  const heeds = { thinking, tool_started: started, tool_finished: finished };

  return {
    view,
    heed: (name, data) => heeds[name]?.(data),
    // What is left of it once there is an answer; null where no tool was used.
    ended: () => {
      title.textContent = `${t("used", lines.size)} · ${seconds(Date.now() - began)}`;
      return lines.size ? view : null;
    },
  };
}

function line(title) {
  const said = element("span", { class: "unseen" }, toolStatus("running"));
  const note = element("small", {});
  return { view: element("li", { "data-status": "running" }, title, " ", note, said), note, said };
}
