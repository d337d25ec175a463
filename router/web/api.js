// The REST API as the page uses it.

import { token } from "./session.js";
import { chosen } from "./texts.js";
import { connection } from "./wire.js";

export const { get, post, put, patch, remove, upload, fetched, streamed } = connection({ bearer: token, locale: chosen });
