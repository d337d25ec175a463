"""Which flows a message starts."""
