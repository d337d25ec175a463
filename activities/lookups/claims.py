"""What flow files ask about claims of expenses."""

from typing import Annotated

from pydantic import JsonValue

from activities.look_up import lookup, text
from activities.people.people import PeopleSystem, human_resources
from activities.people.records import one_spelling
from router.tool.context import Depends


@lookup("true where a claim that still stands has this invoice number")
async def claimed(
    tenant: str, invoice: JsonValue, *, people: Annotated[PeopleSystem, Depends(human_resources)]
) -> JsonValue:
    """True where a claim that still stands has this invoice number."""
    return await people.claims.claimed(tenant, one_spelling(text(invoice, "invoice")))
