// Files: chosen for a form, shown to who decides, and fetched where a text names one.

import { fetched, fresh, upload } from "./api.js";
import { button, element, icon } from "./dom.js";
import { t } from "./texts.js";

const MOST_BYTES = 10 * 1024 * 1024;
const PICTURE = /\.(png|jpe?g|webp|gif)$/i;
export const KINDS = "application/pdf,image/png,image/jpeg,image/webp,image/gif,image/heic,.heic,.heif,application/ofd,.ofd,application/xml,text/xml,.xml";

// Why a file can't be taken; null where it can. Said here, since ten megabytes take a while to be refused.
export function refusal(file) {
  if (file.size > MOST_BYTES) return t("tooLarge");
  const known = KINDS.split(",").some((kind) => kind === file.type || file.name.toLowerCase().endsWith(kind));
  return known ? null : t("wrongKind");
}

// What is in a file input as the value of a form: what the upload is answered. Sent again, it is one file.
export function sending(control) {
  let key = fresh();
  control.addEventListener("change", () => (key = fresh()));
  return () => upload("/v1/files", control.files[0], key);
}

// The link to a file: the token goes along, which a plain link has none of.
export function fileLink(path, trying, name = t("download")) {
  const onclick = (event) => {
    event.preventDefault();
    trying(() => save(path));
  };
  return element("a", { href: path, onclick }, name);
}

// Files by id: of pictures small ones, that can be made larger where they are; all of them can be saved.
export function fileList(files, page) {
  return element("ul", { class: "files", "aria-label": t("files") }, ...Object.entries(files).map(([id, name]) => item(id, name, page)));
}

function item(id, name, page) {
  const path = `/v1/files/${encodeURIComponent(id)}`;
  const mark = PICTURE.test(name) ? thumbnail(path, name, page) : icon("file");
  return element("li", {}, mark, fileLink(path, page.trying, name));
}

function thumbnail(path, name, page) {
  const enlarge = () => view.setAttribute("aria-expanded", String(view.getAttribute("aria-expanded") !== "true"));
  const view = button(icon("file"), enlarge, { class: "thumbnail", "aria-expanded": "false", "aria-label": `${t("enlarge")}: ${name}` });
  inView.set(view, () => page.minding(async () => view.replaceChildren(await picture(path, name))));
  watching.observe(view);
  return view;
}

// Nothing is fetched before somebody could see it: what is folded away isn't in view either.
const inView = new WeakMap();
const watching = new IntersectionObserver((changes) => {
  for (const { target } of changes.filter((change) => change.isIntersecting)) {
    watching.unobserve(target);
    inView.get(target)();
  }
});

// A picture that only the token opens, as an image. It can show, and do nothing.
export async function picture(path, description) {
  const { content } = await fetched(path);
  const address = URL.createObjectURL(content);
  const done = () => URL.revokeObjectURL(address);
  return element("img", { src: address, alt: description, onload: done, onerror: done });
}

// Has the browser keep what is at this path: the token goes along.
export async function save(path) {
  const { name, content } = await fetched(path);
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  // Not at once: some browsers begin to read it only after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
