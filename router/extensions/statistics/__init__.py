"""Statistics for operators and authors: what went on, how flows go, and what models cost."""

from collections.abc import Mapping

from router.extension import Command, Extension, Routes

_COMMANDS = "router.extensions.statistics.commands"


class StatisticsExtension(Extension):
    """Adds `traffic`, `spending`, and the routes that they ask."""

    name = "statistics"

    def routes(self) -> Routes:
        from router.extensions.statistics.routes import flows, spending, traffic

        return Routes([flows.router, spending.router, traffic.router])

    def commands(self) -> Mapping[str, Command]:
        return {
            "traffic": Command(
                f"{_COMMANDS}.traffic:traffic",
                "Sum up turns, runs, approvals and what models cost; of the last seven days by "
                "default.",
            ),
            "spending": Command(
                f"{_COMMANDS}.spending:spending",
                "Sum up what models cost, in tokens and in money; of the last seven days by "
                "default.",
            ),
        }
