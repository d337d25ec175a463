"""What workflows can be found by in the Temporal UI.

The names are those that `workflows` and `activities.tell_flow` set; a server refuses an
attribute that nobody registered.
"""

SEARCH_ATTRIBUTES = {
    "RouteKind": "Keyword",
    "RouteTarget": "Keyword",
    "RouteBy": "Keyword",
    "FlowName": "Keyword",
    "FlowState": "Keyword",
    "FlowStatus": "Keyword",
    "Requester": "Keyword",
    "ConversationId": "Keyword",
    "Tenant": "Keyword",
    "Assignee": "KeywordList",
}
"""Each with its type, as Temporal's command line names it."""
