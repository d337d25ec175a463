#!/bin/sh
# Waits for the server, then creates the namespace and registers the search attributes that
# the workflows set. Safe to run again: what is there already is left as it is.
set -eu

: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}"

KEYWORDS="RouteKind RouteTarget RouteBy FlowName FlowState FlowStatus Requester ConversationId Tenant"
KEYWORD_LISTS="Assignee"

wait_until() {
    attempts=60
    until "$@" >/dev/null 2>&1; do
        attempts=$((attempts - 1))
        if [ "$attempts" -eq 0 ]; then
            echo "gave up on: $*" >&2
            exit 1
        fi
        sleep 2
    done
}

known() {
    temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE" |
        awk -v name="$1" '$1 == name { found = 1 } END { exit !found }'
}

register() {
    known "$1" || temporal operator search-attribute create \
        --namespace "$TEMPORAL_NAMESPACE" --name "$1" --type "$2"
}

wait_until temporal operator cluster health
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 7d

# A new namespace reaches the frontend's cache some seconds after it was created.
wait_until temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE"
for name in $KEYWORDS; do register "$name" Keyword; done
for name in $KEYWORD_LISTS; do register "$name" KeywordList; done
echo "namespace $TEMPORAL_NAMESPACE is ready"
