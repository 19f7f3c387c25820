"""Runs the partitions of a split for several targets at the same time, a thread for each device. All devices are this CPU."""

import statistics
import threading
import time
from collections import defaultdict

from comparing import compare
from reports import Row, time_text

RUNS = 5
WANTED = {"partitions": [{"name": str, "target": str, "after": [str]}], "targets": [{"name": str}]}


def run_parts(parts, calls, values, threads):
    """Seconds that the partitions take, and what they make; each device has a thread where `threads` is set. `calls`: by the
    name of a partition a function of all values, by name, that gives its outputs."""
    store, done = dict(values), {part["name"]: threading.Event() for part in parts}
    faults = []

    def run_some(some):
        try:
            for part in some:
                for before in part["after"]:
                    done[before].wait()
                if not faults and part["name"] in calls:
                    store.update(calls[part["name"]](store))
                done[part["name"]].set()
        except Exception as error:  # whatever a runtime raises; the others must not wait for ever
            faults.append(error)
            for event in done.values():
                event.set()

    begin = time.perf_counter()
    if threads:
        by_device = defaultdict(list)
        for part in parts:
            by_device[part["target"]].append(part)
        running = [threading.Thread(target=run_some, args=(some,)) for some in by_device.values()]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    else:
        run_some(parts)
    took = time.perf_counter() - begin
    if faults:
        raise faults[0]
    return took, store


def overlap_row(parts, calls, values, wanted, content_of, facts):
    """The row about runs with a thread a device. The outputs of the first must be those `wanted`: contents by name. `calls`: new
    ones, whose state nothing has changed; `content_of`: of a value. Adds both times to `facts`."""
    row = Row("a thread a device", ran="yes")
    _, store = run_parts(parts, calls, values, True)  # the first run also allocates
    compare(row, wanted, {name: content_of(store[name]) for name in wanted})
    alone = statistics.median(run_parts(parts, calls, values, False)[0] for _ in range(RUNS))
    at_once = [run_parts(parts, calls, values, True) for _ in range(RUNS)]
    facts.append(("one after the other", f"{time_text(alone)}, the median of {RUNS} runs on this CPU"))
    facts.append(("a thread a device", f"{time_text(statistics.median(took for took, _ in at_once))}, likewise"))
    return row
