#!/usr/bin/env python3
"""Makes samples/lists/core_aten.json and xnnpack.json, what programs of torch.export may hold.

usage: torch_lists.py CLEAVE [-o samples/lists] [--only NAME]... [--models DIR]...

core_aten  the operators that torch tags as core, and what a program may call beside them
xnnpack    measured: `cleave probe` gives ExecuTorch's XNNPACK the architectures below, of tests/pt2/architectures.py, and each
           .pt2 file of --models, as a whole. One compile tells of each node whether it is in a delegate, and why not

Needs torch; xnnpack also executorch, torchvision and transformers. Prints what was measured.

Exit status: 0 all is made; 1 a list cannot be made.
"""

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch

PROJECT = Path(__file__).resolve().parents[2]
# One of each family: the others have no operators that these lack.
MEASURED = (
    "resnet18", "mobilenet_v3_small", "squeezenet1_1", "unet", "bert", "gpt2", "t5", "llama", "vit", "recurrent",
    "mixture_of_experts", "transformer_encoder", "recommender",
)  # fmt: skip


def write_list(path, name, source, allow, deny=(), **more):
    head = {"format": "cleave.support", "version": 1, "name": name, "source": source, **more}
    fields = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, rules in (("allow", allow), ("deny", deny)):
        if rules:
            fields.append(f' "{key}": [\n  ' + ",\n  ".join(json.dumps(rule) for rule in rules) + "\n ]")
    path.write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")
    print(f"{path}: {len(allow)} rules that allow, {len(deny)} that deny")


# ---- core ATen ----


def core_operators():
    """Names of the operators with the tag, by overload."""
    for schema in torch._C._jit_get_all_schemas():
        space, _, base = schema.name.partition("::")
        if space != "aten":
            continue
        overload = schema.overload_name or "default"
        try:
            operator = getattr(getattr(torch.ops.aten, base), overload)
        except (AttributeError, RuntimeError):
            continue
        if torch.Tag.core in operator.tags:
            yield f"torch.ops.aten.{base}.{overload}"


def builtins():
    """What a program may call of Python, for sizes: `_operator.mul`."""
    from torch._export.verifier import Verifier

    for function in Verifier().allowed_builtin_ops():
        yield f"{function.__module__}.{function.__name__}"


DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64", "complex128",
)  # fmt: skip


def make_core(options):
    source = f"torch {torch.__version__.partition('+')[0]} on PyPI, operators tagged torch.Tag.core (BSD-3-Clause)"
    rules = [{"op": name} for name in sorted(set(core_operators()))]
    rules += [{"op": name} for name in sorted(set(builtins()))]
    # Of tensors, as torch.fx traces them, they are no core operators.
    deny = [
        {"op": "_operator.*", "input_dtype": name, "why": "of tensors it is an operator of aten"} for name in DTYPES
    ]
    write_list(options.output / "core_aten.json", "core_aten", source, rules, deny)


# ---- XNNPACK ----


def exported(folder):
    """Paths of the architectures as programs with fixed sizes; those that torch cannot export are named."""
    sys.path.insert(0, str(PROJECT / "tests" / "pt2"))
    from architectures import ARCHITECTURES

    for name in MEASURED:
        path = folder / f"{name}.pt2"
        try:
            torch.manual_seed(0)
            module, args, kwargs, _ = ARCHITECTURES[name]()
            with torch.no_grad():
                torch.export.save(torch.export.export(module, args, kwargs), path)
        except Exception as error:
            print(f"  {name}: is left out: {str(error).splitlines()[0]}")
            continue
        yield path


CASE = re.compile(r"(?P<op>\S+?)\((?P<inputs>.*)\) (?P<attributes>\{.*\}) -> \d+$")
INPUT = re.compile(r"(?:^|, )\d+\*?:(?:const )?(?P<dtype>\w+)\[(?P<shape>[^\]]*)\]")
ATTRIBUTE = re.compile(r"(\w+)=(\[.*?\])(?= \w+=|$)")


