"""Makes the vectors that come with the package: `python -m router.runtime.vectors`.

What a first start encodes is what it lacks, so it is a first start that makes them.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from router.retrieval import vector_cache
from router.retrieval.vector_cache import VectorFile
from router.runtime.composition import VECTORS, assembled
from router.runtime.upkeep import learn
from router.settings import Settings


async def make() -> int:
    """Write the vectors of all that ships; answers how many there are."""
    vector_cache.FILE.unlink(missing_ok=True)  # what is in it would not be encoded
    with TemporaryDirectory(prefix="vectors-") as folder:
        settings = Settings.load(data=Path(folder), embedder="embedded")
        async with assembled(settings) as parts:
            await learn(parts)
        kept = VectorFile(settings.data / VECTORS)
        vectors = kept.everything()
        kept.close()
    vector_cache.write(vectors)
    return len(vectors)


if __name__ == "__main__":
    print(f"{asyncio.run(make())} vectors in {vector_cache.FILE}")
