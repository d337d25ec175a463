"""What operators see from outside: spans, metrics and logs. Nobody's words are in any of them."""
