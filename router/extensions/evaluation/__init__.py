"""How well messages are routed, prompts answer and skills work; and what could be improved.

Labelled lines, cases and tasks are run, and nothing is executed for anybody.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from router.extension import Command, Extension, PromptJob, Routes

_FOLDER = Path(__file__).parent
_COMMANDS = "router.extensions.evaluation.commands"


class EvaluationExtension(Extension):
    """Adds `eval`, `learn`, `examples`, `prompts eval`, `skills eval`, and `GET /v1/lessons`."""

    name = "evaluation"

    def routes(self) -> Routes:
        from router.extensions.evaluation.routes import router

        return Routes([router])

    def prompt_jobs(self) -> Sequence[PromptJob]:
        return [
            PromptJob(name, _FOLDER / "prompts", _FOLDER / "cases", f"{_COMMANDS}.{case_input}")
            for name, case_input in (
                ("suggest", "prompt_jobs:SuggestGiven"),
                ("judge", "prompt_jobs:JudgeGiven"),
            )
        ]

    def commands(self) -> Mapping[str, Command]:
        return {
            "eval": Command(
                f"{_COMMANDS}.routing:evaluate",
                "Route every line of FILE, execute nothing, and say how much of it was right.",
            ),
            "learn": Command(
                f"{_COMMANDS}.learn:learn",
                "Say what people's own choices teach: examples to add, patterns that misfire, and "
                "more.",
            ),
            "examples": Command(
                f"{_COMMANDS}.examples:examples",
                "List how many examples everything has in each language, those without first.",
            ),
            "prompts eval": Command(
                f"{_COMMANDS}.prompts_eval:evaluate",
                "Have a model do the cases of JOB, and say how many of its answers hold.",
            ),
            "skills eval": Command(
                f"{_COMMANDS}.skills_eval:evaluate",
                "Have skills work on tasks with the model that is configured, and say what holds.",
            ),
        }
