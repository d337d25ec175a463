"""The sample people system: balances, leave, claims, trips and stock, in tables of its own."""
