#!/usr/bin/env python3
"""Solves random placement problems again, as minimum cuts of networkx in exact integers.

usage: independent_cut_test.py PRINT_PLACEMENTS      exit status 1 where the two differ

Launches are free and values are kept, so that the placement of least time is a minimum cut. The
network is built here from the problem's definition: times are numbers of 2^-40 us.
"""

import json
import subprocess
import sys

import networkx

SCALE = 2**40
CPU, ACC = "cpu", "acc"


def number(us):
    return round(us * SCALE)


def network_of(problem):
    """Source: the accelerator. A node of the graph without a capacity is never cut."""
    network = networkx.DiGraph()
    network.add_nodes_from([ACC, CPU])

    def add(one, other, capacity=None):
        if one == other:
            return
        if capacity is None:
            network.add_edge(one, other)
            network[one][other].pop("capacity", None)
        elif network.has_edge(one, other):
            if "capacity" in network[one][other]:
                network[one][other]["capacity"] += capacity
        else:
            network.add_edge(one, other, capacity=capacity)

    for unit, (cpu, acc) in enumerate(zip(problem["cpu_us"], problem["acc_us"])):
        add(ACC, unit, number(cpu))
        add(unit, CPU, number(acc))
        if problem["allowed"][unit] == "c":
            add(unit, CPU)
        if problem["allowed"][unit] == "a":
            add(ACC, unit)
    for i, value in enumerate(problem["values"]):
        maker = CPU if value["maker"] < 0 else value["maker"]
        readers = value["readers"] + ([CPU] if value["host_reads"] else [])
        if value["us"] < 0:  # tied
            for reader in readers:
                add(maker, reader)
                add(reader, maker)
            continue
        add(maker, ("out", i), number(value["us"]))
        add(("in", i), maker, number(value["us"]))
        for reader in readers:
            add(("out", i), reader)
            add(reader, ("in", i))
    return network


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = subprocess.run([sys.argv[1], "200", "60"], check=True, capture_output=True, text=True)
    problems = [json.loads(line) for line in lines.stdout.splitlines()]
    worst = 0
    for problem in problems:
        least = networkx.minimum_cut_value(network_of(problem), ACC, CPU) / SCALE
        for name in ("total_us", "bound_us"):
            worst = max(worst, abs(problem[name] - least) / max(least, 1))
    print(f"{len(problems)} problems, largest difference {worst:.1e}")
    sys.exit(0 if len(problems) == 200 and worst <= 1e-9 else 1)


if __name__ == "__main__":
    main()
