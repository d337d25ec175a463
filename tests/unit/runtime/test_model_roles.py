"""Which model is asked for what, as settings say it, over providers that are asked for real."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from router.directory.tenants import LiveTenants, Tenants
from router.domain.errors import MisconfiguredError
from router.llm.fallback import FallbackChain
from router.llm.types import ChatAnswer
from router.runtime.composition import chains_of
from router.settings import Settings
from tests.fakes.providers import ANTHROPIC, CHAT, GEMINI, ProviderServer, Said
from tests.table import each_row
from tests.unit.llm.asking import question


async def asked(chain: FallbackChain | None) -> ChatAnswer:
    assert chain is not None
    return (await chain.answer(question(), 20)).answer


def settings_of(tmp_path: Path, **more: Any) -> Settings:
    return Settings.model_validate({"data": tmp_path, "llm_model": "small", **more})


@pytest.mark.slow
async def test_each_role_asks_its_model_and_below_it_the_usual_ones(tmp_path: Path) -> None:
    said = Said("好")
    async with (
        ProviderServer(CHAT, CHAT.says(said)) as usual,
        ProviderServer(ANTHROPIC, [ANTHROPIC.says(said), ANTHROPIC.fails(529)]) as claude,
        ProviderServer(GEMINI, GEMINI.says(said)) as gemini,
    ):
        settings = settings_of(
            tmp_path,
            llm_base_url=usual.url,
            llm_roles={
                "skill": {"base_url": claude.url, "protocol": "anthropic", "model": "claude"},
                "phrase": {"effort": "low"},
            },
            llm_escalate={"base_url": gemini.url, "protocol": "gemini", "model": "gem"},
        )
        async with chains_of(settings) as chains:
            # What has no model of its own is asked of the usual one, with its connection.
            assert chains.of("router") is chains.usual
            await asked(chains.of("phrase"))
            assert usual.chats[-1]["reasoning_effort"] == "low"
            await asked(chains.of("skill"))
            assert claude.chats[-1]["model"] == "claude"
            assert chains.of("plan") is not None
            assert chains.of("plan") is chains.of("skill")
            await asked(chains.stronger)
            assert len(gemini.chats) == 1
            # Overloaded: the usual one answers.
            assert (await asked(chains.of("skill"))).model == "small"
            # A skill's own wish, at the address of skills.
            (wish, *_) = (chains.of("skill", "opus") or FallbackChain([])).links
            assert wish.model.endpoint == f"opus at {claude.url}"
            assert len(chains.states) == 4


async def test_without_roles_everything_is_the_usual_models(tmp_path: Path) -> None:
    async with chains_of(settings_of(tmp_path, llm_base_url="http://127.0.0.1:9/v1")) as chains:
        roles = [chains.of(role) for role in ("router", "skill", "plan", "phrase")]
        assert roles == [chains.usual] * 4
        assert chains.stronger is None
    async with chains_of(Settings(data=tmp_path)) as chains:
        assert chains.usual is chains.of("skill") is chains.stronger is None


def priced(tmp_path: Path, **more: Any) -> Settings:
    """A house that counts money, where two models have a price."""
    prices = tmp_path / "prices.yaml"
    models = "{small: {input: 1, output: 1}, cheap: {input: 0, output: 0}}"
    prices.write_text(f"currency: USD\nproviders: {{here: {{models: {models}}}}}\n")
    budgets = {"day": {"cost": "1.00"}}
    where = {"llm_base_url": "http://127.0.0.1:9/v1", "llm_prices": prices}
    return settings_of(tmp_path, llm_budgets=budgets, **where, **more)


async def test_a_tenants_model_that_came_later_without_a_price_leads_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tenants.yaml"
    file.write_text("acme: {}\n")
    tenants = LiveTenants(lambda: Tenants.load(file, None))
    async with chains_of(priced(tmp_path), tenants) as chains:
        assert chains.of("router", tenant="acme") is chains.usual
        file.write_text("acme: {models: {router: {model: nobody-knows}}}\n")
        assert tenants.refresh()
        chains.forget()
        assert chains.of("router", tenant="acme") is chains.usual
    assert "nobody-knows" in caplog.text


async def test_the_cheapest_model_is_asked_where_least_is_left(tmp_path: Path) -> None:
    thrift = [{"below": 0.1, "model": "cheap"}, {"below": 0.5, "model": "small"}]
    async with chains_of(priced(tmp_path, llm_thrift=thrift)) as chains:
        named = [(chains.thrifty(left) or FallbackChain([])).name for left in (1, 0.4, 0.05)]
        assert named == ["", "small", "cheap"]
    with pytest.raises(MisconfiguredError, match="'dear' has no price"):
        async with chains_of(priced(tmp_path, llm_thrift=[{"below": 0.1, "model": "dear"}])):
            pass


@each_row(
    ("thrift", "said"),
    [
        ([{"below": 0.3, "model": "a"}, {"below": 0.3, "model": "b"}], "same share"),
        ([{"below": 1.5, "model": "a"}], "less than 1"),
        ([{"below": 0.3}], "Field required"),
    ],
)
def test_a_cheaper_model_needs_a_share_and_a_name(
    tmp_path: Path, thrift: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        settings_of(tmp_path, llm_thrift=thrift)
