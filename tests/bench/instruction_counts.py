#!/usr/bin/env python3
"""Counts the instructions of fixed workloads under valgrind, and compares them with records.

usage: instruction_counts.py CLEAVE MAKE_GRAPH --compiler "GNU 12.2.0" --build-type Release [--update]

Times depend on the machine and its load; instruction counts hardly do, so a test can check them. They
count the whole process with libraries and start. instruction_counts.json in this folder has the total of
each workload, and the counts of the passes named below, each with all that it calls. The test fails if a
total, or a pass of at least a twentieth of it, grows by more than 5%, and names the passes that grew. It
reports decreases without failing.

Each compiler has counts of its own: g++ makes what is handed on, clang++ what the tests build. A build by a compiler
or version that has none, one that is no release build, and a machine without valgrind exit 77. 1: something grew.
--update writes the counts of this build's compiler.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "instruction_counts.json"
SAMPLES = HERE.parent.parent / "samples"
SKIPPED = 77
MOST_GROWTH = 0.05
LEAST_SHARE = 0.05  # of a pass that is held by itself

# Functions of cleave that are in separate files and called from others, so that no compiler inlines
# them. One that calls another counts it, too. What comes before and after main() is
# "start and end of the program".
PASSES = [
    "read_support_file",
    "read_graph_json",
    "JsonCursor::JsonCursor",
    "GraphBuilder::finish",
    "read_onnx",
    "index_onnx",
    "infer_onnx_types",
    "near_misses",
    "match_support",
    "find_acc_nodes",
    "find_fusions",
    "split_subgraphs",
    "merge_small_subgraphs",
    "place_by_cost",
    "place_on_targets",
    "keep_best_subgraphs",
    "make_partition",
    "find_boundaries",
    "preview_split",
    "read_partition_map",
    "order_parts",
    "balance_stages",
    "find_placement",
    "report_text",
    "report_json",
    "support_report_text",
    "stages_report_text",
    "html_report",
    "write_onnx_split",
    "write_part_json",
    "write_root_json",
    "draw_support",
    "draw_preview",
    "draw_part",
]
START = "start and end of the program"


# ---- the workloads ----


def made(make_graph, folder, name, *arguments):
    path = folder / name
    with open(path, "wb") as file:
        subprocess.run([make_graph, *arguments], stdout=file, check=True)
    return str(path)


def write_map(graph, path):
    """Every node's partition: forty runs of the model's order."""
    names = [node["name"] for node in json.loads(Path(graph).read_text())["nodes"]]
    lines = [f"{name},{i * 40 // len(names)}" for i, name in enumerate(names)]
    Path(path).write_text("\n".join(["node,partition", *lines]) + "\n")
    return str(path)


def workloads(make_graph, folder):
    """Name -> arguments of cleave."""
    support = made(make_graph, folder, "support.json", "support")
    chain = made(make_graph, folder, "chain.json", "chain", "20000")
    wide = made(make_graph, folder, "wide.json", "wide", "10000")
    layers = made(make_graph, folder, "layers.json", "transformer", "500")
    parts = write_map(wide, folder / "parts.csv")
    onnx = [str(SAMPLES / "mobile_block.onnx"), "-s", str(SAMPLES / "tiny_npu.txt"), "--dim", "N=1"]
    large_onnx = made(make_graph, folder, "large.onnx", "onnx", "5000")
    onnx_support = made(make_graph, folder, "onnx_support.txt", "onnx-support")
    large_onnx = [large_onnx, "-s", onnx_support]
    # Graphviz has 20 s of processor time for a page, and valgrind makes it slow: of many more nodes, drawings would be given up.
    paged = [made(make_graph, folder, "paged.onnx", "onnx", "500"), "-s", onnx_support]
    split_chain = made(make_graph, folder, "split_chain.json", "chain", "5000")
    placed = made(make_graph, folder, "placed.json", "transformer", "1000")
    placed = [placed, "--place", "cost", "--target", "cpu:flops=100GFLOP/s,bandwidth=20GB/s"]
    npu = "launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,link=gen4x4"
    gpu = "launch=20us,flops=1TFLOP/s,bandwidth=40GB/s,link=gen4x8"
    on_two = ["-s", f"npu={support}", "--target", f"npu:{npu}", "-s", f"gpu={support}", "--target", f"gpu:{gpu}"]
    return {
        "start": ["--version"],
        "preview of an ONNX model": ["preview", *onnx],
        "preview of an ONNX model of 5,000 nodes": ["preview", *large_onnx],
        "page of an ONNX model of 500 nodes": ["preview", *paged, "--html", str(folder / "page.html")],
        "split of an ONNX model of 5,000 nodes": ["split", *large_onnx, "-o", str(folder / "large_split")],
        "split of a chain of 5,000 nodes": ["split", split_chain, "-s", support, "-o", str(folder / "chain_split")],
        "placement of 1,000 nodes by cost": ["preview", *placed, "-s", support, "--target", f"acc:{npu}"],
        "placement of 1,000 nodes on two targets": ["preview", *placed, *on_two],
        "support of a chain of 20,000 nodes": ["preview", chain, "-s", support, "--show", "ops"],
        "preview of 10,000 nodes in branches": ["preview", wide, "-s", support],
        "split of an ONNX model": ["split", *onnx, "-o", str(folder / "split")],
        "8 balanced stages of 500 nodes": ["stage", layers, "--stages", "8"],
        "partition of 10,000 nodes by a map": ["preview", wide, "--map", parts],
    }


# ---- counting ----


def count(cleave, arguments, profile):
    """Instructions of one run: those of each pass that was called, and "total"."""
    # What would choose between implementations by the processor must always choose the same.
    environment = {
        "PATH": os.environ["PATH"],
        "SIMDJSON_FORCE_IMPLEMENTATION": "westmere",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM",
    }
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", cleave]
    run = subprocess.run([*tool, *arguments], env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join([cleave, *arguments])} exits {run.returncode}:\n{run.stderr[-2000:]}")
    return passes_of(profile)


def passes_of(profile):
    """From callgrind's file: for each function its own lines, and for each call a line with what the
    callee took with all that it called. https://valgrind.org/docs/manual/cl-format.html"""
    names, inclusive, total = {}, defaultdict(int), 0
    function, is_call, recursive = None, False, False
    header = re.compile(r"(c?fn)=\((\d+)\)(?: (.*))?")
    with open(profile, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line[0].isdigit() or line[0] in "+-*":
                if not (is_call and recursive):
                    inclusive[function] += int(line.split()[1])
                is_call = False
            elif line.startswith("calls="):
                is_call = True
            elif found := header.match(line):
                kind, number, name = found.groups()
                if name is not None:
                    names[number] = name
                if kind == "fn":
                    function = number
                recursive = kind == "cfn" and number == function
            elif line.startswith(("totals:", "summary:")):
                total = int(line.split()[1])
    taken = defaultdict(int)
    for number, name in names.items():
        taken[pass_of(name)] += inclusive[number]
    passes = {name: taken[name] for name in PASSES if taken[name] > 0}
    return {"total": total, START: total - taken["main"], **passes}


def pass_of(function):
    bare = function.split("(")[0].removesuffix("[abi:cxx11]")
    if bare == "main":
        return bare
    short = bare.removeprefix("cleave::")
    return short if short in PASSES and short != bare else None


# ---- comparing ----


def percent(before, now):
    return f"{(now / before - 1) * 100:+.1f}%"


def compare(recorded, counted):
    """What is wrong, line by line; prints the table of all totals."""
    faults = []
    for name, now in counted.items():
        before = recorded.get(name)
        if before is None:
            faults.append(f"{name}: not in {RECORDED.name}")
            continue
        print(f"{name:<40}{now['total']:>15,}{percent(before['total'], now['total']):>9}")
        grown = [
            (now[key] - before.get(key, 0), key)
            for key in now
            if key != "total" and now[key] > before.get(key, 0) * (1 + MOST_GROWTH)
        ]
        held = {key for key in now if now[key] >= LEAST_SHARE * now["total"]}
        grows = now["total"] > before["total"] * (1 + MOST_GROWTH)
        if not grows and not any(key in held for _, key in grown):
            continue
        faults.append(f"{name}: {before['total']:,} -> {now['total']:,} instructions")
        for _, key in sorted(grown, reverse=True):
            if key in before:
                change = f"{before[key]:,} -> {now[key]:,} ({percent(before[key], now[key])})"
            else:
                change = f"{now[key]:,}, was not called"
            faults.append(f"    {key}: {change}")
        if not grown:
            faults.append("    no pass that is counted by itself")
    return faults


def show_changes(before, now):
    """The table of a renewal, to go into the commit's message."""
    for name, counts in now.items():
        old = before.get(name, {})
        for key, value in counts.items():
            if key in old and abs(value / old[key] - 1) < 0.005:
                continue
            change = f"{old[key]:,} -> {value:,} ({percent(old[key], value)})" if key in old else f"{value:,}"
            print(f"{name}, {key}: {change}")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("cleave")
    options.add_argument("make_graph")
    options.add_argument("--compiler", required=True, help="name and version")
    options.add_argument("--build-type", required=True)
    options.add_argument("--update", action="store_true", help=f"write {RECORDED.name} anew")
    asked = options.parse_args()
    if asked.build_type != "Release":
        skip(f"instructions are counted in release builds, and this is {asked.build_type}")
    if shutil.which("valgrind") is None:
        skip("there is no valgrind; scripts/setup.sh installs it")
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    before = recorded.get(asked.compiler, {})
    if not asked.update and not before:
        skip(f"the counts are of {' and '.join(recorded)}, and this build is by {asked.compiler}")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = workloads(asked.make_graph, folder)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            counted = threads.map(
                lambda item: count(asked.cleave, item[1], folder / f"profile{item[0]}"),
                enumerate(runs.values()),
            )
            counted = dict(zip(runs, counted))
    if asked.update:
        show_changes(before, counted)
        recorded[asked.compiler] = counted
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n")
        return
    faults = compare(before, counted)
    if faults:
        print("\n".join(["", *faults, "", "Where that is worth it: scripts/dev/update_counts.sh"]))
        sys.exit(1)


if __name__ == "__main__":
    main()
