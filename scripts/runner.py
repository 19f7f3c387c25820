#!/usr/bin/env python3
"""Runs what cleave wrote, and compares it with the model: `cleave run` and `cleave verify`.

usage: runner.py run DIR [OPTIONS]
       runner.py verify MODEL DIR [OPTIONS]

DIR is a folder that cleave wrote: of `split`, with or without --map, --phase or --bundle, or of `stage`, for an ONNX, torch.export (.pt2)
or TensorFlow Lite model; or of `lower --bundle ep`. MODEL is the model that it is of.

`run` calls the partitions in the order of the manifest. It compares their outputs with those of the root, the whole model that
DIR holds, and what crosses between devices with what the manifest says. `verify` calls MODEL, the root and the partitions on
the same inputs, and compares all outputs: bit for bit, where --tolerance allows nothing else. Inputs are those of
--inputs, else those that a torch.export archive was saved with, else random, the same for the same --seed.

Models run in a child process: if a runtime crashes, what it was running is told.

Exit status: 0 ran, and all that is compared is equal; 1 something differs, or does not run; 2 wrong usage; 3 a file is missing or
wrong, or the model itself cannot run; 4 --outputs or standard output is not written; 77 a Python package is missing.
"""

import argparse
import os
import sys
from pathlib import Path

import child
import guard
from guard import parse_dim, parse_tolerance, parse_value
from reports import NOT_RUN, Report, Row

PACKAGES = {"onnx_chain": "onnx onnxruntime numpy", "onnx_phases": "onnx onnxruntime numpy",
            "onnx_deployed": "onnx onnxruntime onnxruntime-qnn numpy", "tflite_chain": "ai-edge-litert numpy",
            "torch_chain": "torch numpy"}  # fmt: skip
LITERT_MICRO = "tflite-micro"


def runner_of(folder):
    """The name of the module that runs what is in the folder."""
    if not folder.is_dir():
        raise guard.BadFile(f"{folder}: is no folder: give one that cleave wrote (-o), as cleave split does; of two models there "
                            "is nothing to verify part by part")  # fmt: skip
    for name, module in (("root_ep.onnx", "onnx_deployed"), ("root.onnx", "onnx_chain"), ("root.tflite", "tflite_chain"),
                         ("bundle.tflite", "tflite_chain"), ("root.pt2", "torch_chain"), ("bundle.pt2", "torch_chain")):  # fmt: skip
        if os.path.lexists(folder / name):
            guard.regular(folder / name)
            return module
    if os.path.lexists(folder / "manifest.json") and "phases" in guard.read_json(folder / "manifest.json", {}):
        return "onnx_phases"
    if os.path.lexists(folder / "root.json"):
        raise guard.BadFile(f"{folder}: {NATIVE}")
    if os.path.lexists(folder / "lowering.json"):
        raise guard.BadFile(f"{folder}: holds no model that runs: cleave lower --bundle ep -o DIR writes one for a backend "
                            "that keeps what it compiles; for any other, cleave split MODEL -s LEARNED_LIST -o DIR does, with the list "
                            "that --deny-out of cleave lower wrote")  # fmt: skip
    raise guard.BadFile(f"{folder}: there is no root.onnx, root.pt2, root.tflite or bundle: cleave split, stage or lower --bundle ep "
                        "write such a folder")  # fmt: skip


SIGNS = {"pt2": (0, b"PK\x03\x04"), "tflite": (4, b"TFL3"), "json": (0, b"{")}  # of formats, where in a file
FORMATS = {"pt2": "a torch.export archive", "tflite": "a TensorFlow Lite model", "json": "a native JSON graph", "onnx": "an ONNX model"}
NATIVE = "holds parts of a native JSON graph, which has no weights and no runtime: what was made of ONNX, .pt2 or .tflite can be run"


def format_of(path):
    """The format of a model that its first bytes tell, else its suffix; "" where neither does."""
    with guard.regular(path).open("rb") as file:
        first = file.read(16)
    signs = [name for name, (at, sign) in SIGNS.items() if first[at:].startswith(sign)]
    return signs[0] if signs else "onnx" if path.suffix == ".onnx" else ""


def check_model(options, module):
    """Raises BadFile where MODEL is of another format than what DIR was made of."""
    if not options.model.is_file():
        raise guard.BadFile(f"{options.model}: is no file: give the model that {options.folder} is of, and then the folder")
    own, wanted = format_of(options.model), {"torch_chain": "pt2", "tflite_chain": "tflite"}.get(module, "onnx")
    if own not in ("", wanted):
        raise guard.BadFile(f"{options.folder}: is of another model than {options.model}: of {FORMATS[wanted]}, and this is {FORMATS[own]}")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """As cleave itself says it."""
        guard.say(f"{self.prog}: error: {message.removeprefix('argument ')}", f"note: try: {self.prog} --help", to_errors=True)
        sys.exit(2)


