// Files on their way with a message. Each is handed in once, whatever happens to the page meanwhile,
// and comes back where nothing took it.

import { upload } from "./api.js";
import { attached, keepAttached } from "./unsent.js";
import { documentOf } from "./files.js";
import { Problem } from "./wire.js";
import { t } from "./texts.js";

export const MOST = 10; // of a message
const READ_WITHIN = 8; // seconds

// Its id there: by its key, one that was handed in before is the same.
export async function handIn(item) {
  item.id ??= (await upload("/v1/files", item.file, item.key)).id;
  return item.id;
}

export function uploads() {
  const held = new Map(); // message id to its files, for browsers that keep no database
  const place = (message) => `outbox.${message}`;

  const those = async (message) => held.get(message) ?? (await attached(place(message)));

  function carry(message, items) {
    held.set(message, items);
    return keepAttached(place(message), items);
  }

  // The ids of its files. Without a word it is for them to say what is wanted, so they are read first.
  async function handedIn(message, { alone }) {
    const items = await those(message);
    if (!items.length) throw new Problem(410, t("attachmentsGone"));
    const ids = await Promise.all(items.map(handIn));
    await carry(message, items);
    if (alone) await Promise.all(ids.map((id) => documentOf(id, READ_WITHIN)));
    return ids;
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
