#!/usr/bin/env python3
"""Selects a compact set of recorded cases from the full sets.

usage: make_compact.py SHARED_CASES_DIR [-o FILE]

Reads models, random, peer_tests, split_module and shard.jsonl.gz in SHARED_CASES_DIR; writes
compact.jsonl.gz next to this script. Each case's line is kept byte for byte, sets and cases in their
order. The selection depends on the cases alone and the gzip header has no date, so running twice gives
the same bytes.

  peer_tests, split_module   all
  random     one in 12, evenly spread; of the cases that record an error, and of those whose result
             depended on the order of sets, a further pick of at least 40 that holds every kind
  models     40 small ones, in turn from each kind: tag x has fusion groups x has a recorded preview
  shard      the 30 smallest

Exit status: 0 done, 1 a set is missing or unreadable, 2 wrong usage.
"""

import argparse
import gzip
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

SETS = ("peer_tests", "random", "models", "split_module", "shard")
RANDOM_STRIDE = 12
AT_LEAST_OF_A_FAILURE = 40
MODEL_CASES = 40
MODEL_LINE_LIMIT = 150_000  # characters; beyond it a graph has some 300 nodes
SHARD_CASES = 30


class Case:
    """One line of a set, and its place there."""

    def __init__(self, place, line):
        self.place = place
        self.line = line
        content = json.loads(line)
        self.id = content["id"]
        self.tags = content.get("tags", [])
        self.expected = content["expected"]

    @property
    def family(self):
        """`hard` of `hard/17/0`; for models the graph: `model/tv/vgg16` of `model/tv/vgg16/2`."""
        head, _, rest = self.id.partition("/")
        return self.id.rpartition("/")[0] if head == "model" else head


def read_set(path):
    with gzip.open(path, "rb") as lines:
        return [Case(place, line.rstrip(b"\n")) for place, line in enumerate(lines)]


def pick_random(cases):
    """One in RANDOM_STRIDE, and enough cases of every kind of failure."""
    picked = {case.place for case in cases[::RANDOM_STRIDE]}
    errors = [case for case in cases if "error" in case.expected]
    unstable = [case for case in cases if case.expected.get("stable") is False]
    picked |= pick_kinds(errors, error_kind)
    picked |= pick_kinds(unstable, lambda c: (c.family, tuple(c.expected["order_dependent"])))
    return picked


def error_kind(case):
    error = case.expected["error"]
    return (case.family, error["stage"], error["type"], error["message"])


def pick_kinds(cases, kind_of):
    """Takes from each kind in turn until there are enough; every kind gives at least one."""
    kinds = defaultdict(list)
    for case in cases:
        kinds[kind_of(case)].append(case.place)
    picked, round_number = set(), 0
    wanted = min(AT_LEAST_OF_A_FAILURE, len(cases))
    while round_number == 0 or len(picked) < wanted:
        picked |= {places[round_number] for places in kinds.values() if round_number < len(places)}
        round_number += 1
    return picked


def pick_models(cases):
    """From each kind in turn the smallest case whose graph was picked least often."""
    kinds = defaultdict(list)
    for case in cases:
        if len(case.line) > MODEL_LINE_LIMIT:
            continue
        tag = case.tags[0] if case.tags else ""
        tag = "all-but" if tag.startswith("all-but") else tag
        expected = case.expected
        kinds[tag, bool(expected.get("fusion_groups")), "split_preview" in expected].append(case)
    picked, uses_of_graph = set(), Counter()
    available = sum(len(found) for found in kinds.values())
    while len(picked) < min(MODEL_CASES, available):
        for kind in sorted(kinds):
            left = [case for case in kinds[kind] if case.place not in picked]
            if left and len(picked) < MODEL_CASES:
                best = min(left, key=lambda c: (uses_of_graph[c.family], len(c.line), c.place))
                uses_of_graph[best.family] += 1
                picked.add(best.place)
    return picked


def pick_smallest(cases, count):
    return {case.place for case in sorted(cases, key=lambda c: (len(c.line), c.place))[:count]}


def pick(name, cases):
    """The places of the cases to keep of one set."""
    if name == "random":
        return pick_random(cases)
    if name == "models":
        return pick_models(cases)
    if name == "shard":
        return pick_smallest(cases, SHARD_CASES)
    return {case.place for case in cases}


def write_lines(path, lines):
    with open(path, "wb") as out:
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as packed:
            packed.write(b"".join(line + b"\n" for line in lines))


def main():
    default = Path(__file__).resolve().parent / "compact.jsonl.gz"
    parser = argparse.ArgumentParser(
        prog="make_compact.py", description="Pick a compact set of cases."
    )
    parser.add_argument("cases", type=Path, metavar="SHARED_CASES_DIR")
    parser.add_argument("-o", "--output", type=Path, default=default, metavar="FILE")
    options = parser.parse_args()
    lines = []
    try:
        for name in SETS:
            cases = read_set(options.cases / f"{name}.jsonl.gz")
            chosen = pick(name, cases)
            lines += [case.line for case in cases if case.place in chosen]
            print(f"{name}: {len(chosen)} of {len(cases)}", file=sys.stderr)
        write_lines(options.output, lines)
    except (OSError, EOFError, ValueError, KeyError) as error:
        print(f"make_compact.py: error: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {len(lines)} cases", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
