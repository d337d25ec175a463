"""Functions over foreign input, each run in a child process that has bounds and can be killed."""
