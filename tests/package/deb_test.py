#!/usr/bin/env python3
"""Makes the Debian package with `cpack` and checks it: the fields that apt uses, the files, the documents
that Debian requires. If lintian is installed it must find no error.

usage: deb_test.py BUILD_FOLDER VERSION      exit status 1 when something is not as it should be;
                                             77 where there is no cpack, or no Debian
"""
import ast
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = ["usr/bin/cleave", "usr/share/bash-completion/completions/cleave",
         "usr/share/doc/cleave/changelog.Debian.gz", "usr/share/doc/cleave/changelog.gz",
         "usr/share/doc/cleave/copyright", "usr/share/fish/vendor_completions.d/cleave.fish",
         "usr/share/man/man1/cleave.1.gz", "usr/share/zsh/vendor-completions/_cleave"]
PROJECT = Path(__file__).resolve().parent.parent.parent
# Compilers that `lower` knows, and the scripts that talk to them.
BACKENDS = ["samples/backends/*", "scripts/backends/*.py"]
# The scripts that cleave starts, and the modules that runner.py imports by their names.
STARTED = ["capture_inputs", "capture_torch", "convert_opset", "runner", "onnx_chain", "onnx_deployed", "onnx_phases",
           "onnx_steps", "tflite_chain", "torch_chain"]


def with_imports(names):
    """These modules of scripts/ and those of scripts/ that they import."""
    found, left = set(), list(names)
    while left:
        path = PROJECT / "scripts" / f"{left.pop()}.py"
        if path in found or not path.exists():
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                left += [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                left.append(node.module)
    return found


class Test:
    def __init__(self):
        self.faults = 0

    def expect(self, holds, what):
        if not holds:
            self.faults += 1
            print(f"wrong: {what}")

    def fields(self, package, version):
        text = output("dpkg-deb", "--field", package)
        fields = dict(re.findall(r"^([A-Z][\w-]*): (.*(?:\n .*)*)", text, re.M))
        self.expect(fields["Package"] == "cleave", fields)
        self.expect(fields["Version"] == f"{version}-1", fields["Version"])
        self.expect(re.fullmatch(r"[^<]+ <[^@ ]+@[^> ]+>", fields["Maintainer"]), fields["Maintainer"])
        libraries = re.findall(r"[\w.+-]+", fields["Depends"])
        for library in ("libc6", "libonnx1"):
            self.expect(any(name.startswith(library) for name in libraries), fields["Depends"])
        self.expect(fields["Recommends"] == "libgvc6", fields["Recommends"])
        summary, _, rest = fields["Description"].partition("\n")
        self.expect(0 < len(summary) < 80 and "why" in rest, fields["Description"])

    def contents(self, package, version):
        listed = output("dpkg-deb", "--contents", package)
        found = sorted(re.findall(r" \./(\S*[^/\s])$", listed, re.M))
        files = {path for pattern in BACKENDS for path in PROJECT.glob(pattern)} | with_imports(STARTED)
        wanted = FILES + [f"usr/share/cleave/{path.relative_to(PROJECT)}" for path in files]
        wanted += [f"usr/share/cleave/lists/{path.name}" for pattern in ("*.json", "LICENSE*.txt")
                   for path in PROJECT.glob(f"samples/lists/{pattern}")]
        self.expect(found == sorted(wanted), f"files: {sorted(set(found) ^ set(wanted))}")
        self.expect(not re.search(r"^.....w|^........w", listed, re.M), f"others may write: {listed}")
        with tempfile.TemporaryDirectory() as folder:
            output("dpkg-deb", "--extract", package, folder)
            share = Path(folder) / "usr" / "share"
            page = gzip.decompress((share / "man/man1/cleave.1.gz").read_bytes()).decode()
            self.expect(page.startswith(".TH CLEAVE 1") and "--keep-acc-subgraphs" in
                        page.replace("\\-", "-"), "the man page")
            terms = (share / "doc/cleave/copyright").read_text()
            self.expect("common-licenses/Apache-2.0" in terms and "@" not in
                        re.sub(r"<\S+@\S+>", "", terms), terms)
            changes = gzip.decompress((share / "doc/cleave/changelog.Debian.gz").read_bytes()).decode()
            self.expect(changes.startswith(f"cleave ({version}-1) "), changes)
            said = output(Path(folder) / "usr/bin/cleave", "--version")
            self.expect(said.startswith(f"cleave {version}\n"), said)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=250).stdout


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, version = Path(sys.argv[1]).resolve(), sys.argv[2]
    missing = [tool for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps") if shutil.which(tool) is None]
    if missing or not Path("/usr/share/doc/libgvc6").exists():
        print(f"skipped: this is no Debian with {', '.join(missing) or 'libgvc6'}")
        sys.exit(77)
    test = Test()
    with tempfile.TemporaryDirectory() as folder:
        output("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", folder)
        [package] = Path(folder).glob("*.deb")
        test.fields(package, version)
        test.contents(package, version)
        if shutil.which("lintian"):
            found = subprocess.run(["lintian", "--allow-root", package], capture_output=True, text=True,
                                   timeout=250, check=False).stdout
            test.expect(not re.search(r"^E: ", found, re.M), found)
    print(f"{test.faults} faults")
    sys.exit(1 if test.faults else 0)


if __name__ == "__main__":
    main()
