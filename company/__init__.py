"""The sample company: tools, hooks, lookups and what they keep. A project like any other."""
