"""The database: events, conversations, runs, files, budgets, and what was done once."""
