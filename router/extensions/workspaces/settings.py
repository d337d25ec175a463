"""The settings of workspaces."""

from typing import Annotated

from pydantic import Field

from router.settings import Section


class WorkspacesSettings(Section):
    """Whether people have files of their own, and how much room those take."""

    workspace: bool = False
    """Whether each person has files of their own, which tools save, read, edit and search."""
    workspace_files: Annotated[int, Field(ge=1, le=10_000)] = 200
    """How many files one person may have there."""
    workspace_bytes: Annotated[int, Field(ge=1024, le=1024**3)] = 10 * 1024 * 1024
    """How many bytes they may have all together."""
    run_commands: bool = False
    """Whether models may run commands of their own over a person's files, in the sandbox that
    `ROUTER_SKILL_SANDBOX` names."""
