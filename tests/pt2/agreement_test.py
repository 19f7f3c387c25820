#!/usr/bin/env python3
"""Compares cleave's splits of torch.export archives with those of torch's splitter.

Torch's splitter places every node; cleave leaves out constants, which each partition has, and checks, which go
where their values are made. So only the other nodes are compared, and where torch's splitter waits for a
constant that it put on the other side, the split may be another: with --fold off, all nodes are compared.

usage: agreement_test.py CLEAVE FOLDER      exit status 1 if a node is in another partition, 77 if the
folder does not exist
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def node_map(cleave, model, targets, least, folder, start="reference", fold="report"):
    """The part of each node, in model order, and the names of constants."""
    support = folder / "list.txt"
    support.write_text("\n".join(targets) + "\n", encoding="utf-8")
    done = subprocess.run([cleave, "-q", "preview", model, "-s", support, "--json",
                           "--min-acc-module-size", str(least), "--start", start, "--fold", fold],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return {"": done.stderr}, set()
    report = json.loads(done.stdout)
    return report["node_map"], set(report["constants"])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cleave, folder = Path(sys.argv[1]), Path(sys.argv[2])
    records = sorted(folder.glob("*.json"))
    if not records:
        print(f"skipped: there are no archives in {folder}")
        sys.exit(77)
    agree, other_start, with_all, by_constants, wrong, left_out = 0, 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for record in records:
            expected = json.loads(record.read_text(encoding="utf-8"))["splits"]
            for name, split in expected.items():
                if "map" not in split:  # torch's own splitter failed
                    left_out += 1
                    continue
                want = all_parts = [part for node, part in split["map"].items()
                                    if node not in split["getitem"] and node != "output"]
                least = split["settings"]["min_acc_module_size"]
                got, constants = node_map(cleave, record.with_suffix(".pt2"), split["supported"], least,
                                          Path(scratch))
                if len(got) != len(want):
                    want = [part for node, part in split["map"].items() if node in got]
                if list(got.values()) == want:
                    agree += 1
                    continue
                # Newer torch begins with the CPU when a CPU node without inputs is there.
                begun, _ = node_map(cleave, record.with_suffix(".pt2"), split["supported"], least,
                                    Path(scratch), "cpu")
                if list(begun.values()) == want:
                    other_start += 1
                    continue
                whole = [node_map(cleave, record.with_suffix(".pt2"), split["supported"], least, Path(scratch), start,
                                  "off")[0] for start in ("reference", "cpu")]
                if any(list(got_all.values()) == all_parts for got_all in whole):
                    with_all += 1
                    continue
                if constants & split["map"].keys():
                    by_constants += 1
                    continue
                wrong += 1
                first = next((f"{node} is in {have}, not {must}"
                              for (node, have), must in zip(got.items(), want) if have != must),
                             f"{len(got)} nodes, not {len(want)}: {list(got.items())[:1]}")
                print(f"{record.stem}, {name}: {first}")
    print(f"{agree} splits agree, {other_start} with --start cpu, {with_all} with --fold off, {wrong} do not, "
          f"{by_constants} have constants that torch's splitter waits for, "
          f"{left_out} were left out")
    sys.exit(1 if wrong or not agree else 0)


if __name__ == "__main__":
    main()
