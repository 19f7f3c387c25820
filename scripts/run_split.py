#!/usr/bin/env python3
"""Replays a split ONNX model as a runtime with residency would, and checks the lists of the manifest.

usage: run_split.py DIR [--inputs FILE.npz|FOLDER] [--dim N=8]... [--seed N] [--off] [--overlap]

DIR is the folder that `cleave split -o DIR` wrote for an ONNX model. Partitions run in call order in
ONNX Runtime; two stores say where a value is:

    host     what the CPU holds: the model's inputs, what CPU partitions make, what was sent back
    device   what the accelerator holds

For each accelerator partition of manifest.json

    1. an input in `resident` is on the device; every other input is sent there from the host
    2. the partition runs on what the device holds
    3. an output that a CPU partition reads, or the model gives out, is sent back to the host
    4. values in `free` leave the device; those in `keep` are there still

With --off nothing is kept: every input is sent, and the device is empty after each partition. Of several targets each
has a store of its own; a value for which the manifest has a direct link does not go through the host. Then the peak
of each target is replayed, too: weights, and values while they are used; it must not exceed what the manifest says.
--overlap also runs them with a thread for each device and prints both times; all devices are this CPU. Prints
the bytes that were sent and the most that the device held, beside what the manifest says, and compares
the outputs with those of root.onnx, bit by bit. This is meant as a reference for those who write
runtimes: replay() below is all that they need.

The folder of a TensorFlow Lite model runs in LiteRT (pip install ai-edge-litert): the chain of the manifest, three
times one after the other, against root.tflite; a bundle has none, and is run only. Of the options it takes --dim and
--seed. tflite_chain.py is the reference for drivers.

Exit status: 0 all as the manifest says; 1 it is not; 2 wrong usage; 3 the split model cannot run, or the manifest is wrong;
77 onnx, onnxruntime or numpy is not there.
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

import guard
import tflite_chain
from guard import WrongUsage, counted, parse_dim

if __name__ == "__main__" and any(map(tflite_chain.is_split, sys.argv[1:])):
    tflite_chain.run_main(__file__)
if __name__ == "__main__":
    tflite_chain.refuse_torch_split(__file__)

try:
    import onnxruntime as ort

    from capture_inputs import find_values, read_split, size_text
    from device_replay import overlap_times, peaks_by_target, tensor_bytes
    from ort_values import UNOPTIMISED, open_session, output_names, run
    from verify_split import passed_parameters
except ImportError as error:
    guard.missing(__name__, "run_split.py", error, "onnx onnxruntime numpy", __doc__)


# What the replay reads of the manifest, and what it reads of a split for several targets.
REPLAYED = {
    "partitions": [{"file": guard.FileName, "is_acc": bool, "target?": str, "resident": [str], "keep": [str], "free": [str]}],
    "residency": {"is_on": bool, "on": {"link_bytes": (int, None)}, "off": {"link_bytes": (int, None)}, "peak_bytes": (int, None)},
    "targets?": [{"name": str}],
    "direct_links?": [{"from": str, "to": str, "is_used": bool}],
}
TARGETS = {
    "partitions": [{"target": str, "nodes": [str], "after": [str]}],
    "targets": [{"name": str, "peak_bytes": (int, None), "machine": {"acc": {"memory": (int, float, None)}}}],
}


class Absent(guard.Fault):
    """A value is read where it is not."""

    status = 1


@dataclass
class Replay:
    host: dict = field(default_factory=dict)
    devices: dict = field(default_factory=dict)  # by target: what it holds
    direct: dict = field(default_factory=dict)  # what targets give to others without the host
    links: set = field(default_factory=set)  # pairs of targets that do
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_direct: int = 0
    peak: int = 0
    peak_part: str = ""


def take(store, name, part, where):
    if name not in store:
        raise Absent(f'{part} reads "{name}", which is not on the {where}')
    return store[name]


def target_of(part):
    """The device of a partition; where there is one accelerator its name is "acc"."""
    return part.get("target", "acc" if part["is_acc"] else "cpu")


def run_accelerator_part(state, part, run_part, sent_back, makers, keeps):
    """Steps 1 to 4 of the text above."""
    resident = set(part["resident"]) if keeps else set()
    device = state.devices.setdefault(target_of(part), {})
    for value in part["inputs"]:
        name = value["name"]
        if name in resident:
            take(device, name, part["name"], "accelerator")
        elif (makers.get(name), target_of(part)) in state.links:
            device[name] = take(state.direct, name, part["name"], "other target")
            state.bytes_direct += tensor_bytes(device[name])
        else:
            device[name] = take(state.host, name, part["name"], "host")
            state.bytes_in += tensor_bytes(device[name])
    for name, value in run_part(device).items():
        device[name] = state.direct[name] = value
        if name in sent_back:
            state.host[name] = value
            state.bytes_out += tensor_bytes(value)
    held = sum(tensor_bytes(value) for value in device.values())
    if held > state.peak:
        state.peak, state.peak_part = held, part["name"]
    for name in part["free"] if keeps else list(device):
        take(device, name, part["name"], "accelerator")
        del device[name]
    for name in part["keep"] if keeps else []:
        take(device, name, part["name"], "accelerator")


def sent_back(parts, outputs, links, keeps):
    """The values that accelerator partitions send to the host: what it reads, and what another partition reads that
    does not have it, or gets it directly."""
    makers = {value["name"]: target_of(part) for part in parts for value in part["outputs"]}
    names = set(outputs)
    for part in parts:
        for value in part["inputs"]:
            maker, reader = makers.get(value["name"]), target_of(part)
            if (maker, reader) not in links and not (keeps and maker == reader):
                names.add(value["name"])
    return names


def replay(parts, values, outputs, runner, keeps=True, links=frozenset()):
    """Runs the partitions of a manifest. `values`: the model's inputs by name; `outputs`: names of
    those that the model gives out; `runner(part, store)`: runs one partition on the values in `store`
    and returns what it makes, by name; `links`: pairs of targets with a direct link. Raises Absent."""
    state = Replay(host=dict(values), links=set(links))
    makers = {value["name"]: target_of(part) for part in parts for value in part["outputs"]}
    back = sent_back(parts, outputs, links, keeps)
    for part in parts:
        if part["is_acc"]:
            run_accelerator_part(
                state, part, lambda store, part=part: runner(part, store), back, makers, keeps
            )
        else:
            for value in part["inputs"]:
                take(state.host, value["name"], part["name"], "host")
            state.host.update(runner(part, state.host))
    return state


def onnx_runner(folder, passed):
    """Runs a partition's file in ONNX Runtime. `passed`: parameters that partitions take as inputs."""

    def run_part(part, store):
        ort.set_seed(0)
        session = open_session(folder / part["file"], UNOPTIMISED)
        names = [value.name for value in session.get_inputs()]
        feeds = {name: store[name] if name in store else passed[name] for name in names}
        return run(session, feeds, output_names(session))

    return run_part


