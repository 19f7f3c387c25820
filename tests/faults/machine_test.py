#!/usr/bin/env python3
"""Tests cleave on a machine with faults. Cases, each a separate test:

  full-disk   a tmpfs of every size from 4 KiB up to one that suffices; also a limit on file sizes
  read-only   the folder to write to is mounted read-only, or is a file
  memory      limits on the address space, from too small for a start up to enough; skipped with
              sanitizers, which map terabytes of addresses
  stdout      standard output has a reader that left, is closed, or is full
  inputs      pipes as inputs; an input that is truncated while cleave waits for another; external data
              that is missing or changes

usage: machine_test.py CASE CLEAVE [--sanitized]
Prints a line for each fault found. Exit status 1 if there is one, 77 if the machine cannot be made to
fail that way (no right to mount).
"""

import argparse
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from outputs import COMMANDS, INPUTS, SAMPLES, Command, Scene

SKIPPED = 77
found = []
runs = 0


def expect(holds, what):
    if not holds:
        found.append(what)
        print(what)


def run(cleave, arguments, folder, limits=(), **options):
    global runs
    runs += 1

    def set_limits():
        for kind, most in limits:
            resource.setrlimit(kind, (most, most))

    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("stdin", subprocess.DEVNULL)
    words = arguments.split() if isinstance(arguments, str) else arguments
    done = subprocess.run([cleave, *words], cwd=folder, timeout=120, check=False,
                          preexec_fn=set_limits if limits else None, **options)
    return done.returncode, (done.stderr or b"").decode(errors="replace"), done.stdout


# ---- mounts: in a namespace of our own, so that they go with us ----
def enter_namespace():
    """Starts this script again where it may mount; ends it as skipped where it may not."""
    if os.environ.get("CLEAVE_MAY_MOUNT") == "1":
        return
    for flags in (["-m"], ["-U", "-r", "-m"]):
        probe = ["unshare", *flags, "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        try:
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                os.environ["CLEAVE_MAY_MOUNT"] = "1"
                os.execvp("unshare", ["unshare", *flags, sys.executable, *sys.argv])
        except FileNotFoundError:
            break
    print("skipped: nothing can be mounted here, not even in a namespace of one's own")
    sys.exit(SKIPPED)


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


class Mounted:
    """A folder with what `start` holds, on a file system of its own."""

    def __init__(self, start, kibibytes):
        self.path = tempfile.mkdtemp(prefix="cleave-faults-")
        mount("-t", "tmpfs", "-o", f"size={kibibytes}k", "none", self.path)
        shutil.copytree(start, self.path, dirs_exist_ok=True)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)
        os.rmdir(self.path)


