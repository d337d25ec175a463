"""What workflows can be found by in the Temporal UI.

A server refuses an attribute that nobody registered: `dev` does so, and `worker` where it may.
Values are opaque ids and states, never anything about a person: they are stored in the clear.
"""

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from router.domain.principals import Principal

ROUTE_KIND = SearchAttributeKey.for_keyword("RouteKind")
ROUTE_TARGET = SearchAttributeKey.for_keyword("RouteTarget")
ROUTE_BY = SearchAttributeKey.for_keyword("RouteBy")
FLOW_NAME = SearchAttributeKey.for_keyword("FlowName")
FLOW_STATE = SearchAttributeKey.for_keyword("FlowState")
FLOW_STATUS = SearchAttributeKey.for_keyword("FlowStatus")
REQUESTER = SearchAttributeKey.for_keyword("Requester")
CONVERSATION_ID = SearchAttributeKey.for_keyword("ConversationId")
TENANT = SearchAttributeKey.for_keyword("Tenant")
ASSIGNEE = SearchAttributeKey.for_keyword_list("Assignee")

SEARCH_ATTRIBUTES = {
    **{
        key.name: "Keyword"
        for key in (
            *(ROUTE_KIND, ROUTE_TARGET, ROUTE_BY, FLOW_NAME, FLOW_STATE, FLOW_STATUS),
            *(REQUESTER, CONVERSATION_ID, TENANT),
        )
    },
    ASSIGNEE.name: "KeywordList",
}
"""Each with its type, as Temporal's command line names it. SQL visibility allows ten a type."""


def of_run(flow: str, requester: Principal, conversation: str | None) -> TypedSearchAttributes:
    """What a run of a flow is found by from its first moment on."""
    values = {
        FLOW_NAME: flow,
        REQUESTER: requester.id,
        CONVERSATION_ID: conversation or "",
        TENANT: requester.tenant,
    }
    return TypedSearchAttributes([SearchAttributePair(key, value) for key, value in values.items()])