def check(manifest, state, wanted, keeps):
    """What is not as the manifest says, and the lines to print."""
    residency = manifest["residency"]
    said = residency["on" if keeps else "off"]["link_bytes"]
    moved = state.bytes_in + state.bytes_out + state.bytes_direct
    faults = [
        f'output "{name}" is another than that of root.onnx'
        for name, value in wanted.items()
        if name in state.host and state.host[name].content() != value.content()
    ]
    faults += [f'output "{name}" was not made' for name in wanted if name not in state.host]
    lines = [f"over the link  {size_text(moved)}"]
    if said is not None:
        lines[0] += ", as the manifest says" if said == moved else f", the manifest says {said}"
        if said != moved:
            faults.append(f"{moved} bytes crossed the link, the manifest says {said}")
    if keeps:
        peak = residency["peak_bytes"]
        wants = "nothing of it" if peak is None else size_text(peak)
        lines.append(f"held at most   {size_text(state.peak)}, the manifest says {wants}")
        if peak is not None and peak != state.peak:
            faults.append(f"the accelerator held {state.peak} bytes, the manifest says {peak}")
        left = sorted(name for device in state.devices.values() for name in device)
        if left:
            faults.append(f"at the end the accelerator holds {', '.join(left)}")
    return faults, lines


def check_targets(options, manifest, values, wanted):
    """The same for several targets: the peak of each, and with --overlap the time with a thread a device."""
    peaks = peaks_by_target(options.folder, manifest, values, manifest["residency"]["is_on"])
    faults, lines = [], []
    for target in manifest["targets"][:-1]:
        name, said, memory = target["name"], target["peak_bytes"], target["machine"]["acc"]["memory"]
        held = peaks.get(name, 0)
        wants = "nothing of it" if said is None else size_text(said)
        lines.append(f"{name} held       {size_text(held)} with weights, the manifest says {wants}")
        if said is not None and held > said:
            faults.append(f"{name} held {held} bytes, the manifest says {said}")
        if memory is not None and held > memory:
            faults.append(f"{name} held {held} bytes, and its memory is {memory}")
    if options.overlap:
        alone, at_once, made = overlap_times(options.folder, manifest, values, wanted)
        lines.append(
            f"one after the other {alone * 1e3:.3g} ms, with a thread a device {at_once * 1e3:.3g} ms "
            "(medians of 5 runs on this CPU)"
        )
        faults += [
            f'with a thread a device output "{name}" is another than that of root.onnx'
            for name, value in wanted.items()
            if made[name] is None or made[name].content() != value.content()
        ]
    return faults, lines


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--inputs", metavar="WHERE", help="a .npz file, or a folder of .pb files")
    parser.add_argument("--dim", type=parse_dim, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0, help="of the inputs that are drawn (0)")
    parser.add_argument("--off", action="store_true", help="keep nothing on the accelerator")
    parser.add_argument(
        "--overlap", action="store_true", help="also run partitions of several targets at the same time"
    )
    return parser.parse_args()


def main():
    options = parse_options()
    with guard.told("run_split.py", options.folder):
        manifest = read_split(options.folder, REPLAYED)
        parts, has_targets = manifest["partitions"], "targets" in manifest
        if has_targets:
            accelerators = manifest["targets"][:-1]
            guard.Checked(options.folder / "manifest.json")({**manifest, "targets": accelerators}, TARGETS)
        values = find_values(options, manifest)
        keeps = not options.off
        if options.overlap and not has_targets:
            raise WrongUsage(f"{options.folder}: --overlap is for several targets, and there is one")
        links = {(link["from"], link["to"]) for link in manifest.get("direct_links", []) if link["is_used"]}
        root = open_session(options.folder / "root.onnx", UNOPTIMISED)
        passed = passed_parameters(options.folder / "root.onnx", parts, values)
        ort.set_seed(0)
        wanted = run(root, values, output_names(root))
        runner = onnx_runner(options.folder, passed)
        state = replay(parts, {**values, **passed}, wanted, runner, keeps, links)
        faults, lines = check(manifest, state, wanted, keeps)
        if has_targets:
            more = check_targets(options, manifest, {**values, **passed}, wanted)
            faults, lines = faults + more[0], lines + more[1]
        acc = sum(part["is_acc"] for part in parts)
        guard.say(
            f"{'differs' if faults else 'replayed'}: {counted(len(parts), 'partition')}, {acc} on the accelerator",
            *lines,
            *(f"fault: {fault}" for fault in faults),
        )
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
