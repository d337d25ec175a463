"""`intent-router dev`: the whole house in one terminal. `house` puts the pieces together."""
