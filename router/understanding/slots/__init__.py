"""What a message says about slots."""
