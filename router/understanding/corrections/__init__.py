"""Putting right what a flow already knows."""
