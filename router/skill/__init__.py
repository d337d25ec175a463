"""Skill folders in the Agent Skills format, and the rules of a sub-agent's loop."""
