"""The public API for a company's own code: tools, hooks, lookups and types of documents.

Extensions also find here what their slot types, kinds of states and policies are made of.

    from typing import Annotated

    from router.sdk import Depends, ToolContext, tool

The modules `router.sdk`, `router.sdk.tool_sources`, `router.sdk.model_protocols`, `router.testing`,
`router.extension` and `router.client` are covered by semantic versioning. Everything else in
`router`, `workflows` and `activities` is private and may change in any release.
`docs/public-api.md` shows each name at work.
"""

from router.documents.document_type import DocumentType, document_type
from router.documents.page import Material
from router.domain.commands import CallTool, HandOff, ReplyText, RunSkill, StartFlow
from router.domain.documents import DocumentProblem, ReadField
from router.domain.errors import (
    AnswersNeeded,
    ArgumentsToolError,
    DefinitionError,
    Elicitation,
    PermanentToolError,
    TransientToolError,
    UnknownOutcome,
)
from router.domain.hooks import (
    Advice,
    ApprovalEvent,
    DecisionEvent,
    ErrorEvent,
    ToolEvent,
    ToolResultEvent,
    TurnEvent,
    VerdictEvent,
    Veto,
)
from router.domain.locale import Localised
from router.domain.messages import Route
from router.domain.principals import Directory, Principal
from router.entities.utterance import Utterance
from router.flow.definition import Next, State
from router.flow.engine.context import StepContext
from router.flow.slot_types.slot import Slot, SlotType, Unfit
from router.sdk.lookups import lookup
from router.tool.context import Depends, Provider, ToolContext, provider
from router.tool.hook import hook
from router.tool.labels import ChineseLabel
from router.tool.results import FileId, ToolFile
from router.tool.tool import tool
from router.understanding.heard import ParsedMessage

people_directory: Provider[Directory] = Provider("directory")
"""The people of the deployment: `Annotated[Directory, Depends(people_directory)]`."""

__all__ = [
    "Advice",
    "AnswersNeeded",
    "ApprovalEvent",
    "ArgumentsToolError",
    "CallTool",
    "ChineseLabel",
    "DecisionEvent",
    "DefinitionError",
    "Depends",
    "Directory",
    "DocumentProblem",
    "DocumentType",
    "Elicitation",
    "ErrorEvent",
    "FileId",
    "HandOff",
    "Localised",
    "Material",
    "Next",
    "ParsedMessage",
    "PermanentToolError",
    "Principal",
    "ReadField",
    "ReplyText",
    "Route",
    "RunSkill",
    "Slot",
    "SlotType",
    "StartFlow",
    "State",
    "StepContext",
    "ToolContext",
    "ToolEvent",
    "ToolFile",
    "ToolResultEvent",
    "TransientToolError",
    "TurnEvent",
    "Unfit",
    "UnknownOutcome",
    "Utterance",
    "VerdictEvent",
    "Veto",
    "document_type",
    "hook",
    "lookup",
    "people_directory",
    "provider",
    "tool",
]