def cases_of(evidence):
    """(op, dtypes of the inputs, or "all" and that of all) -> [(whether it was taken, rank of input 0, attributes, why not)]."""
    made = {}
    for line in evidence.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        case = CASE.match(found["case"])
        if not case:
            continue
        inputs = list(INPUT.finditer(case["inputs"]))
        dtypes = tuple(each["dtype"] for each in inputs)
        if "*:" in case["inputs"] and len(set(dtypes)) == 1:
            dtypes = ("all", dtypes[0])  # a list of tensors has any length
        rank = inputs[0]["shape"].count(",") + 1 if inputs and inputs[0]["shape"] else 0
        attributes = dict(ATTRIBUTE.findall(case["attributes"][1:-1]))
        why = "" if found["verdict"] == "lowered" else found["message"]
        made.setdefault((case["op"], dtypes), []).append((not why, rank, attributes, why))
    return made


def what_parts(cases):
    """One condition that the refused cases meet and no other, as fields of a rule: an attribute's values, else the rank."""
    for name in sorted({name for _, _, attributes, _ in cases for name in attributes}):
        values = [
            {attributes.get(name) for is_taken, _, attributes, _ in cases if is_taken is taken}
            for taken in (True, False)
        ]
        if values[0] & values[1] or None in values[1]:
            continue
        refused = [json.loads(text) for text in values[1]]
        if all(len(value) == 1 for value in refused):  # others are lists, of sizes say
            return {"attributes": {name: sorted(value[0] for value in refused)}}
    ranks = [{rank for is_taken, rank, _, _ in cases if is_taken is taken} for taken in (True, False)]
    if not ranks[0] & ranks[1] and len(ranks[1]) == 1:
        return {"shapes": {"0": {"rank": ranks[1].pop()}}}
    return None


def without_node(why):
    """ "mul_3 (aten.mul) is left out: invalid dtype; and 2 more" says in a list: "aten.mul: invalid dtype"."""
    return re.sub(r"^\w+ \((.+?)\) is left out: (.*?)(; and \d+ more)?$", r"\1: \2", why)


def without_covered(rules):
    """Without a rule whose inputs begin with those of another, which asks for nothing else."""
    plain = {
        (rule["op"], str(rule["inputs"])) for rule in rules if set(rule) <= {"op", "inputs", "why"} and "inputs" in rule
    }

    def is_covered(rule):
        inputs = rule.get("inputs")
        return isinstance(inputs, list) and any((rule["op"], str(inputs[:n])) in plain for n in range(1, len(inputs)))

    return [rule for rule in rules if not is_covered(rule)]


def rules_of(cases_by_types):
    """What was always taken is allowed, by the types of the inputs; what one condition parts, with a rule that denies by it; where
    none does, nothing of these types is."""
    allow, deny = [], []
    for (op, dtypes), cases in sorted(cases_by_types.items()):
        types = (
            {"inputs": {"all": [dtypes[1]]} if dtypes[:1] == ("all",) else [[dtype] for dtype in dtypes]}
            if dtypes
            else {}
        )
        refused = [why for is_taken, _, _, why in cases if not is_taken]
        count = f"{len(refused)} of {len(cases)} cases refused"
        parts = what_parts(cases) if refused and len(refused) < len(cases) else None
        if not refused or parts:
            allow.append({"op": op, **types, "why": f"{len(cases) - len(refused)} of {len(cases)} cases taken"})
        if refused:
            deny.append({"op": op, **types, **(parts or {}), "why": f"{without_node(refused[0])} ({count})"})
    return without_covered(allow), without_covered(deny)


def make_xnnpack(options):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        models = list(exported(folder))
        for given in options.models:
            models += sorted(given.glob("*.pt2"))
        out = folder / "xnnpack.json"
        command = [
            options.cleave.resolve(),
            "probe",
            *models,
            "--backend",
            PROJECT / "samples/backends/xnnpack.json",
            "-o",
            out,
        ]
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(done.stderr.strip())
        print(done.stdout)
        allow, deny = rules_of(cases_of(folder / "xnnpack.json.evidence.jsonl"))
    source = (
        f"measured with executorch {importlib.metadata.version('executorch')} and torch {torch.__version__.partition('+')[0]} "
        f"on PyPI: {len(models)} programs, each compiled as a whole"
    )
    write_list(options.output / "xnnpack.json", "xnnpack", source, allow, deny, link={"bandwidth": "none"})


MAKERS = {"core_aten": make_core, "xnnpack": make_xnnpack}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=PROJECT / "samples/lists")
    parser.add_argument("--only", action="append", choices=MAKERS, default=[], metavar="NAME")
    parser.add_argument("--models", action="append", type=Path, default=[], metavar="DIR")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = False
    for name in options.only or MAKERS:
        try:
            MAKERS[name](options)
        except (OSError, ImportError, KeyError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
