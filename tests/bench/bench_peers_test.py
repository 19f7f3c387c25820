#!/usr/bin/env python3
"""Tests scripts/dev/bench_peers.py: its workers do their work where their packages are installed, packages that are
not are named, and the README's table is what it writes from the recorded numbers.

usage: bench_peers_test.py ROOT CLEAVE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, CLEAVE = Path(sys.argv[1]), sys.argv[2]
SMALL = ["--residual", "90", "--onnx", "300", "--megabytes", "1", "--repeat", "1", "--limit", "60"]
sys.path.insert(0, str(ROOT / "scripts/dev"))
import bench_peers
import peer_work


def table_of(*options):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, ROOT / "scripts/dev/bench_peers.py", CLEAVE, "--folder", folder, *SMALL]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench_peers.py {' '.join(options)} exits {done.returncode}:\n{done.stderr}")
    return done.stdout


def check(is_so, what, text):
    if not is_so:
        sys.exit(f"{what}:\n{text}")


# ---- the table is the recorded numbers' ----

record = json.loads(bench_peers.RECORD.read_text())
readme = bench_peers.README.read_text()
check(bench_peers.with_table(readme, record) == readme, "the README's table is not that of peers.json",
      "scripts/dev/bench_peers.py --write-table writes it anew")
known = {peer.does for peer in peer_work.PEERS.values()} | {bench_peers.COPY}
shown = {row["peer"] for row in record["rows"]}
check(shown == known, "peers in the table without a worker, or the other way round", str(shown ^ known))
check(not record["missing"], "peers were not installed when the table was made", str(record["missing"]))

made = {"model": "m", "command": "split", "cleave_seconds": 0.5, "peer": "p"}
check(bench_peers.row_text({**made, "seconds": 5}) == "| m | `split` | 500 ms | p | 5.0 s | 10 |", "a row", "")
check(bench_peers.row_text({**made, "limit": 300}) == "| m | `split` | 500 ms | p | > 300 s | > 600 |", "a limit", "")
check(bench_peers.row_text({**made, "fault": "?"}) == "| m | `split` | 500 ms | p | fails | - |", "a fault", "")
goal = {**made, "model": bench_peers.GOAL_MODEL, "peer": bench_peers.GOAL_PEERS, "seconds": 20}
check("60 times, missed with 40" in bench_peers.goal_text([goal]), "a goal", bench_peers.goal_text([goal]))
check("not measured" in bench_peers.goal_text([]), "goals of a model that was not measured", "")

# ---- what is not installed is named ----

text = table_of("--python", "/there/is/no/python")
all_packages = ", ".join(sorted({peer.package for peer in peer_work.PEERS.values()}))
check(f"Not installed, left out: {all_packages}." in text, "what is not installed is not named", text)
check("| `" not in text, "something was timed", text)

# ---- what is installed does its work ----

text = table_of("--python", sys.executable)
lines = [line for line in text.splitlines() if "| `" in line]
timed = {line.split("|")[4].strip() for line in lines}
has = peer_work.installed()
for peer in peer_work.PEERS.values():
    is_made = peer.package in has and ("onnx" in has or peer.package == "torch")
    check((peer.does in timed) == is_made, f"{peer.does} is not timed where it is installed, or is elsewhere", text)
check(all(line.split("|")[6].strip() != "-" for line in lines), "a worker fails", text)
