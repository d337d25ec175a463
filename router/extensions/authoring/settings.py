"""How much may be spent on trying drafts of flows."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from router.settings.settings import Section


class TrialSettings(Section):
    """What an API process holds of processes in which drafts are tried."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_TRIAL_")

    processes: Annotated[int, Field(ge=0, le=32)] = 2
    """How many authors have a process in which their drafts are tried, of 400 MB each; 0: nobody.
    Where there are as many, the next one is given the one that was idle longest; while none is
    idle, the stories of what is submitted run in one process more, one submission at a time."""
    idle_seconds: Annotated[float, Field(ge=1, le=86_400)] = 600.0
    """How long such a process waits for the next step before it ends."""
    seconds: Annotated[float, Field(ge=1, le=600)] = 120.0
    """How long one request may take: a step, or all stories of a draft."""
