"""What workflows have done for them: one verb a module, each an activity."""
