// Files: chosen for a form, shown to who decides, and fetched where a text names one.

import { fetched, get, upload } from "./api.js";
import { button, element, icon } from "./dom.js";
import { t } from "./texts.js";
import { fresh } from "./wire.js";

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

// Files by id: small pictures of them, that can be made larger where they are; all of them can be saved.
// With `read` it is said beside each what was read of it.
export function fileList(files, page, { read = false } = {}) {
  const list = Object.entries(files).map(([id, name]) => item(id, name, page, read));
  return element("ul", { class: read ? "files papers" : "files", "aria-label": t("files") }, ...list);
}

function item(id, name, page, read) {
  const path = `/v1/files/${encodeURIComponent(id)}`;
  const known = read ? once(() => documentOf(id)) : () => null;
  const mark = thumbnail(path, name, page, known);
  const beside = element("div", { class: "beside" }, fileLink(path, page.trying, name));
  const view = element("li", {}, mark, beside);
  if (read) seen(view, () => page.minding(async () => beside.append(...said(await known(), mark))));
  return view;
}

function once(ask) {
  let answer = null;
  return () => (answer ??= ask());
}

// What was read of a file, as soon as it is. One is asked about at a time: they are read one after the
// other, and a browser has but six connections.
let asked = Promise.resolve();
export function documentOf(id, wait = 20) {
  const next = asked.then(() => get(`/v1/files/${encodeURIComponent(id)}/document?wait=${wait}`));
  asked = next.catch(() => {});
  return next;
}

// Below this a field was asked about; see `SURE` of the server.
const SURE = 0.8;
const FROM = { code: "fromCode", model: "fromModel" };

function said({ status, title, fields, problems }, mark) {
  const rows = Object.values(fields).map((field) => row(field, mark));
  const told = problems.map(({ text }) => element("p", { class: "hint" }, text));
  if (status === "reading") return [element("p", { class: "hint" }, t("stillReading"))];
  return [title && element("p", { class: "hint" }, title), rows.length ? element("dl", {}, ...rows) : null, ...told].filter(Boolean);
}

// A field; where it stands is shown on the picture while one looks at it.
function row({ label, text, place, confidence, from }, mark) {
  const doubt = confidence < SURE ? t("unsure") : FROM[from] ? t(FROM[from]) : "";
  const value = element("dd", {}, text, doubt && element("small", {}, ` ${doubt}`));
  const view = element("div", place ? { tabindex: "0" } : {}, element("dt", {}, label), value);
  const point = (where) => () => mark.dispatchEvent(new CustomEvent("point", { detail: where }));
  for (const [come, go] of place ? [["pointerenter", "pointerleave"], ["focus", "blur"]] : []) {
    view.addEventListener(come, point(place));
    view.addEventListener(go, point(null));
  }
  return view;
}

function thumbnail(path, name, page, known) {
  const enlarge = () => view.setAttribute("aria-expanded", String(view.getAttribute("aria-expanded") !== "true"));
  const view = button(icon("file"), enlarge, { class: "thumbnail", "aria-expanded": "false", "aria-label": `${t("enlarge")}: ${name}` });
  const spot = element("span", { class: "spot", hidden: true });
  view.addEventListener("point", ({ detail }) => {
    spot.hidden = !detail || detail.page > 0;
    for (const [edge, share] of spot.hidden ? [] : edges(detail)) spot.style[edge] = `${share * 100}%`;
  });
  seen(view, () => page.minding(async () => {
    await known();
    const small = (await picture(`${path}/preview`, name)) ?? (PICTURE.test(name) ? await picture(path, name) : null);
    if (small) view.replaceChildren(small, spot);
    else view.disabled = true;
  }));
  return view;
}

const edges = ({ left, top, right, bottom }) => [["left", left], ["top", top], ["width", right - left], ["height", bottom - top]];

// Nothing is fetched before somebody could see it: what is folded away isn't in view either.
function seen(view, come) {
  inView.set(view, come);
  watching.observe(view);
}

const inView = new WeakMap();
const watching = new IntersectionObserver((changes) => {
  for (const { target } of changes.filter((change) => change.isIntersecting)) {
    watching.unobserve(target);
    inView.get(target)();
  }
});

// A picture that only the token opens, as an image, which can show and do nothing; null where there is none.
export async function picture(path, description) {
  const { content } = await fetched(path);
  if (!content.size) return null;
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
