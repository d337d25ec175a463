"""The scripted server as a program, asked by the plain client of its API."""

import asyncio
import doctest
import importlib
import pkgutil
import subprocess
import sys

import openai
import pytest

import router.llm
from tests.fakes.model_server import ModelServer, drips, says
from tests.table import each_row

MODULES = [module.name for module in pkgutil.iter_modules(router.llm.__path__, "router.llm.")]


def client_of(server: ModelServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0)


@pytest.mark.slow
@each_row("module", MODULES)
def test_the_examples_in_docstrings_hold(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.slow
def test_the_scripted_server_runs_as_a_program_and_echoes() -> None:
    command = [sys.executable, "-m", "tests.fakes.model_server", "--refuse", "tools"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        client = openai.OpenAI(base_url=url, api_key="x", max_retries=0)
        answer = client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "回声"}]
        )
        process.terminate()
    assert answer.choices[0].message.content == "回声"


async def test_the_official_client_reads_what_the_scripted_server_streams() -> None:
    async with ModelServer([says("分段的回答")]) as server, client_of(server) as client:
        assert [model.id async for model in client.models.list()] == ["scripted"]
        stream = await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "?"}], stream=True
        )
        pieces = [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]
    assert "".join(piece or "" for piece in pieces) == "分段的回答"


@pytest.mark.slow
async def test_a_connection_serves_on_after_an_answer_that_took_its_time() -> None:
    broken: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: broken.append(context["message"]))
    try:
        async with ModelServer(drips(says("慢慢说"), 0.001)) as server, client_of(server) as client:
            for _ in range(3):
                answer = await client.chat.completions.create(model="scripted", messages=[])
                assert answer.choices[0].message.content == "慢慢说"
    finally:
        loop.set_exception_handler(None)
    assert not broken


async def test_an_exhausted_script_says_so() -> None:
    async with ModelServer() as server, client_of(server) as client:
        with pytest.raises(openai.APIStatusError, match="no behaviour left"):
            await client.chat.completions.create(model="scripted", messages=[])
