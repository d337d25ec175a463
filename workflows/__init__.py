"""The durable parts: a conversation, a flow's run, a sub-agent."""
