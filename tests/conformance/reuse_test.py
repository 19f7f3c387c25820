#!/usr/bin/env python3
"""Infers the types of models twice: nodes of one kind share them, and each node by itself. Both are the same.

The models are the calls of odd_calls.py with every node once more behind them, so that what was inferred for
the first is there for the second, the pitfalls of the format, and models of the folders named.

usage: reuse_test.py DUMP_TYPES [--models N] [FOLDER...]

Exit status 1 if a type or a note differs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "onnx"))
import odd_calls
import pitfall_models


def repeated(model):
    """The model with a copy of each node, whose outputs have names of their own."""
    nodes = list(model.graph.node)
    for node in nodes:
        copy = model.graph.node.add()
        copy.CopyFrom(node)
        copy.output[:] = [name and f"again_{name}" for name in node.output]
    return model


def dump(dump_types, paths, *options):
    done = subprocess.run([dump_types, *options], input="".join(f"{path}\n" for path in paths), text=True,
                          errors="surrogateescape", capture_output=True)
    assert done.returncode in (0, 1), done.stderr[-500:]
    return done.stdout.splitlines() + done.stderr.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump_types")
    parser.add_argument("--models", type=int, default=1500)
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pitfall_models.make_all(folder)
        paths = sorted(folder.glob("*.onnx"))
        assert len(paths) >= 60
        for given in options.folders:
            paths += sorted(given.glob("*.onnx"))
        for seed in range(options.models):
            paths.append(folder / f"odd_{seed}.onnx")
            paths[-1].write_bytes(repeated(odd_calls.OddCall(seed, None).model).SerializeToString())
        shared, alone = dump(options.dump_types, paths), dump(options.dump_types, paths, "--each-node")
    different = [pair for pair in zip(shared, alone) if pair[0] != pair[1]]
    for one, other in different[:20]:
        print(f"- {other}\n+ {one}")
    print(f"{len(paths)} models, {len(alone)} types and notes: {len(different)} differ")
    return bool(different) or len(shared) != len(alone)


if __name__ == "__main__":
    sys.exit(main())
