"""Makes the vectors that come with the package: `python -m router.dev.vectors`.

What a first start encodes is what it lacks, so it is a first start that makes them.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from router.assembly import VECTORS, assembled
from router.selection import shipped
from router.selection.vector_file import VectorFile
from router.settings import Settings
from router.upkeep import learn


async def make() -> int:
    """Write the vectors of all that ships; answers how many there are."""
    shipped.FILE.unlink(missing_ok=True)  # what is in it would not be encoded
    with TemporaryDirectory(prefix="vectors-") as folder:
        settings = Settings.load(data=Path(folder), embedder="embedded")
        async with assembled(settings) as parts:
            await learn(parts)
        kept = VectorFile(settings.data / VECTORS)
        vectors = kept.everything()
        kept.close()
    shipped.write(vectors)
    return len(vectors)


if __name__ == "__main__":
    print(f"{asyncio.run(make())} vectors in {shipped.FILE}")
