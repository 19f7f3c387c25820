#!/usr/bin/env python3
"""Times cleave and programs that do the same or a part of it, on the same models, in one run.

usage: bench_peers.py CLEAVE --python PYTHON [--residual N,N...] [--onnx N,N...] [--megabytes N,N...]
                      [--repeat N] [--limit SECONDS] [--folder DIR] [--record]
       bench_peers.py --write-table

Prints a table in Markdown: for each model the time of cleave, that of the other, and the ratio. Both are whole
processes, with their start, imports, reading and writing: peer_work.py does what a peer does, one fresh
process for each repetition. One program runs at a time, cleave and its peers by turns, each into a new folder,
in memory if there is room; the fastest repetition counts. A peer that takes longer than the limit is ended, and
not asked again.

PYTHON has the peers: pip install torch numpy onnx onnxruntime openvino polygraphy onnx-graphsurgeon onnx-tool. What it lacks is
left out and named below the table. The models are chains of small operators in torch.fx (--residual,
by nodes) and ONNX (--onnx, by nodes; the program cleave_make_graph of the same build makes them), and ONNX
models of few nodes with large weights (--megabytes). Where a peer divides as cleave does, both must make the same
number of parts.

--record writes tests/bench/peers.json, and the table in tests/bench/README.md from it; --write-table does the
latter alone, and a test fails where the two differ.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from peer_work import ONNX_PEERS, PEERS, TORCH_PEERS

DEV = Path(__file__).resolve().parent
BENCH = DEV.parent.parent / "tests/bench"
RECORD, README = BENCH / "peers.json", BENCH / "README.md"
BEGIN, END = "<!-- scripts/dev/bench_peers.py writes this table -->", "<!-- end of the table -->"
COPY = "cp of what it wrote"
GOAL_MODEL, GOAL_PEERS = "torch.fx, 30,000 nodes", "torch.fx splitter"
GOALS = {"preview": 300, "split": 60}


# ---- the table, from what is recorded ----


def seconds_text(seconds):
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def ratio_text(ratio):
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def row_text(row):
    """A row has "seconds" of the peer, or "limit", or "fault" where it cannot do it."""
    own = row["cleave_seconds"]
    if "seconds" in row:
        takes, ratio = seconds_text(row["seconds"]), ratio_text(row["seconds"] / own)
    elif "limit" in row:
        takes, ratio = f"> {row['limit']:,} s", f"> {ratio_text(row['limit'] / own)}"
    else:
        takes, ratio = "fails", "-"
    cells = [row["model"], f"`{row['command']}`", seconds_text(own), row["peer"], takes, ratio]
    return f"| {' | '.join(cells)} |"


def goal_text(rows):
    """Where the goals stand."""
    told = []
    for command, goal in GOALS.items():
        for row in rows:
            is_it = row["model"] == GOAL_MODEL and row["command"] == command
            if is_it and row["peer"].startswith(GOAL_PEERS) and "seconds" in row:
                ratio = row["seconds"] / row["cleave_seconds"]
                stands = "met" if ratio >= goal else "missed"
                told.append(f"`{command}` {goal} times, {stands} with {ratio_text(ratio)}")
    return f"Goals beside the splitter of torch.fx at 30,000 nodes: {'; '.join(told) or 'not measured in this run'}."


def table_text(record):
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [
        f"{record['date']}, {record['machine']}; {versions}; files {record['place']}; the best of {record['repeat']}.",
        "",
        "| model | cleave | takes | peer | takes | ratio |",
        "| --- | --- | ---: | --- | ---: | ---: |",
        *map(row_text, record["rows"]),
    ]
    faults = [f"{row['peer']} fails on {row['model']}: {row['fault']}." for row in record["rows"] if "fault" in row]
    missing = f"Not installed, left out: {', '.join(record['missing'])}." if record["missing"] else ""
    for paragraph in filter(None, [goal_text(record["rows"]), *faults, missing]):
        lines += ["", paragraph]
    return "\n".join(lines)


def with_table(readme, record):
    """The text of the README with the table between its markers."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table_text(record)}\n{END}{after}"


def write_table():
    README.write_text(with_table(README.read_text(), json.loads(RECORD.read_text())))


# ---- measuring ----


def is_in_memory(folder):
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True)
    return done.stdout.strip() == "tmpfs"


