"""Cases of the prompt that sketches a flow of a paragraph."""

from typing import Annotated

from pydantic import Field, JsonValue

from router.domain.principals import DEFAULT_TENANT
from router.extensions.importers import paragraph as paragraphs
from router.extensions.importers.beginning import BeginningContext, written
from router.extensions.importers.paragraph import LONGEST_PARAGRAPH, UnusableSketch
from router.routing.prompt_cases import UNUSABLE, CaseBench, CaseInput, Observed


class SketchCase(CaseInput):
    """An author's paragraph, and the roles that somebody holds.

    The route is `sketched`, `no_process` or `unusable`; the text is the draft's, and the value has
    the `types` of its slots and the `approvers` of its approvals, each in their order.
    """

    paragraph: Annotated[str, Field(min_length=1, max_length=LONGEST_PARAGRAPH)]
    roles: list[str] = ["employee", "finance", "hr", "it", "legal"]

    async def observed(self, bench: CaseBench) -> Observed:
        """Return the draft that the first answer gives."""
        around = BeginningContext(roles=frozenset(self.roles))
        prompt = bench.prompts.of("sketch", "", bench.locale, DEFAULT_TENANT)
        asked = paragraphs.question(self.paragraph, around.roles, prompt.text, prompt.fingerprint)
        answer = await bench.ask("skill", asked, self.user, self.moment)
        try:
            sketch = paragraphs.sketch_of_answer(answer, around.roles)
        except UnusableSketch as unusable:
            route = UNUSABLE if unusable.why == "unfit" else unusable.why
            return Observed(route, str(unusable))
        found: dict[str, JsonValue] = {
            "types": [slot["type"] for slot in sketch.slots.values()],
            "approvers": [
                state["approve"]["by"] for state in sketch.states.values() if "approve" in state
            ],
        }
        return Observed("sketched", written(sketch, around).text, found)
