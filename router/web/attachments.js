// Files that were picked, dropped, pasted or photographed. They wait beside what is being typed, and
// go with the next message; the first of them is also put into the field of a form that takes a file.
// Until they are sent they are kept with their conversation, and those that nothing took come back.

import { element, iconButton } from "./dom.js";
import { attached, keepAttached } from "./unsent.js";
import { documentOf, KINDS, refusal } from "./files.js";
import { t } from "./texts.js";
import { size } from "./times.js";
import { handIn, MOST } from "./uploads.js";
import { fresh } from "./wire.js";

export function attachments(page) {
  const list = element("ul", { class: "attachments", "aria-label": t("attachments"), hidden: true });
  const hint = element("p", { class: "hint", role: "status" });
  // Each a `file` with the `key` and the `id` by which it is handed in, and `left` where nothing took it;
  // the one in `field` is among them until it is sent.
  let waiting = [];
  let carried = null; // the one that was put into `field`
  let field = null; // the last file input that was offered to
  let place = null; // the draft that they belong to
  let opening = Promise.resolve();

  const usable = () => field !== null && field.isConnected && !field.matches(":disabled");

  // Show those of this place.
  function open(where) {
    place = where;
    [waiting, carried, field] = [[], null, null];
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
    const loose = waiting.filter((item) => item !== carried);
    list.hidden = !loose.length;
    list.replaceChildren(...loose.map(chip));
    explain();
  }

  // Where they go.
  function explain() {
    if (carried && !usable()) {
      carried = null; // the question is gone, the file is still here
      return show();
    }
    const text = list.hidden ? "" : t(waiting.some((item) => item.left) ? "attachedLeft" : "attached");
    if (hint.textContent !== text) hint.textContent = text; // said by screen readers when it is another
    return undefined;
  }

  function chip(item) {
    const { file } = item;
    const remove = iconButton("close", `${t("remove")}: ${file.name}`, () => without(item));
    return element("li", {}, file.name, " ", element("small", {}, item.says ?? size(file.size)), remove);
  }

  // Handed in while the message is being typed, so that it has been read by the time that is sent. What
  // goes wrong here is tried again then.
  async function begin(item) {
    try {
      await handIn(item);
      item.says = t("stillReading");
      show();
      const { status, title, fields } = await documentOf(item.id);
      item.says = status === "read" ? [title, fields.amount?.text].filter(Boolean).join(" ") : undefined;
    } catch {
      item.says = undefined;
    }
    show();
  }

  function without(item) {
    waiting = waiting.filter((one) => one !== item);
    keepAttached(place, waiting);
    show();
  }

  async function add(files) {
    const refused = files.map(refusal).find(Boolean);
    const where = place;
    page.complain(refused ?? "");
    await opening;
    if (where !== place) return;
    const taken = files.filter((file) => !refusal(file));
    put(taken.map((file) => ({ file, key: fresh() })));
  }

  function put(items) {
    waiting.push(...items);
    keepAttached(place, waiting);
    show();
    items.filter((item) => !item.left).forEach(begin);
    if (field) offer(field);
  }

  // Those that go with a message, which are here no more.
  function take() {
    const gone = waiting.slice(0, MOST);
    waiting = waiting.slice(MOST);
    carried = null;
    keepAttached(place, waiting);
    show();
    return gone;
  }

  // Nothing took these: they wait again where they were.
  async function giveBack(where, items) {
    for (const item of items) item.left = true;
    if (!items.length) return;
    await opening;
    if (where === place) put(items);
    else await keepAttached(where, [...(await attached(where)), ...items]);
  }

  // Put the first file that waits into this input, or the next one that comes.
  function offer(control) {
    if (!usable()) carried = null;
    field = control;
    const next = waiting.find((item) => item !== carried);
    if (next && usable() && !control.files.length) {
      const transfer = new DataTransfer();
      transfer.items.add(next.file);
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

  const view = element("div", { class: "tray" }, list, hint);
  const holds = () => waiting.length > 0;
  return { view, open, move, explain, holds, take, giveBack, offer, sent, picker, droppable, pasted };
}
