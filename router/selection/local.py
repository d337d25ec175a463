"""The encoders that need no server, by the name that `ROUTER_EMBEDDER` gives them."""

from router.domain.errors import MisconfiguredError
from router.selection.embedded import EmbeddedEncoder
from router.selection.encoder import Encoder
from router.selection.transformers import SentenceTransformersEncoder

SENTENCE_TRANSFORMERS = "sentence-transformers:"


def local_encoder(setting: str) -> Encoder:
    """The encoder called `embedded` or `sentence-transformers:<name or path>`.

    Raises:
        MisconfiguredError: There is none of that name. (`openai:<model>` is `router.llm`'s.)

    Example:
        >>> local_encoder("embedded").dimensions
        384
    """
    if setting == "embedded":
        return EmbeddedEncoder()
    if setting.startswith(SENTENCE_TRANSFORMERS) and len(setting) > len(SENTENCE_TRANSFORMERS):
        return SentenceTransformersEncoder(setting.removeprefix(SENTENCE_TRANSFORMERS))
    raise MisconfiguredError(
        f"ROUTER_EMBEDDER is {setting!r}; use embedded, sentence-transformers:<name or path> "
        "or openai:<model>"
    )
