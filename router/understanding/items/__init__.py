"""Several things in one sentence, and putting them right."""
