"""How well messages are routed: labelled lines, what they came to, and the figures. Pure."""
