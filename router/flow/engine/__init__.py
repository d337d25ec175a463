"""The flow machine: a pure function from a run and an event to the run after it."""
