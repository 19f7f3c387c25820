"""The partitions of a split, called one after the other or at the same time, whatever runtime has them."""

import statistics
import threading
import time
from collections import defaultdict
from functools import partial

from comparing import compare, type_text, write_outputs
from guard import counted, read_manifest
from reports import DIFFERS, Row, time_text

RUNS = 5
TARGETS = {"partitions": [{"name": str, "target": str, "after": [str]}], "targets": [{"name": str}]}


class CallChain:
    """The partitions of a .tflite or torch split, called in order, with the state that the caller keeps. `chain`: of
    guard.read_chain(). Runtimes fill in call(), and the first state."""

    def __init__(self, chain):
        self.chain, self.state = chain, {}
        self.seconds = []  # of each call, by partition

    def call(self, i, values):
        """What partition number i of the order makes of the values, by name."""
        raise NotImplementedError

    def given(self, inputs):
        """The values before the first partition, by name."""
        return {**self.state, **{name: value for name, value in zip(self.chain["inputs"], inputs) if name is not None}}

    def __call__(self, inputs):
        values = self.given(inputs)
        self.seconds.append([])
        for i in range(len(self.chain["order"])):
            begin = time.perf_counter()
            values.update(self.call(i, values))
            self.seconds[-1].append(time.perf_counter() - begin)
        self.write_back(values)
        return [self.result(output, values) for output in self.chain["outputs"]]

    def write_back(self, values):
        names = {held["target"]: held["name"] for held in self.chain["state"]}
        for one in self.chain["mutations"]:
            if one["target"] in names:
                self.state[names[one["target"]]] = values[one["value"]]

    def result(self, output, values):
        return values[output]

    def rows(self):
        """A row for each partition, with the median of its times."""
        return [Row(part["name"], ran="yes", time=time_text(statistics.median(seconds)))
                for part, seconds in zip(self.chain["order"], zip(*self.seconds))]  # fmt: skip

    def steps(self):
        return {part["name"]: partial(self.call, i) for i, part in enumerate(self.chain["order"])}


def named(names, values, content_of):
    """Contents by name; a name that is there twice gets a number."""
    found = {}
    for i, (name, value) in enumerate(zip(names, values)):
        found[f"{name}#{i}" if name in found else name] = content_of(value)
    return found


def compare_calls(row, names, wanted, made, content_of, tolerance):
    """Fills in the row: the values of several calls, the first that differs last."""
    row.ran = "yes"
    for number, (want, have) in enumerate(zip(wanted, made), 1):
        if len(want) != len(have):
            row.fault(DIFFERS, f"call {number}: makes {counted(len(have), 'output')}, and must make {len(want)}")
            return
        compare(row, named(names, want, content_of), named(names, have, content_of), tolerance)
        if row.faults:
            row.faults = [(kind, f"call {number}: {text}") for kind, text in row.faults]
            return


def tell_outputs(report, options, contents):
    """Adds the outputs of a run to its report, contents by name, and writes --outputs."""
    if options.outputs:
        write_outputs(options, contents)
    report.facts += [(f"output {name}", type_text(content)) for name, content in contents.items()]


def parts_of_targets(folder):
    """The partitions of a split for several targets, as run_parts() takes them."""
    return read_manifest(folder, TARGETS)["partitions"]


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
