"""Steps of runs that need slot types or kinds of states of extensions.

What they lead to is recorded in the history of the run. A replay then doesn't need the extension,
which a deployment may have removed.
"""

from temporalio import activity

from router.contracts import activities
from router.flow.engine import machine


@activity.defn(name=activities.STEP_FLOW.name)
async def step_flow(given: activities.StepFlow) -> activities.FlowStepped:
    """Make one step; the run is held if the process lacks what the step needs."""
    run, effects = machine.step(given.definition, given.run, given.event, given.now)
    return activities.FlowStepped(run=run, effects=effects)
