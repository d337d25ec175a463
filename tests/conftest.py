import os

from hypothesis import HealthCheck, settings

# Programs that tests start keep their bytecode, as they do for everybody else: some four hundred
# modules compiled anew would be half of a start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Two busy cores, and tables of Unicode that a fresh clone builds at its first draw: how long a
# draw takes says nothing here. Whoever promises a time measures it in a test of its own.
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("house")
