"""Programs that nobody here wrote, run where they can do no harm."""
