// Files: chosen for a form, shown to who decides, and fetched where a text names one.

import { fetched, fresh, upload } from "./api.js";
import { button, element, icon } from "./dom.js";
import { t } from "./texts.js";

const MOST_BYTES = 10 * 1024 * 1024;
const PICTURE = /\.(png|jpe?g|webp|gif)$/i;
export const KINDS = "application/pdf,image/png,image/jpeg,image/webp,image/gif,image/heic,.heic,.heif";

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

// The files of a run, by id: pictures can be looked at here, all of them saved.
export function fileList(files, trying) {
  return element("ul", { class: "files", "aria-label": t("files") }, ...Object.entries(files).map(([id, name]) => item(id, name, trying)));
}

function item(id, name, trying) {
  const path = `/v1/files/${encodeURIComponent(id)}`;
  const link = fileLink(path, trying, name);
  if (!PICTURE.test(name)) return element("li", {}, icon("file"), link);
  const place = element("span", { class: "preview" });
  const look = button(icon("file"), () => trying(async () => place.replaceChildren(await picture(path, name))), {
    class: "icon",
    "aria-label": `${t("details")}: ${name}`,
  });
  return element("li", {}, look, link, place);
}

// A picture that only the token opens, as an image. It can show, and do nothing.
export async function picture(path, description) {
  const { content } = await fetched(path);
  const address = URL.createObjectURL(content);
  return element("img", { src: address, alt: description, onload: () => URL.revokeObjectURL(address) });
}

// Has the browser keep what is at this path: the token goes along.
export async function save(path) {
  const { name, content } = await fetched(path);
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  // Not at once: some browsers begin to read it only after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
