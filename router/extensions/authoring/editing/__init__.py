"""Edits in the text of a flow file, whose comments, order and quotes stay."""
