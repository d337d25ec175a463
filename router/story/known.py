"""What stories may name."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from router.flow.model import FlowDefinition


@dataclass(frozen=True)
class Known:
    """Who and what there is."""

    users: Collection[str]
    tools: Collection[str]
    flows: Mapping[str, FlowDefinition]
