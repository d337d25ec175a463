from hypothesis import HealthCheck, settings

# Two busy cores, and tables of Unicode that a fresh clone builds at its first draw: how long a
# draw takes says nothing here. Whoever promises a time measures it in a test of its own.
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("house")
