"""The prompts of the core, of extensions and of the settings' folder."""

from router.domain.errors import MisconfiguredError
from router.extension import Extension, ExtensionConflict, PromptJob
from router.routing.prompts import JOBS, Prompts, ShippedPrompts
from router.runtime.extensions import load_configured
from router.settings import Settings


class PromptJobTable:
    """The jobs of prompts that extensions add."""

    def __init__(self) -> None:
        self.jobs: list[PromptJob] = []

    def add_extension(self, extension: Extension) -> None:
        """Add the jobs of an extension, all of them or none.

        Raises:
            ExtensionConflict: A job has the name of another one, or no prompts that can be used.
        """
        added = [*extension.prompt_jobs()]
        taken = {*JOBS, *(job.name for job in self.jobs)}
        for job in added:
            if job.name in taken:
                raise ExtensionConflict(
                    f"there is a job of prompts {job.name!r} already; give its own another name"
                )
            taken.add(job.name)
        try:
            ShippedPrompts.load(added)
        except MisconfiguredError as error:
            raise ExtensionConflict(str(error)) from error
        self.jobs += added


def prompt_jobs(settings: Settings) -> list[PromptJob]:
    """Return the jobs of prompts that the configured extensions add."""
    table = PromptJobTable()
    load_configured(settings).collect(table.add_extension)
    return table.jobs


def load_shipped_prompts(settings: Settings) -> ShippedPrompts:
    """Load the prompts of the core and of the configured extensions."""
    return ShippedPrompts.load(prompt_jobs(settings))


def load_prompts(settings: Settings) -> Prompts:
    """Load all prompts, with the shares that the settings give them.

    Raises:
        MisconfiguredError: The folder or the shares of the settings can't be used.
    """
    shipped = load_shipped_prompts(settings)
    return Prompts.load(settings.prompts, settings.prompt_shares, shipped)
