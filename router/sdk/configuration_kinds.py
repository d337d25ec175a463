"""The public API for kinds of tenants' documents, which `Extension.configuration_kinds` adds.

    from router.sdk.configuration_kinds import ConfigurationKind, DeclaredTools

A document declares tools, or systems that list tools of their own.
"""

from router.domain.errors import DefinitionError, Problem
from router.outbound.guard import OutboundGuard
from router.tool.configuration_kind import (
    ConfigurationKind,
    DeclaredTools,
    TenantAccess,
    TenantSystem,
)
from router.tool.made_tool import make_tool
from router.tool.tool import Tool

__all__ = [
    "ConfigurationKind",
    "DeclaredTools",
    "DefinitionError",
    "OutboundGuard",
    "Problem",
    "TenantAccess",
    "TenantSystem",
    "Tool",
    "make_tool",
]
