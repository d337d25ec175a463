// Where messages are typed: sent by Enter, stopped, or steered while something is still going on.

import { button, element, iconButton } from "./dom.js";
import { keepTyped, typed as drafted } from "./unsent.js";
import { t } from "./texts.js";

const HIGHEST = 220; // pixels

// `send(text, onBusy)`, `stop()`; `tray` holds the files that wait.
export function composer({ send, stop, tray }) {
  const typed = element("textarea", {
    rows: "1",
    maxlength: "8000",
    "aria-label": t("message"),
    placeholder: t("placeholder"),
    enterkeyhint: "send",
    onkeydown,
    oninput: () => fill(typed.value),
    onpaste: tray.pasted,
  });
  let place = null; // the draft that is being written
  const pick = tray.picker();
  const shoot = tray.picker({ accept: "image/*", capture: "environment", multiple: false });
  const halt = iconButton("stop", t("stop"), stop, { class: "icon round", hidden: true });
  const go = element("button", { type: "submit", class: "icon round primary", "aria-label": t("send"), title: t("keys") });
  go.append(iconButton("send", "", null).firstChild);
  const queued = element("p", { class: "hint busy", hidden: true }, t("queued"), " ", button(t("steer"), () => submit("steer"), { class: "link" }));
  const view = element(
    "form",
    { class: "composer", onsubmit: (event) => (event.preventDefault(), submit("queue")) },
    tray.view,
    queued,
    element(
      "div",
      { class: "box" },
      iconButton("clip", t("attach"), () => pick.click()),
      iconButton("camera", t("photograph"), () => shoot.click(), { class: "icon camera" }),
      pick,
      shoot,
      typed,
      halt,
      go,
    ),
  );

  function submit(onBusy) {
    const text = typed.value.trim();
    if (!text && !tray.holds()) return;
    fill("");
    send(text, onBusy);
  }

  function onkeydown(event) {
    // Enter also ends the input of a Chinese word; that one sends nothing.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    submit(event.ctrlKey || event.metaKey ? "steer" : "queue");
  }

  function grown() {
    typed.style.height = "auto";
    typed.style.height = `${Math.min(typed.scrollHeight, HIGHEST)}px`;
    queued.hidden = halt.hidden || !typed.value.trim();
  }

  function fill(text) {
    if (typed.value !== text) typed.value = text;
    keepTyped(place, text);
    grown();
  }

  // Go on with the draft of this place.
  function open(where) {
    place = where;
    fill(drafted(where));
  }

  // What wasn't taken can be said again where it was said, unless something else is being typed there.
  function restore(where, text) {
    if (drafted(where)) return;
    keepTyped(where, text);
    if (where === place) fill(text);
  }

  // On a touch screen the focus would bring up the keyboard, unasked.
  function focus() {
    if (matchMedia("(pointer: fine)").matches) typed.focus();
  }

  function busy(whether) {
    halt.hidden = !whether;
    grown();
  }

  return { view, open, focus, busy, restore };
}
