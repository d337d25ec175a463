// Files that were picked, dropped, pasted or photographed before anything asked for one. They wait
// beside what is being typed, and go into the next field of a form that takes a file.

import { element, iconButton } from "./dom.js";
import { KINDS, refusal } from "./files.js";
import { t } from "./texts.js";
import { size } from "./times.js";

export function attachments(page) {
  const list = element("ul", { class: "attachments", "aria-label": t("attachments"), hidden: true });
  const hint = element("p", { class: "hint", hidden: true }, t("attached"));
  let waiting = []; // files
  let field = null; // the last file input that was offered to

  function show() {
    list.hidden = hint.hidden = !waiting.length;
    list.replaceChildren(...waiting.map(chip));
  }

  function chip(file) {
    const drop = () => {
      waiting = waiting.filter((one) => one !== file);
      show();
    };
    const remove = iconButton("close", `${t("remove")}: ${file.name}`, drop);
    return element("li", {}, file.name, " ", element("small", {}, size(file.size)), remove);
  }

  function add(files) {
    const refused = [...files].map(refusal).find(Boolean);
    page.complain(refused ?? "");
    waiting.push(...[...files].filter((file) => !refusal(file)));
    if (field) offer(field);
    show();
  }

  // Put the first file that waits into this input, or the next one that comes.
  function offer(control) {
    field = control;
    if (!waiting.length || !control.isConnected || control.disabled || control.matches(":disabled") || control.files.length) return;
    const carried = new DataTransfer();
    carried.items.add(waiting.shift());
    control.files = carried.files;
    control.dispatchEvent(new Event("change"));
    show();
  }

  // A button's way to files: of this device, or with its camera.
  function picker(attributes = {}) {
    const control = element("input", { type: "file", accept: KINDS, multiple: true, hidden: true, tabindex: "-1", ...attributes });
    control.addEventListener("change", () => {
      add(control.files);
      control.value = "";
    });
    return control;
  }

  // Take what is dropped on this part of the page.
  function droppable(view) {
    const holds = (event) => event.dataTransfer?.types.includes("Files");
    const over = (whether) => (event) => {
      if (!holds(event)) return;
      event.preventDefault();
      view.toggleAttribute("data-drop", whether);
    };
    view.dataset.dropText = t("dropHere");
    view.addEventListener("dragover", over(true));
    view.addEventListener("dragleave", over(false));
    view.addEventListener("drop", (event) => {
      over(false)(event);
      if (holds(event)) add(event.dataTransfer.files);
    });
  }

  function pasted(event) {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    add(event.clipboardData.files);
  }

  return { view: element("div", { class: "tray" }, list, hint), add, offer, picker, droppable, pasted };
}
