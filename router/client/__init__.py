"""A typed Python client of the REST API, in step and asynchronous.

    from router.client import Client

    with Client("http://127.0.0.1:8000", token="alice") as desk:
        conversation = desk.begin()
        turn = desk.send(conversation.id, "我要请年假，下周一到周三")
        print(turn.replies[0].text)

What was refused raises `Refused`, and what nobody answered `Unavailable`, after it was asked again
as often as `Retries` says. Everything is sent under a key of its own: however often it is asked
again, it is done once.
"""

from router.client.clients import AsyncClient, Client
from router.client.exchange import Refused, Retries
from router.domain.errors import Unavailable

__all__ = ["AsyncClient", "Client", "Refused", "Retries", "Unavailable"]