def parse_options(arguments):
    commands = Parser(prog="cleave", description=__doc__.splitlines()[0])
    adder = commands.add_subparsers(dest="command", required=True, metavar="run|verify")
    _, _, details, way, *_ = __doc__.split("\n\n")
    for name in ("run", "verify"):
        parser = adder.add_parser(name, description=f"{details}\n\n{way}", epilog=__doc__.split("\n\n")[-1],
                                  formatter_class=argparse.RawDescriptionHelpFormatter, help=f"{name} --help says more")
        if name == "verify":
            parser.add_argument("model", metavar="MODEL", type=Path, help="the model that DIR is of")
        parser.add_argument("folder", metavar="DIR", type=Path, help="a folder that cleave wrote")
        parser.add_argument("--inputs", metavar="WHERE", type=Path,
                            help="a .npz file of arrays by input name, or a folder with input_0.pb, ...; other inputs are drawn")
        parser.add_argument("--set-input", metavar="NAME=VALUE", type=parse_value, action="append", default=[],
                            help="an input of one element; repeatable")
        parser.add_argument("--dim", metavar="NAME=SIZE", type=parse_dim, action="append", default=[],
                            help="the size of an open dim, which the split did not bind; repeatable")
        parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the inputs that are drawn (0)")
        parser.add_argument("--times", metavar="N", type=int,
                            help="so many calls, one after the other: state shows, and times are medians (run: 1; verify: 1 for "
                            "ONNX, 2 for .pt2, 3 for .tflite)")
        parser.add_argument("--steps", metavar="N", type=int,
                            help="ONNX models with state: so many steps, each with the state that the one before made (see onnx_steps.py)")
        parser.add_argument("--ep", metavar="NAME", help="ONNX: run accelerator partitions with this execution provider of ONNX "
                            "Runtime, such as openvino")
        parser.add_argument("--import", metavar="MODULE", dest="modules", action="append", default=[],
                            help=".pt2: a Python module that registers operators or classes of your own; repeatable")
        parser.add_argument("--tolerance", metavar="KEY=NUMBER,...", type=parse_tolerance, action="append", default=[],
                            help="rtol=R,atol=A: a number may differ by atol + rtol x |the model's| (0; 0.01 each with --ep, and "
                            "for what was compiled)")
        if name == "run":
            parser.add_argument("--outputs", metavar="FILE", type=Path,
                                help="write the outputs of the first call: a .npz file; with --steps those of the last step; of phases "
                                "those of the last token, and all ids that were made, as generated_ids")
            parser.add_argument("--force", action="store_true", help="replace FILE")
            parser.add_argument("--overlap", action="store_true",
                                help="of several targets: also run partitions at the same time, a thread for each device")
    options = commands.parse_args(arguments)
    parser = adder.choices[options.command]
    if options.times is not None and options.times < 1:
        parser.error("--times is 1 or more: without a call nothing is compared")
    if options.steps is not None and options.steps < 1:
        parser.error("--steps is 1 or more")
    if options.steps and (options.times or getattr(options, "overlap", False)):
        parser.error("--steps is for itself: leave --times and --overlap out")
    options.tolerance = {key: number for one in options.tolerance for key, number in one.items()}
    return options


def work(options, module):
    """In the child: the content of the Report."""
    try:
        if options.steps and module not in ("onnx_chain", "onnx_phases"):
            raise guard.BadFile(f"{options.folder}: --steps is for ONNX models; the state of others is kept from call to call: --times N")
        name = "onnx_steps" if options.steps and module == "onnx_chain" else module
        report = getattr(__import__(name), options.command)(options)
    except guard.WrongUsage as error:  # of what a file holds: 2 is for words of the command line alone
        raise guard.BadFile(str(error)) from error
    except ImportError as error:
        ours = {name.replace("-", "_") for name in PACKAGES[module].split()}
        is_ours = (error.name or "").partition(".")[0] in ours
        text = guard.module_text(error, PACKAGES[module] if is_ours else "")
        raise guard.Missing(f"{text}, which {sys.executable} has not: --python names another") from error
    return report.content()


def has_micro():
    from importlib.util import find_spec

    return find_spec("tflite_micro") is not None


def report_of(options, arguments, module):
    """The Report of a child; of TensorFlow Lite models also that of a second one, for another runtime. Raises Fault."""
    ended = child.run_in_child(__file__, arguments)
    if module != "tflite_chain" or options.command != "verify" or not has_micro():
        return report_or_fault(ended)
    other = child.run_in_child(__file__, arguments, LITERT_MICRO)
    if not other.result and (other.fault or other.doing.startswith(child.ORIGINAL)):
        report = report_or_fault(ended)
        report.notes.append(f"{LITERT_MICRO} was not tried: {other.fault or f'{other.doing}: {other.death}'}")
        return report
    second = report_or_fault(other)
    try:
        report = report_or_fault(ended)
    except guard.Fault as fault:  # the first runtime lacks operators that the second has
        second.notes.append(f"LiteRT was not tried: {fault}")
        return second
    report.rows += second.rows
    return report


def report_or_fault(ended):
    if ended.fault:
        fault = guard.Fault(ended.fault)
        fault.status = ended.status
        raise fault
    if ended.death and (ended.doing.startswith(child.ORIGINAL) or ended.doing == "starting"):
        raise guard.CannotRun(f"{ended.doing}: {ended.death}")
    if ended.death:
        what = ended.doing.removeprefix("running ")
        return Report([Row(what, ran="no", faults=[(NOT_RUN, f"the runtime {ended.death}")])])
    return Report.of(ended.result)


def main():
    arguments = sys.argv[1:]
    options = parse_options(arguments)
    about = options.model if options.command == "verify" else options.folder
    if child.is_child():
        child.work(lambda: work(options, runner_of(options.folder)), about)
    with guard.told(f"cleave {options.command}", about):
        module = runner_of(options.folder)
        if options.command == "verify":
            check_model(options, module)
        if options.command == "run" and options.outputs:
            guard.check_new_file(options.outputs, options.force, guard.inputs_of_run(options))
        report = report_of(options, arguments, module)
        guard.say(*report.lines())
        sys.exit(report.status)


if __name__ == "__main__":
    main()
