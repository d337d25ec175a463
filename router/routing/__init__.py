"""What to do where no rule is certain: by one call of a model, or without any."""
