"""What `doctor` checks: `configuration` is here on this machine, `services` run elsewhere."""
