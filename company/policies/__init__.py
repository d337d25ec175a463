"""The sample policies that people ask about, and the limits that flows go by."""
