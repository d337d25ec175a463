import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from router.domain.errors import MisconfiguredError
from router.retrieval.encoders import ModelPrompts, SentenceTransformersEncoder, model_prompts


class Model:
    """The part of `sentence_transformers.SentenceTransformer` that is used."""

    def __init__(self, name: str, device: str) -> None:
        if name == "nobody/nothing":
            raise OSError("nobody/nothing is not a valid model identifier")
        self.prompts = {"query": "find: ", "document": ""} if name == "own/prompts" else {}
        assert device == "cpu"

    def encode(
        self, texts: list[str], prompt: str, batch_size: int, show_progress_bar: bool
    ) -> NDArray[np.float64]:
        return np.array([[len(prompt + text), 1.0] for text in texts])


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    vars(module)["SentenceTransformer"] = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


async def test_without_the_package_the_extra_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MisconfiguredError, match=r"intent-router\[sentence-transformers\]"):
        await SentenceTransformersEncoder("some/model").queries(["年假"])


async def test_a_model_that_does_not_exist_is_named(installed: None) -> None:
    with pytest.raises(MisconfiguredError, match="nobody/nothing"):
        await SentenceTransformersEncoder("nobody/nothing").queries(["年假"])


async def test_each_side_gets_its_prompt_and_rows_unit_length(installed: None) -> None:
    encoder = SentenceTransformersEncoder("own/prompts")
    query, document = await encoder.queries(["ab"]), await encoder.documents(["ab"])
    np.testing.assert_allclose(query[0] / query[0, 1], [8, 1])
    np.testing.assert_allclose(document[0] / document[0, 1], [2, 1], rtol=1e-6)
    assert encoder.dimensions == 2
    assert (await encoder.queries([])).shape == (0, 2)


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("/models/e5-base", "query: ", "passage: "),
        ("BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("nomic-ai/nomic-embed-text-v1", "search_query: ", "search_document: "),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
    ],
)
def test_prompts_are_those_of_the_models_card(model: str, query: str, document: str) -> None:
    assert model_prompts(model, {}) == ModelPrompts(query, document)


def test_the_version_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("one")
    before = SentenceTransformersEncoder(str(tmp_path)).version
    (tmp_path / "weights").write_text("another")
    assert SentenceTransformersEncoder(str(tmp_path)).version != before
