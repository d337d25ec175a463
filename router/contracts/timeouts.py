"""How long Temporal waits for workers, wherever a workflow is started."""

from datetime import timedelta

TASK_TIMEOUT = timedelta(seconds=3)
"""For a workflow task: then another worker takes over what a dead one held. With Temporal's own
ten seconds a worker's death held up the turns under way by eleven."""
