"""Story tests: dialogues that a flow file has to lead."""
