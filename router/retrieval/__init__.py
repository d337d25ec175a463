"""The few capabilities that a message may mean, out of thousands, without a model's call."""
