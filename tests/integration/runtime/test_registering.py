"""A namespace that isn't there is said at once, by name and with what to do."""

import pytest
from temporalio.client import Client

from router.domain.errors import MisconfiguredError
from router.runtime.temporal import check_namespace
from tests.temporal import dev_server


async def test_a_namespace_that_is_not_there_is_named_with_the_command_that_makes_it() -> None:
    async with await dev_server() as server:
        await check_namespace(server.client)
        address = server.client.service_client.config.target_host
        elsewhere = await Client.connect(address, namespace="defualt")
        with pytest.raises(MisconfiguredError) as refused:
            await check_namespace(elsewhere)
    assert str(refused.value) == (
        "ROUTER_TEMPORAL_NAMESPACE=defualt isn't there: correct it, or run "
        "`temporal operator namespace create --namespace defualt`"
    )
