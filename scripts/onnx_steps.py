"""Steps of an ONNX model with state: `cleave run DIR --steps N` and `cleave verify MODEL DIR --steps N`.

Each of the models that are compared keeps its own state, as ort_state.py says; all are given the same tokens.
"""

import statistics
import time
from collections import Counter
from types import SimpleNamespace

import child
from chains import tell_outputs
from comparing import EXACT, chosen, compare
from device_replay import tensor_bytes
from guard import WrongUsage, counted, first_line
from onnx_chain import (
    HELD,
    Verification,
    check_model,
    given_inputs,
    outputs_of_partitions,
    provider_of,
    read_split,
    settings_of,
    target_of,
    tolerance_of_parts,
)
from ort_inputs import of_split, open_original
from ort_state import Steps, first_step
from ort_values import UNOPTIMISED, open_whole
from ort_values import run as run_session
from reports import DIFFERS, NOT_RUN, Report, Row, size_text, time_text


class Loop:
    """A model that is called step by step, with its own state. `call`: of all inputs by name, gives the outputs; `state`: that of
    another Loop, which both go on with; `missing`: outputs that need not be there."""

    def __init__(self, row, call, steps, state=None, tolerance=EXACT, missing=frozenset()):
        self.row, self.call, self.steps, self.tolerance, self.missing = row, call, steps, tolerance, missing
        self.state = steps.first() if state is None else state
        self.held: Loop | None = None  # what it may make, too: the root where values of float16 are held between calls
        self.seconds = []

    def step(self, feeds):
        """Makes a step: the contents of its outputs."""
        pairs = self.steps.pairs
        given = {pair.input: pair.given_to(self.state[pair.input], self.steps.seen) for pair in pairs}
        child.tell(f"running {self.row.what}")
        begin = time.perf_counter()
        made = self.call({**feeds, **given})
        self.seconds.append(time.perf_counter() - begin)
        self.state.update({pair.input: pair.after(given[pair.input], made.get(pair.output)) for pair in pairs})
        return {name: value.content() for name, value in made.items()}

    def compare(self, number, wanted, feeds):
        """Makes the step and fills in the row. Returns what the step made, None where nothing is to follow."""
        try:
            made = self.step(feeds)
        except Exception as error:
            self.row.ran = "no"
            self.row.fault(NOT_RUN, f"step {number}: {first_line(error)}")
            return None
        one = Row("")
        for name in wanted:
            if name not in made and name not in self.missing:
                one.fault(DIFFERS, f'output "{name}" is missing')
        compare(one, wanted, made, self.tolerance)
        held = self.held.step(feeds) if self.held else None
        if one.faults and held is not None:
            other = Row("")
            compare(other, held, made)
            if not other.faults:
                one, one.how = other, HELD
        self.row.ran, self.row.equal, self.row.compared, self.row.how = "yes", one.equal, one.compared, one.how or self.row.how
        self.row.untested, self.row.largest = one.untested, one.largest
        self.row.faults += [(kind, f"step {number}: {text}") for kind, text in one.faults]
        return None if one.faults else made


# ---- the commands ----


def whole_loop(session, steps, row=None, state=None, tolerance=EXACT):
    """The Loop of a whole model; without a row of the one that all is held against."""
    row = row or Row("the original")  # so that child.ORIGINAL is what it tells
    return Loop(row, lambda values: run_session(session, values, steps.outputs), steps, state, tolerance)


def root_loop(path, steps, settings, tolerance, state=None):
    session, remark = open_whole(path, UNOPTIMISED, settings)
    return whole_loop(session, steps, Row(path.name, source=path.name, remarks=[remark] if remark else []), state, tolerance)


