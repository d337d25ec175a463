"""The front desk for enterprise chat: rules first, a model second, a person last."""
