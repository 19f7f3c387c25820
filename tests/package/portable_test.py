#!/usr/bin/env python3
"""Packs the wheel, the archive and Debian's package of a build and uses them as a machine would that has neither Graphviz nor
what cleave is built with: installs the wheel into a fresh environment, splits from Python and by the command, and unpacks
the others, of which Debian's needs its libraries.

usage: portable_test.py BUILD_FOLDER      exit status 1 when something is not as it should be; 77 where this Python makes
                                          no environments with pip, or this is no Debian
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
MOST_BYTES = 12 << 20
SPLIT = ["split", PROJECT / "samples/mobile_block.onnx", "-s", PROJECT / "samples/tiny_npu.txt", "--dim", "N=1", "-o"]
CALL = """
import sys, cleave
from cleave.results.report import Report
report = cleave.split(sys.argv[1], sys.argv[2], sys.argv[3], dim={"N": 1}, min_acc_module_size=2)
assert isinstance(report, Report)
print(len(report.partitions), report.cpu_reasons[0].detail)
try:
    cleave.preview("no_such_model.onnx", sys.argv[2])
except cleave.Error as error:
    print(error.exit_code)
"""
EVERYWHERE = re.compile(r"(?:libc|libm|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so")
BESIDE_PYTHON = re.compile(rf"{EVERYWHERE.pattern}|libz\.so")  # manylinux counts zlib among what every machine has


class Test:
    def __init__(self, scratch):
        self.faults, self.scratch = 0, scratch
        # As a shell of the new environment has it: no Graphviz, no compiler.
        self.environment = {"PATH": str(scratch / "env/bin"), "HOME": str(scratch), "LANG": "C.UTF-8"}

    def expect(self, holds, what):
        if not holds:
            self.faults += 1
            print(f"wrong: {what}")

    def run(self, *command, code=0):
        done = subprocess.run([str(word) for word in command], cwd=self.scratch, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        self.expect(done.returncode == code, f"{command} exits {done.returncode}: {done.stdout}")
        return done.stdout

    def libraries_are_inside(self, program, folder, everywhere):
        for name, path in re.findall(r"^\s*(\S+) => (\S+)", subprocess.run(
                ["ldd", program], capture_output=True, text=True, check=True).stdout, re.M):
            inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
            self.expect(inside or everywhere.match(name), f"{name} is {path}")

    def no_layout(self, program):
        """As on a machine without Graphviz's library: the program asks for it by this name."""
        program.write_bytes(program.read_bytes().replace(b"libgvc.so.", b"libgvX.so."))
        draw = ["draw", *SPLIT[1:-1], "--show", "preview"]
        said = self.run(program, *draw, "-o", "x.svg", code=5)
        self.expect("Graphviz, which lays drawings out, is not installed" in said, said)
        self.expect("digraph" in self.run(program, *draw), "draw of dot")

    def wheel(self, wheel):
        self.expect(re.fullmatch(r"cleave_graph-[\d.]+-py3-none-manylinux_2_\d+_x86_64\.whl", wheel.name), wheel.name)
        with zipfile.ZipFile(wheel) as archive:
            self.expect(archive.testzip() is None, "the wheel is damaged")
        python = self.scratch / "env/bin/python"
        venv.create(self.scratch / "env", with_pip=True)
        self.run(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel)
        printed = self.run(python, "-W", "error", "-c", CALL, SPLIT[1], SPLIT[3], self.scratch / "from_python")
        self.expect(printed == '6 the list does not have op "GlobalAveragePool"\n3\n', printed)
        command = self.scratch / "env/bin/cleave"
        self.run(command, *SPLIT, self.scratch / "from_command")
        self.expect((self.scratch / "from_command/manifest.json").is_file(), "the command writes no manifest.json")
        self.expect("coreml" in self.run(command, "lists", "show"), "lists that are known by name")
        self.expect("tract" in self.run(command, "backend", "list"), "backends that are known by name")
        said = self.run(python, "-m", "cleave", "verify", SPLIT[1], "from_command", code=77)
        self.expect("pip install onnx onnxruntime numpy" in said, said)
        [package] = (self.scratch / "env/lib").glob("python*/site-packages/cleave")
        self.libraries_are_inside(package / "program/bin/cleave", package.parent / "cleave_graph.libs", BESIDE_PYTHON)
        self.no_layout(package / "program/bin/cleave")

    def archive(self, path):
        with tarfile.open(path) as archive:
            archive.extractall(self.scratch)
        root = self.scratch / path.name.removesuffix(".tar.gz")
        self.libraries_are_inside(root / "bin/cleave", root / "lib", EVERYWHERE)
        self.run(root / "bin/cleave", *SPLIT, self.scratch / "from_archive")
        self.expect((self.scratch / "from_archive/root.onnx").is_file(), "the archive's program writes no root.onnx")
        self.expect("coreml" in self.run(root / "bin/cleave", "lists", "show"), "lists that are known by name")
        for file in ("share/man/man1/cleave.1.gz", "share/bash-completion/completions/cleave", "share/doc/cleave/LICENSE"):
            self.expect((root / file).is_file(), f"{file} is not in the archive")

    def deb(self, path):
        root = self.scratch / "deb"
        subprocess.run(["dpkg-deb", "-x", path, root], check=True)
        self.run(root / "usr/bin/cleave", *SPLIT, self.scratch / "from_deb")
        self.expect((self.scratch / "from_deb/root.onnx").is_file(), "the program of the .deb writes no root.onnx")
        self.expect("coreml" in self.run(root / "usr/bin/cleave", "lists", "show"), "lists that are known by name")

    def image(self, path):
        """The folder of an image needs nothing of this machine; where there is a builder, the image splits a model."""
        folder = self.scratch / "image"
        subprocess.run([sys.executable, PROJECT / "scripts/dev/image/image.py", path, folder], check=True,
                       stdout=subprocess.DEVNULL)
        root = folder / "root"
        (root / "work/model.onnx").write_bytes(SPLIT[1].read_bytes())
        (root / "work/list.txt").write_bytes(SPLIT[3].read_bytes())
        split = ["split", "/work/model.onnx", "-s", "/work/list.txt", "--dim", "N=1", "-o", "/work/parts"]
        if os.geteuid() == 0:
            chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
            done = subprocess.run([chroot, root, "/bin/cleave", *split], env={}, capture_output=True, text=True)
            self.expect(done.returncode == 0 and (root / "work/parts/manifest.json").is_file(),
                        f"alone in its folder: {done.stdout}{done.stderr}")
            shutil.rmtree(root / "work/parts", ignore_errors=True)
        builder = next((one for one in ("docker", "podman", "buildah") if shutil.which(one) and subprocess.run(
            [one, "info"], capture_output=True).returncode == 0), None)
        if builder is None:
            return print("skipped: building the image, for want of docker, podman or buildah that runs")
        build = [builder, "bud" if builder == "buildah" else "build", "-q", "-t", "cleave-test", folder]
        done = subprocess.run(build, capture_output=True, text=True)
        self.expect(done.returncode == 0, f"{builder} build: {done.stdout}{done.stderr}")
        if builder != "buildah" and done.returncode == 0:
            done = subprocess.run([builder, "run", "--rm", "cleave-test", *split[:-1], "/tmp/parts"], capture_output=True,
                                  text=True)
            self.expect(done.returncode == 0, f"{builder} run: {done.stdout}{done.stderr}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        print("skipped: this Python has no ensurepip")
        sys.exit(77)
    if shutil.which("dpkg-query") is None:
        print("skipped: this is no Debian")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        made = []
        for name in ("dist", "again"):
            done = subprocess.run([sys.executable, PROJECT / "scripts/package/portable.py", sys.argv[1], scratch / name],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stdout + done.stderr)
            made.append({path.name: path for path in (scratch / name).iterdir()})
        print(done.stdout, end="")
        test = Test(scratch)
        for name, path in made[0].items():
            test.expect(path.stat().st_size <= MOST_BYTES, f"{name} has more than 12 MiB")
            if path.suffix != ".deb":  # which has the times of its files
                test.expect(path.read_bytes() == made[1][name].read_bytes(), f"{name} has other bytes each time")
        test.wheel(next(path for name, path in made[0].items() if name.endswith(".whl")))
        archive = next(path for name, path in made[0].items() if name.endswith(".tar.gz"))
        test.archive(archive)
        for package in (path for name, path in made[0].items() if name.endswith(".deb")):
            test.deb(package)
        test.image(archive)
    print(f"{test.faults} faults")
    sys.exit(1 if test.faults else 0)


if __name__ == "__main__":
    main()
