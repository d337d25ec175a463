"""Units and currencies, for the tool that converts them."""
