"""Python whose clocks are wrong, before anything else of a program is loaded."""

PROGRAM = """
import datetime, runpy, time
DAYS = {days}
real, seconds = datetime.datetime, time.time
class Clock(type):
    def __instancecheck__(cls, it): return isinstance(it, real)
    def __subclasscheck__(cls, it): return issubclass(it, real)
class Moved(real, metaclass=Clock):
    @classmethod
    def now(cls, tz=None): return real.now(tz) + datetime.timedelta(days=DAYS)
datetime.datetime, time.time = Moved, lambda: seconds() + DAYS * 86400
runpy.run_module("{module}", run_name="__main__", alter_sys=True)
"""


def moved(days: float, module: str) -> tuple[str, str]:
    """What Python is given to run this module so many days ahead, or behind."""
    return "-c", PROGRAM.format(days=days, module=module)
