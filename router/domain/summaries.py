"""Summaries and details that Temporal's UI shows, cut to the sizes that Temporal accepts."""

MAX_SUMMARY_BYTES = 240
"""Bytes of a summary, in UTF-8. Temporal documents 400 with the payload's metadata, and encryption
adds to them."""
MAX_DETAILS_BYTES = 16_000
"""Bytes of the details that Temporal's UI shows, in UTF-8. Temporal documents 20,000."""

ELLIPSIS = "…"


def cut_text(text: str, max_bytes: int) -> str:
    """Return the text, or its beginning with an ellipsis if it has more bytes in UTF-8.

    >>> cut_text("annual leave", 9)
    'annual…'
    """
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text
    kept = encoded[: max_bytes - len(ELLIPSIS.encode())]
    return kept.decode(errors="ignore") + ELLIPSIS


def cut_summary(summary: str | None) -> str | None:
    """Return a summary of an activity, a timer or a workflow that Temporal accepts."""
    return None if summary is None else cut_text(summary, MAX_SUMMARY_BYTES)
