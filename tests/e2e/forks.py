"""Processes that tests start and kill: forks of one server, which has imported what they run.

A worker takes seconds to import, and a fork of a process that has takes none. There is one such
server for a whole test process, so that what it imports is said in one place.
"""

import multiprocessing

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "tests.e2e.mortal_worker",
        "tests.e2e.planning_worker",
        "tests.e2e.storm.worker",
    ]
)
