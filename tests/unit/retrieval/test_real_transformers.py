"""The real sentence-transformers on a model of a few thousand random weights.

Runs where the extra `sentence-transformers` is installed, which takes gigabytes; elsewhere it
says that it was skipped. `tests/unit/retrieval/test_encoders.py` has what needs no torch.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router.retrieval.encoders import local_encoder
from router.retrieval.index import CapabilityIndex
from tests.unit.retrieval.capabilities import OFFICE

pytestmark = pytest.mark.slow

sentence_transformers = pytest.importorskip(
    "sentence_transformers",
    reason="NOT TESTED: install the extra, pip install 'intent-router[sentence-transformers]'",
)

LETTERS = "abcdefghijklmnopqrstuvwxyz:?预订一间会议室查询年假余额请申工资条天气报看"
TEXTS = ["reserve a meeting room", "预订会议室"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as `SentenceTransformer.save` writes it: BERT, one layer, random weights."""
    torch, transformers = (pytest.importorskip(name) for name in ("torch", "transformers"))
    torch.manual_seed(20261122)
    raw = tmp_path_factory.mktemp("raw")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]
    tokens += [f"##{letter}" for letter in LETTERS]
    (raw / "vocab.txt").write_text("\n".join(dict.fromkeys(tokens)), encoding="utf-8")
    transformers.BertTokenizer(str(raw / "vocab.txt")).save_pretrained(raw)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(tokens), intermediate_size=64, **sizes)
    transformers.BertModel(config).save_pretrained(raw)
    model = sentence_transformers.SentenceTransformer(str(raw), device="cpu")
    # The name has to say the family, whose card has the prompts.
    saved = tmp_path_factory.mktemp("models") / "tiny-e5-random"
    model.save(str(saved))
    return saved


def loaded(folder: Path) -> Any:
    return sentence_transformers.SentenceTransformer(str(folder), device="cpu")


async def test_a_folder_is_loaded_and_gives_unit_rows(folder: Path) -> None:
    encoder = local_encoder(f"sentence-transformers:{folder}")
    rows = await encoder.queries([*TEXTS, "", "年假 \ud83d", "room " * 2000])
    assert rows.shape == (5, 32)
    assert rows.dtype == np.float32
    assert encoder.dimensions == 32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


async def test_each_side_is_encoded_with_the_prompt_of_the_models_family(folder: Path) -> None:
    encoder, plain = local_encoder(f"sentence-transformers:{folder}"), loaded(folder)
    for side, rows in (
        ("query: ", await encoder.queries(TEXTS)),
        ("passage: ", await encoder.documents(TEXTS)),
    ):
        expected = plain.encode([side + text for text in TEXTS], normalize_embeddings=True)
        np.testing.assert_allclose(rows, expected, atol=1e-5)


async def test_prompts_of_the_models_own_win(folder: Path, tmp_path: Path) -> None:
    model = loaded(folder)
    model.prompts = {"query": "请 ", "document": "查 "}
    model.save(str(tmp_path / "own-e5-prompts"))
    rows = await local_encoder(f"sentence-transformers:{tmp_path / 'own-e5-prompts'}").queries(
        TEXTS
    )
    expected = loaded(folder).encode([f"请 {text}" for text in TEXTS], normalize_embeddings=True)
    np.testing.assert_allclose(rows, expected, atol=1e-5)


async def test_capabilities_are_found_with_it(folder: Path) -> None:
    index = CapabilityIndex(local_encoder(f"sentence-transformers:{folder}"))
    await index.update(OFFICE)
    found = await index.select("预订会议室")
    assert found.notes == ()
    assert "book_room" in [candidate.name for candidate in found.candidates]


async def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    from router.domain.errors import MisconfiguredError

    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nothing"}))
    with pytest.raises(MisconfiguredError, match=str(tmp_path)):
        await local_encoder(f"sentence-transformers:{tmp_path}").queries(["x"])