def chain_loop(options, manifest, steps, path, settings, provider, states=(None, None)):
    """The Loop of the partitions, and a row for each. `path`: of the model that they are of; `states`: that of the Loop, and of the
    one that it has for values of float16."""
    parts, seconds, root = manifest["partitions"], {}, options.folder / manifest["root"]
    original = SimpleNamespace(path=path, feeds=steps.declared, settings=settings, is_root=True)
    chain = Verification(original, options.folder, manifest, None, provider)
    rows, calls = [Row(part["file"] or part["name"]) for part in parts], []
    for part, row in zip(parts, rows):
        if part["file"] is not None:
            child.tell(f"running {row.what}")
            calls.append((row, chain.opened(part, row)))
        row.on = row.on or (target_of(part) if "residency" in manifest else "")

    def call(values):
        store = {**chain.passed, **values}
        for row, one in calls:
            child.tell(f"running {row.what}")
            begin = time.perf_counter()
            store.update(one(store))
            seconds.setdefault(row.what, []).append(time.perf_counter() - begin)
            row.ran, row.time = "yes", time_text(statistics.median(seconds[row.what]))
        return {name: store[name] for name in steps.outputs if name in store}

    tolerance, missing = chosen(options, tolerance_of_parts(provider)), set(steps.outputs) - outputs_of_partitions(root)
    loop = Loop(Row(f"chain of {counted(len(rows), 'partition')}"), call, steps, states[0], tolerance, missing)
    halves = {value["name"] for part in parts for value in part["outputs"] if value.get("dtype") == "float16"}
    if halves and provider is None:
        loop.held = whole_loop(chain.held_session(root, halves), steps, Row(root.name), states[1])
    return loop, rows


def stepped(options, path, is_root):
    """The Report on --steps. `path`: of the model that all is held against; `is_root`: it is the root of the split."""
    provider, manifest = provider_of(options.ep), {**read_split(options.folder), "root": "root.onnx"}
    if not is_root:
        check_model(path, options.folder, "root.onnx", manifest)
    settings = settings_of(path, manifest["partitions"])
    child.tell(child.ORIGINAL)
    session = open_original(path, settings)
    if not manifest.get("state"):
        raise WrongUsage(f"{options.folder}/manifest.json: names no state, so --steps has nothing to keep: split with --state IN=OUT, or "
                         "leave --steps out")  # fmt: skip
    dims, given = of_split(session, manifest, dict(options.dim), given_inputs(options, path))
    steps = Steps(session, manifest, dims, given, options.seed)
    first_step(steps, session)
    original = whole_loop(session, steps)
    chain, rows = chain_loop(options, manifest, steps, path, settings, provider)
    chain.row.source = "root.onnx and the chain" if is_root else f"the {chain.row.what}"
    loops = [chain] if is_root else [root_loop(options.folder / "root.onnx", steps, settings, chosen(options)), chain]
    report = Report([*(loop.row for loop in loops[:-1]), *rows, chain.row], len(steps.outputs), each="step", calls=options.steps)
    report.ran = f"ran: {counted(len(rows), 'partition')}" if is_root else ""
    made: dict | None = {}
    for number in range(1, options.steps + 1):
        feeds = steps.at(number - 1)
        wanted = original.step(feeds)
        ends = [loop.compare(number, wanted, feeds) for loop in loops]
        made = ends[-1]
        if None in ends:
            break
        steps.seen += steps.tokens
    report.facts += facts_of(chain)
    if is_root and made:
        tell_outputs(report, options, made)
    return report


def facts_of(chain):
    steps = chain.steps
    kinds = Counter(pair.kind for pair in steps.pairs)
    size = sum(tensor_bytes(value) for value in chain.state.values())
    said = ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
    facts = [("state", f"{counted(len(steps.pairs), 'input')} ({said}), {size_text(size)} after {counted(len(chain.seconds), 'step')}")]
    if steps.vocabulary:
        facts.append(("tokens", f"{steps.tokens} a step, ids below {steps.vocabulary}"))
    if chain.seconds:
        facts.append(("a step", f"{time_text(statistics.median(chain.seconds))}, the median of all, on this CPU"))
    return facts


def run(options):
    """The Report of `cleave run --steps`."""
    return stepped(options, options.folder / "root.onnx", True)


def verify(options):
    """The Report of `cleave verify --steps`."""
    return stepped(options, options.model, False)