class Fresh:
    """Paths in a folder, each used by one repetition, where nothing is yet. On ext4 files are made several
    times as slowly where many have just been removed, so that all stay until the end; in memory, where
    room is short and removing has no such effect, one at a time."""

    def __init__(self, folder, name):
        self.folder, self.name, self.path = Path(folder), name, None
        self.used, self.removes = 0, is_in_memory(folder)

    def next(self):
        if self.removes and self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        self.path = self.folder / f"{self.name}{self.used}"
        self.used += 1
        return self.path


class Ended(Exception):
    """A process that was not done within the limit."""


class Fault(Exception):
    """A process that fails, with its last words."""


def run(command, limit=None):
    """Seconds of the process, and what it prints."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Ended from None
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Fault(words[-1])
    return seconds, done.stdout


class Bench:
    def __init__(self, asked, folder):
        self.asked, self.folder = asked, Path(folder)
        self.rows = []
        self.out, self.peers_out = Fresh(folder, "out"), Fresh(folder, "peer")
        self.versions = self.installed()

    def installed(self):
        if not shutil.which(self.asked.python):
            return {}
        return json.loads(run([self.asked.python, DEV / "peer_work.py", "--installed"])[1])

    def missing(self):
        return sorted({peer.package for peer in PEERS.values()} - set(self.versions))

    # Both return the seconds, and what is printed.

    def cleave(self, command, arguments):
        writes = [] if command == "preview" else ["-o", self.out.next()]
        if command == "cut":  # it writes a file
            self.out.path.mkdir()
            writes = ["-o", self.out.path / "cut.onnx"]
        return run([self.asked.cleave, *command.split(), *arguments, *writes])

    def peer(self, name, folder):
        out = self.peers_out.next()
        if name == COPY:
            return run(["cp", "-r", "--reflink=never", self.out.path, out])
        out.mkdir()
        return run([self.asked.python, DEV / "peer_work.py", name, folder, out], self.asked.limit)

    def compare(self, model, command, arguments, names, folder):
        """Rows of one command of cleave and its peers, by turns."""
        own, taken = float("inf"), dict.fromkeys(names, {})
        for _ in range(self.asked.repeat):
            own = min(own, self.cleave(command, arguments)[0])
            for name, before in taken.items():
                if "limit" not in before and "fault" not in before:
                    taken[name] = self.next_of_peer(name, command, folder, before)
        for name, found in taken.items():
            peer = PEERS[name].does if name in PEERS else name
            row = {"model": model, "command": command, "cleave_seconds": own, "peer": peer, **found}
            self.rows.append(row)
            print(row_text(row), file=sys.stderr, flush=True)

    def next_of_peer(self, name, command, folder, before):
        try:
            seconds, printed = self.peer(name, folder)
        except Ended:
            return {"limit": self.asked.limit}
        except Fault as fault:
            return {"fault": str(fault)}
        if command == "split" and printed:
            parts = json.loads(printed)["parts"]
            own = len(self.parts())
            if own != parts:
                sys.exit(f"bench_peers.py: error: {name} makes {parts} parts, cleave {own}")
        return {"seconds": min(seconds, before.get("seconds", seconds))}

    def compare_all(self, model, peers, arguments, folder):
        """All installed peers on one model; `arguments` by command of cleave."""
        for command in dict.fromkeys(peer.beside for peer in peers.values()):
            names = [
                name for name, peer in peers.items() if peer.beside == command and peer.package in self.versions
            ]
            copies = [COPY] if command == "split" and peers is ONNX_PEERS else []
            if names:
                self.compare(model, command, arguments[command], [*names, *copies], folder)

    def parts(self):
        """Of cleave's last split."""
        return json.loads((self.out.path / "manifest.json").read_text())["partitions"]

    def new_folder(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder

    def make(self, kind, size, folder):
        run([self.asked.python, DEV / "peer_models.py", kind, size, folder])

    def residual(self, nodes):
        folder = self.new_folder(f"residual{nodes}")
        self.make("residual", nodes, folder)
        split = [folder / "model.json", "-s", folder / "support.json"]
        by_map = [folder / "map.json", folder / "model.json"]
        arguments = {"preview": split, "split": split, "split --map": by_map}
        self.compare_all(f"torch.fx, {nodes:,} nodes", TORCH_PEERS, arguments, folder)

    def node_heavy(self, nodes):
        folder = self.new_folder(f"onnx{nodes}")
        program = Path(self.asked.cleave).parent / "tests/bench/cleave_make_graph"
        for name, words in {"model.onnx": ["onnx", str(nodes)], "support.txt": ["onnx-support"]}.items():
            with open(folder / name, "wb") as file:
                subprocess.run([program, *words], stdout=file, check=True)
        (folder / "inputs.json").write_text(json.dumps({"x": [1, 4, 56, 56]}))
        self.onnx(f"ONNX, {nodes:,} nodes", folder, "support.txt")

    def weight_heavy(self, megabytes):
        folder = self.new_folder(f"weights{megabytes}")
        self.make("weights", megabytes, folder)
        self.onnx(f"ONNX, {megabytes:,} MB of weights", folder, "support.json")

    def onnx(self, name, folder, support):
        """Split once, for the names of the parts that the peers extract."""
        split = [folder / "model.onnx", "-s", folder / support]
        self.cleave("split", split)
        parts = self.parts()
        largest = max(parts, key=lambda part: len(part["nodes"]))
        for part in parts:
            for side in ("inputs", "outputs"):
                part[side] = [value["name"] for value in part[side]]
        kept = [{key: part[key] for key in ("name", "inputs", "outputs")} for part in parts]
        (folder / "parts.json").write_text(json.dumps(kept))
        (folder / "cut.json").write_text(json.dumps({key: largest[key] for key in ("inputs", "outputs")}))
        cut = [folder / "model.onnx"]
        for option, side in (("--from", "inputs"), ("--to", "outputs")):
            for value in largest[side]:
                cut += [option, value]
        self.compare_all(name, ONNX_PEERS, {"preview": split, "split": split, "cut": cut}, folder)

    def all(self):
        if "torch" in self.versions:
            for nodes in self.asked.residual:
                self.residual(nodes)
        if "onnx" in self.versions:  # it makes the models, too
            for nodes in self.asked.onnx:
                self.node_heavy(nodes)
            for megabytes in self.asked.megabytes:
                self.weight_heavy(megabytes)

    def record(self):
        version = run([self.asked.cleave, "--version"])[1].split()[1]
        return {
            "date": str(datetime.date.today()),
            "machine": machine_text(),
            "place": "in memory (tmpfs)" if is_in_memory(self.folder) else "on a disk",
            "repeat": self.asked.repeat,
            "versions": {"cleave": version, **self.versions},
            "missing": self.missing(),
            "rows": self.rows,
        }


def machine_text():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return f"{os.cpu_count()} cores of {found[1] if found else platform.machine()}"


def working_folder(megabytes):
    """/dev/shm where it has room for a model, its parts, and both again; else None: where temporary files go."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or not is_in_memory(memory):
        return None
    needed = (4 * max(megabytes, default=0) + 4000) * 1_000_000
    free = re.search(r"^MemAvailable: *(\d+) kB$", Path("/proc/meminfo").read_text(), re.M)
    has_room = free is not None and min(int(free[1]) * 1024, shutil.disk_usage(memory).free) >= needed
    return memory if has_room else None


def numbers(text):
    return [int(item) for item in text.split(",") if item]


def main():
    if sys.argv[1:] == ["--write-table"]:
        write_table()
        return
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("cleave", help="the program, from a release build")
    options.add_argument("--python", default=sys.executable, help="a Python that has the peers")
    options.add_argument("--residual", type=numbers, default=numbers("1000,30000"), help="nodes, torch.fx")
    options.add_argument("--onnx", type=numbers, default=numbers("100000"), help="nodes, ONNX")
    options.add_argument("--megabytes", type=numbers, default=numbers("1000"), help="of ONNX weights")
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--limit", type=int, default=300, help="seconds for a run of a peer")
    options.add_argument("--folder", help="where to work; in memory or a temporary folder when not given")
    options.add_argument("--record", action="store_true", help="write peers.json and the README's table")
    asked = options.parse_args()
    asked.cleave = str(Path(asked.cleave).resolve())
    with tempfile.TemporaryDirectory(dir=asked.folder or working_folder(asked.megabytes)) as folder:
        bench = Bench(asked, folder)
        try:
            bench.all()
        except Fault as fault:
            sys.exit(f"bench_peers.py: error: {fault}")
        record = bench.record()
    print(table_text(record))
    if asked.record:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        write_table()


if __name__ == "__main__":
    main()
