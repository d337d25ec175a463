"""Values, rules, errors and ports: pure, and known to every other room."""
