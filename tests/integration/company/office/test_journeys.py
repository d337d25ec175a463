"""The sample office's tickets and hotels: what a change costs, and what can't be changed."""

from httpx import AsyncClient

from tests.table import each_row

FLIGHT = {"booking": "TK880112", "change": "cancel"}


@each_row(
    ("booking", "change", "cost", "refund"),
    [
        ("TK200318", "move", "0.00", "0.00"),
        ("tk-200318", "cancel", "27.65", "525.35"),
        ("TK880112", "cancel", "372.00", "868.00"),
        ("TK880540", "move", "1550.00", "0.00"),
        ("TK880901", "cancel", "399.00", "0.00"),
        ("HT500201", "extend", "680.00", "0.00"),
        ("HT500201", "cancel", "0.00", "680.00"),
    ],
)
async def test_a_change_costs_its_share_of_the_fare(
    client: AsyncClient, booking: str, change: str, cost: str, refund: str
) -> None:
    wish = {"booking": booking, "change": change}
    quote = (await client.post("/journeys/quotes", json=wish)).json()
    assert quote["possible"]
    assert (quote["cost"]["amount"], quote["refund"]["amount"]) == (cost, refund)


@each_row(
    ("booking", "change", "found"),
    [("TK1", "move", False), ("TK880901", "move", True), ("TK880112", "extend", True)],
)
async def test_what_cant_be_changed_so_is_said_to_be_none_and_refused(
    client: AsyncClient, booking: str, change: str, found: bool
) -> None:
    wish = {"booking": booking, "change": change}
    quote = (await client.post("/journeys/quotes", json=wish)).json()
    assert (quote["found"], quote["possible"]) == (found, False)
    answer = await client.post("/journeys/changes", json=wish, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.text) == (422, f"{booking} can't be changed so")


async def test_what_was_cancelled_is_not_changed_again_until_it_is_restored(
    client: AsyncClient,
) -> None:
    headers = {"Idempotency-Key": "k"}
    first = (await client.post("/journeys/changes", json=FLIGHT, headers=headers)).json()
    assert (await client.post("/journeys/changes", json=FLIGHT, headers=headers)).json() == first
    moved = {"booking": "tk880112", "change": "move"}
    quote = (await client.post("/journeys/quotes", json=moved)).json()
    assert (quote["possible"], quote["why"]["en"]) == (False, "it has been cancelled already")
    await client.post("/journeys/withdrawals", json={"undoes": "k"})
    assert (await client.post("/journeys/quotes", json=moved)).json()["possible"]
