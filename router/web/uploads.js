// Files on their way with a message. Each is handed in once, whatever happens to the page meanwhile,
// and comes back where nothing took it.

import { Problem, upload } from "./api.js";
import { attached, keepAttached } from "./drafts.js";
import { t } from "./texts.js";

export const MOST = 10; // of a message

export function uploads() {
  const held = new Map(); // message id to its files, for browsers that keep no database
  const place = (message) => `outbox.${message}`;

  const those = async (message) => held.get(message) ?? (await attached(place(message)));

  function carry(message, items) {
    held.set(message, items);
    return keepAttached(place(message), items);
  }

  // The ids of its files: by their keys, those that were handed in before are the same ones.
  async function handedIn(message) {
    const items = await those(message);
    if (!items.length) throw new Problem(410, t("attachmentsGone"));
    await Promise.all(items.map(async (item) => (item.id ??= (await upload("/v1/files", item.file, item.key)).id)));
    await carry(message, items);
    return items.map((item) => item.id);
  }

  // The files of a message that isn't on its way any more.
  async function arrived(message) {
    const items = await those(message);
    held.delete(message);
    await keepAttached(place(message), []);
    return items;
  }

  return { carry, handedIn, arrived };
}
