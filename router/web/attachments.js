// Files that were picked, dropped, pasted or photographed before anything asked for one. They wait
// beside what is being typed, and go into the next field of a form that takes a file. Until they are
// sent they are kept with their conversation.

import { element, iconButton } from "./dom.js";
import { attached, keepAttached } from "./drafts.js";
import { KINDS, refusal } from "./files.js";
import { t } from "./texts.js";
import { size } from "./times.js";

export function attachments(page) {
  const list = element("ul", { class: "attachments", "aria-label": t("attachments"), hidden: true });
  const hint = element("p", { class: "hint", role: "status" });
  let waiting = []; // files, the one in `field` among them until it is sent
  let carried = null; // the file that was put into `field`
  let field = null; // the last file input that was offered to
  let place = null; // the draft that they belong to
  let opening = Promise.resolve();

  const usable = () => field !== null && field.isConnected && !field.matches(":disabled");

  // Show those of this place, in which a conversation has `begun` or not.
  function open(where, begun) {
    place = where;
    [waiting, carried, field] = [[], null, null];
    hint.dataset.begun = begun ? "yes" : "";
    show();
    opening = attached(where).then((kept) => {
      if (place !== where) return;
      waiting = kept;
      show();
      if (field) offer(field);
    });
    return opening;
  }

  // What waits here waits there from now on.
  async function move(to) {
    await opening;
    await Promise.all([keepAttached(to, waiting), keepAttached(place, [])]);
  }

  function show() {
    const loose = waiting.filter((file) => file !== carried);
    list.hidden = !loose.length;
    list.replaceChildren(...loose.map(chip));
    explain();
  }

  // Where they go; nothing that is asked here takes one unless there is a field for it.
  function explain() {
    if (carried && !usable()) {
      carried = null; // the question is gone, the file is still here
      return show();
    }
    const nowhere = hint.dataset.begun && !usable();
    const text = list.hidden ? "" : t(nowhere ? "attachedNowhere" : "attached");
    if (hint.textContent !== text) hint.textContent = text; // said by screen readers when it is another
    return undefined;
  }

  function chip(file) {
    const remove = iconButton("close", `${t("remove")}: ${file.name}`, () => without(file));
    return element("li", {}, file.name, " ", element("small", {}, size(file.size)), remove);
  }

  function without(file) {
    waiting = waiting.filter((one) => one !== file);
    keepAttached(place, waiting);
    show();
  }

  async function add(files) {
    const refused = files.map(refusal).find(Boolean);
    const where = place;
    page.complain(refused ?? "");
    await opening;
    if (where !== place) return;
    waiting.push(...files.filter((file) => !refusal(file)));
    keepAttached(place, waiting);
    show();
    if (field) offer(field);
  }

  // Put the first file that waits into this input, or the next one that comes.
  function offer(control) {
    if (!usable()) carried = null;
    field = control;
    const next = waiting.find((file) => file !== carried);
    if (next && usable() && !control.files.length) {
      const transfer = new DataTransfer();
      transfer.items.add(next);
      carried = next;
      control.files = transfer.files;
      control.dispatchEvent(new Event("change"));
    }
    show();
  }

  // The form with the field is sent: what was in it isn't waiting any more.
  function sent() {
    if (carried) without(carried);
    carried = null;
  }

  // A button's way to files: of this device, or with its camera.
  function picker(attributes = {}) {
    const control = element("input", { type: "file", accept: KINDS, multiple: true, hidden: true, tabindex: "-1", ...attributes });
    control.addEventListener("change", () => {
      add([...control.files]);
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
      if (holds(event)) add([...event.dataTransfer.files]);
    });
  }

  function pasted(event) {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  }

  return { view: element("div", { class: "tray" }, list, hint), open, move, explain, offer, sent, picker, droppable, pasted };
}
