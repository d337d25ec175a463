"""The parts that a run is composed of: form, question, approvals, work and recovery."""