def check_full_disk(cleave):
    enter_namespace()
    for command in COMMANDS:
        with Scene(cleave, command) as scene:
            taken = sum((len(data) + 4095) // 4096 for data in scene.before.values())
            codes = []
            for pages in (*range(0, 40, 3), 64, 128, 1024):
                with Mounted(scene.start, 4 * (taken + 2 + pages)) as folder:
                    code, error, _ = run(cleave, command.arguments, folder)
                    codes.append(code)
                    what = f"{command.name}, {pages} pages free"
                    expect(code in (0, 4), f"{what}: exit code {code}: {error}")
                    expect(code == 0 or "No space left on device" in error, f"{what}: {error}")
                    for line in scene.faults(folder, code):
                        expect(False, f"{what}: {line}")
            expect(codes[0] == 4 and codes[-1] == 0, f"{command.name}: exit codes {codes}")
    check_file_sizes(cleave)


def check_file_sizes(cleave):
    for command in COMMANDS:
        with Scene(cleave, command) as scene:
            for most in (0, 1, 1000, 5000):
                with scene.copy() as folder:
                    code, error, _ = run(cleave, command.arguments, folder,
                                         [(resource.RLIMIT_FSIZE, most)])
                    what = f"{command.name}, files of at most {most} bytes"
                    expect(code in (0, 4) and (most > 1 or code == 4), f"{what}: exit code {code}")
                    expect(code == 0 or "File too large" in error, f"{what}: {error}")
                    for line in scene.faults(folder, code):
                        expect(False, f"{what}: {line}")


def check_read_only(cleave):
    enter_namespace()
    for command in COMMANDS:
        with Scene(cleave, command) as scene, scene.copy() as folder:
            mount("--bind", folder, folder)
            mount("-o", "remount,bind,ro", folder)
            code, error, _ = run(cleave, command.arguments, folder)
            expect(code == 4, f"{command.name}, read-only: exit code {code}")
            expect("Read-only file system" in error, f"{command.name}, read-only: {error}")
            subprocess.run(["umount", folder], check=True)
            for line in scene.faults(folder, code):
                expect(False, f"{command.name}, read-only: {line}")
    check_paths_taken(cleave)


# A file where a folder is to be made, and a folder where a file is.
def check_paths_taken(cleave):
    for command in COMMANDS:
        if command.units == ("*",):
            continue
        taken = Command(command.name, command.arguments, command.units)
        with Scene(cleave, taken) as scene, scene.copy() as folder:
            for unit in taken.units:
                path = Path(folder) / unit
                if "." in unit:
                    path.mkdir()
                else:
                    path.write_text("mine")
            code, error, _ = run(cleave, command.arguments, folder)
            expect(code == 4, f"{command.name}, path taken: exit code {code}: {error}")
            for unit in taken.units:
                path = Path(folder) / unit
                expect(path.is_dir() if "." in unit else path.read_text() == "mine",
                       f"{command.name}: {unit} was replaced")


# Graphviz needs more memory than the rest: a page without its drawings is complete when it says so.
def take_page_without_drawings(scene, folder, error):
    page = Path(folder) / "p.html"
    if not page.exists() or "the page " not in error:
        return
    text = page.read_text()
    expect("no drawing" in text or "in groups: " in text, f"the page does not say: {error}")
    expect(text.rstrip().endswith("</html>"), "the page has no end")
    page.write_bytes(scene.after["p.html"])


def check_memory(cleave):
    for command in COMMANDS:
        with Scene(cleave, command) as scene:
            codes = []
            for mebibytes in (*range(20, 60, 4), 80, 150, 200, 400, 700, 900, 2000):
                with scene.copy() as folder:
                    code, error, _ = run(cleave, command.arguments, folder,
                                         [(resource.RLIMIT_AS, mebibytes << 20)])
                    what = f"{command.name}, {mebibytes} MiB"
                    # 127: the system could not even load the program's libraries.
                    expect(code in (0, 71, 127), f"{what}: exit code {code}: {error}")
                    expect(code != 71 or "out of memory" in error, f"{what}: {error}")
                    if code == 0:
                        take_page_without_drawings(scene, folder, error)
                    for line in scene.faults(folder, code):
                        expect(False, f"{what}: {line}")
                    codes.append(code)
            expect(codes[-1] == 0, f"{command.name}: exit codes {codes}")


def with_inputs():
    folder = tempfile.TemporaryDirectory(prefix="cleave-faults-")
    for name in INPUTS:
        shutil.copy(SAMPLES / name, folder.name)
    return folder


REPORTS = ("draw resnet18.json -s npu.json", "inspect resnet18.json --show nodes", "convert attention.onnx",
           "preview resnet18.json -s npu.json --json", "preview resnet18.json -s npu.json --show ops",
           "explain resnet18.json conv1 -s npu.json", "advise resnet18.json -s npu.json",
           "diff resnet18.json -s npu.json to --min-acc-module-size 2", "lists lint npu.json",
           "stage resnet18.json --stages 2", "preview resnet18.json --map resnet18_parts.csv",
           "--help", "split --help", "--version", "help bash", "help man",
           "check resnet18.json -s npu.json --min coverage=10%")


def left_reader():
    """A pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def runs_of_split(cleave, folder):
    """Commands of which Python prints the report; none where it has no runtime."""
    if not all(map(importlib.util.find_spec, ("onnx", "onnxruntime", "numpy"))):
        return ()
    code, error, _ = run(cleave, "split mobile_block.onnx -s tiny_npu.txt --dim N=1 --drawings none -o runs", folder)
    expect(code == 0, f"split: {error}")
    return f"run runs --python {sys.executable}", f"verify mobile_block.onnx runs --python {sys.executable}"


def check_stdout(cleave):
    with with_inputs() as folder:
        for report in (*REPORTS, *runs_of_split(cleave, folder)):
            pipe = left_reader()
            code, error, _ = run(cleave, report, folder, stdout=pipe)
            os.close(pipe)
            expect((code, error) == (0, ""), f"{report}, reader left: exit code {code}: {error}")
            begin = "cleave: error: standard output cannot be written: "
            with open("/dev/full", "wb") as full:
                code, error, _ = run(cleave, report, folder, stdout=full)
            expect((code, error) == (4, f"{begin}No space left on device\n"), f"{report}, full: {code} {error}")
            code, error, _ = run_closed(cleave, report, folder, ">&-")
            expect((code, error) == (4, f"{begin}Bad file descriptor\n"), f"{report}, closed: {code} {error}")
        check_verdict(cleave, folder)
    check_closed(cleave)
    check_pipe_that_does_not_block(cleave)


def run_closed(cleave, arguments, folder, redirection):
    """With descriptors closed by the shell."""
    global runs
    runs += 1
    done = subprocess.run(["bash", "-c", f'exec "$0" {arguments} {redirection}', cleave], cwd=folder,
                          capture_output=True, check=False)
    return done.returncode, done.stderr.decode(errors="replace"), done.stdout


# A gate that does not hold does not hold for want of a reader either.
def check_verdict(cleave, folder):
    pipe = left_reader()
    code, _, _ = run(cleave, "check resnet18.json -s npu.json --min coverage=99%", folder, stdout=pipe)
    os.close(pipe)
    expect(code == 1, f"check that fails, reader left: exit code {code}")


# Files get no descriptor that stands for a standard stream: they hold what they should.
def check_closed(cleave):
    for command in COMMANDS:
        with Scene(cleave, command) as scene:
            for redirection in (">&-", "<&- >&-", "<&- >&- 2>&-", "2>&-"):
                with scene.copy() as folder:
                    code, error, _ = run_closed(cleave, command.arguments, folder, redirection)
                    what = f"{command.name} {redirection}"
                    expect(code in (0, 4), f"{what}: exit code {code}: {error}")
                    for line in scene.faults(folder, 0):
                        expect(False, f"{what}: {line}")
            with scene.copy() as folder:
                pipe = left_reader()
                code, error, _ = run(cleave, command.arguments, folder, stdout=pipe)
                os.close(pipe)
                expect(code == 0, f"{command.name}, reader left: exit code {code}: {error}")
                for line in scene.faults(folder, 0):
                    expect(False, f"{command.name}, reader left: {line}")


def check_pipe_that_does_not_block(cleave):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    pieces = []

    def read_all():
        while piece := os.read(reader, 1000):
            pieces.append(piece)

    with with_inputs() as folder:
        thread = threading.Thread(target=read_all)
        thread.start()
        arguments = "preview resnet18.json -s npu.json --json"
        code, error, _ = run(cleave, arguments, folder, stdout=writer)
        os.close(writer)
        thread.join()
        os.close(reader)
        wanted = run(cleave, arguments, folder)[2]
        expect(code == 0, f"pipe that does not block: exit code {code}: {error}")
        expect(b"".join(pieces) == wanted, "pipe that does not block: not all of the report")


# ---- inputs ----
def feed(path, data):
    thread = threading.Thread(target=lambda: Path(path).write_bytes(data))
    thread.start()
    return thread


def check_inputs(cleave):
    with with_inputs() as name:
        folder = Path(name)
        check_pipes(cleave, folder)
        check_cut_while_waiting(cleave, folder)
    check_external_data(cleave)


def check_pipes(cleave, folder):
    listing, model = folder / "npu.json", folder / "resnet18.json"
    map_file = folder / "resnet18_parts.csv"
    wanted = run(cleave, "draw resnet18.json -s npu.json", folder)[2]
    os.mkfifo(folder / "pipe")
    for arguments, data, same in (
            ("draw pipe -s npu.json", model, wanted.replace(b"resnet18: ", b"pipe: ")),  # named in its title
            ("draw resnet18.json -s pipe", listing, None),
            ("preview resnet18.json --map pipe", map_file, None),
            ("diff pipe -s npu.json to --min-acc-module-size 2", model, None),
            ("split pipe -s npu.json -o from_pipe", model, None)):
        thread = feed(folder / "pipe", data.read_bytes())
        code, error, out = run(cleave, arguments, folder)
        thread.join()
        expect(code == 0, f"{arguments}: exit code {code}: {error}")
        expect(same is None or out == same, f"{arguments}: differs from the file")
    for data, code_wanted in ((model.read_bytes(), 0), (b"", 3), (b"{", 3)):
        done = subprocess.run([cleave, "draw", "-", "-s", "npu.json"], cwd=folder, input=data,
                              capture_output=True, check=False)
        expect(done.returncode == code_wanted, f"standard input: exit code {done.returncode}")
        expect(code_wanted != 0 or done.stdout == wanted, "standard input: differs from the file")
    done = subprocess.run(["bash", "-c", '"$0" draw <(cat resnet18.json) -s <(cat npu.json)', cleave],
                          cwd=folder, capture_output=True, check=False)
    same = len(done.stdout.splitlines()) == len(wanted.splitlines())  # its name stands in some
    expect(done.returncode == 0 and same, f"<(cat ...): differs from the file: {done.stderr!r}")
    code, error, _ = run(cleave, "draw - -s npu.json", folder, stdin=open(model, "rb"),
                         env=dict(os.environ, TMPDIR="/nowhere"))
    expect(code == 0, f"a file as standard input needs no temporary folder: {code} {error}")
    done = subprocess.run([cleave, "draw", "-", "-s", "npu.json"], cwd=folder, input=b"{}",
                          env=dict(os.environ, TMPDIR="/nowhere"), capture_output=True, check=False)
    expect(done.returncode == 3 and b"TMPDIR" in done.stderr, f"no temporary folder: {done}")


# The model is mapped when cleave waits for the map of its parts, which comes through a pipe.
def check_cut_while_waiting(cleave, folder):
    for size in (0, 4096, 5000):
        with Scene(cleave, Command("", "convert resnet18.json -o out.json", ("out.json",))) as scene, \
                scene.copy() as copy:
            os.mkfifo(Path(copy) / "pipe")
            data = (folder / "resnet18_parts.csv").read_bytes()

            def cut(copy=copy, size=size, data=data):
                with open(Path(copy) / "pipe", "wb") as pipe:  # waits for the reader
                    os.truncate(Path(copy) / "resnet18.json", size)
                    pipe.write(data)

            thread = threading.Thread(target=cut)
            thread.start()
            code, error, _ = run(cleave, "split resnet18.json --map pipe -o out", copy)
            thread.join()
            expect(code == 3, f"cut to {size} bytes: exit code {code}: {error}")
            expect("resnet18.json: error: was changed while it was read" in error,
                   f"cut to {size} bytes: {error}")
            expect(sorted(os.listdir(copy)) == sorted([*INPUTS, "pipe"]),
                   f"cut to {size} bytes: leaves {sorted(os.listdir(copy))}")


def external_model(data):
    """The bytes of an ONNX model whose one weight is `data`'s 4,000 bytes at weights.bin."""
    def field(number, payload):
        if isinstance(payload, int):
            return varint(number << 3) + varint(payload)
        payload = payload.encode() if isinstance(payload, str) else payload
        return varint(number << 3 | 2) + varint(len(payload)) + payload

    def varint(value):
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])

    def value(name):
        dim = field(1, field(1, 1000))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, dim)))

    def place(key, text):
        return field(13, field(1, key) + field(2, text))

    weight = (field(1, 1000) + field(2, 1) + field(8, "w") + place("location", data) +
              place("offset", "0") + place("length", "4000") + field(14, 1))
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(3, "add") + field(4, "Add")
    graph = (field(1, node) + field(2, "g") + field(5, weight) + field(11, value("x")) +
             field(12, value("y")))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def check_external_data(cleave):
    with tempfile.TemporaryDirectory(prefix="cleave-faults-") as name:
        folder = Path(name)
        (folder / "m.onnx").write_bytes(external_model("weights.bin"))
        (folder / "list.txt").write_text("Add\n")
        split = "split m.onnx -s list.txt -o out"
        code, error, _ = run(cleave, split, folder)
        expect(code == 3 and "weights.bin" in error, f"no external data: {code} {error}")
        (folder / "weights.bin").write_bytes(b"x" * 3999)
        code, error, _ = run(cleave, split, folder)
        expect(code == 3 and "weights.bin" in error, f"short external data: {code} {error}")
        os.remove(folder / "weights.bin")
        os.mkfifo(folder / "weights.bin")
        code, error, _ = run(cleave, split, folder)
        expect(code == 3 and "not a regular file" in error, f"external data in a pipe: {code} {error}")
        os.remove(folder / "weights.bin")
        expect(sorted(os.listdir(folder)) == ["list.txt", "m.onnx"], f"left: {os.listdir(folder)}")
        (folder / "weights.bin").write_bytes(b"x" * 4000)
        code, error, _ = run(cleave, split, folder)
        expect(code == 0, f"external data: {code} {error}")


CASES = {"full-disk": check_full_disk, "read-only": check_read_only, "memory": check_memory,
         "stdout": check_stdout, "inputs": check_inputs}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("cleave", type=os.path.abspath)
    parser.add_argument("--sanitized", action="store_true", help="the build has sanitizers")
    options = parser.parse_args()
    if options.sanitized and options.case == "memory":
        print("skipped: sanitizers map terabytes of addresses, so that no limit on them tells anything")
        sys.exit(SKIPPED)
    CASES[options.case](options.cleave)
    print(f"{runs} runs, {len(found)} faults")
    sys.exit(1 if found or not runs else 0)


if __name__ == "__main__":
    main()
