#!/usr/bin/env python3
"""Packs cleave so that it runs where only the C and C++ libraries are: as a wheel for pip, pipx and uv, and as an archive.

usage: portable.py BUILD_FOLDER OUTPUT_FOLDER

  cleave-VERSION-py3-none-manylinux_2_N_x86_64.whl   the Python package, and the program in it
  cleave-VERSION-linux-x86_64.tar.gz                 bin, lib, share: the program with its man page and completions

1. The build makes the program with a path to ../lib (the target cleave_portable), and installs what belongs to it.
2. The libraries that it is linked with go to lib, stripped; those of every Linux stay out: glibc's, libstdc++, libgcc.
3. N is the oldest glibc that has all symbols that program and libraries need; libstdc++ and libgcc as old as that have
   theirs (PEP 600).
4. Both files are written with fixed times and order: the same build gives the same bytes.
"""

import base64
import hashlib
import io
import gzip
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
PYTHON = PROJECT / "scripts/python/cleave"
SCRIPTS = ("export_fx.py", "exported_graph.py", "sample_models.py", "run_split.py")  # more than are installed
EVERYWHERE = re.compile(r"(?:libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so\b|linux-vdso")
# The oldest glibc of distributions that have the libstdc++ with these symbols: auditwheel's policies.
GLIBC_OF_GLIBCXX = {(3, 4, 29): (2, 34), (3, 4, 30): (2, 35), (3, 4, 31): (2, 38), (3, 4, 32): (2, 39)}
NO_TIME = (1980, 1, 1, 0, 0, 0)
EXTRAS = {"onnx": ("numpy", "onnx", "onnxruntime"), "torch": ("torch",)}


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """The paths of the shared libraries, also of those that others need."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.M)
    return {name: Path(path) for name, path in found if not EVERYWHERE.match(name)}


def newest(files, prefix):
    """The highest version of symbols GLIBC_2.34 or GLIBCXX_3.4.30 that the files need."""
    versions = set()
    for file in files:
        versions.update(re.findall(rf"\b{prefix}_([0-9.]+)", output("objdump", "-T", file)))
    return max(tuple(map(int, version.split("."))) for version in versions)


def platform_tag(files):
    glibc, glibcxx = newest(files, "GLIBC"), newest(files, "GLIBCXX")
    policy = next((libc for symbols, libc in sorted(GLIBC_OF_GLIBCXX.items()) if glibcxx <= symbols), None)
    if policy is None:
        sys.exit(f"portable.py: no known glibc comes with GLIBCXX_{'.'.join(map(str, glibcxx))}")
    return "manylinux_{}_{}_x86_64".format(*max(glibc[:2], policy))


def terms_of(libraries):
    """Where Debian keeps the licences of what is linked: the libraries, and headers that are compiled in."""
    names = {"libcli11-dev", "nlohmann-json3-dev", "libprotozero-dev"}
    for path in libraries.values():
        names.add(output("dpkg-query", "-S", f"*/{path.resolve().name}").split(":")[0])
    return {f"{name}.txt": Path("/usr/share/doc") / name / "copyright" for name in sorted(names)}


def make_tree(build, tree):
    """The installed program with its libraries; returns the libraries."""
    subprocess.run(["cmake", "--build", build, "--target", "cleave", "cleave_portable", "shell_files", "package_files"],
                   check=True, stdout=subprocess.DEVNULL)
    output("cmake", "--install", build, "--prefix", tree, "--component", "program")
    shutil.copy(build / "portable/cleave", tree / "bin/cleave")
    libraries = libraries_of(tree / "bin/cleave")
    (tree / "lib").mkdir()
    for name, path in libraries.items():
        shutil.copy(path, tree / "lib" / name)
    for file in [tree / "bin/cleave", *(tree / "lib").iterdir()]:
        output("strip", "--strip-unneeded", file)
    for name in SCRIPTS:
        shutil.copy(PROJECT / "scripts" / name, tree / "share/cleave/scripts" / name)
    doc = tree / "share/doc/cleave"
    shutil.rmtree(doc)
    (doc / "licences").mkdir(parents=True)
    shutil.copy(PROJECT / "LICENSE", doc / "LICENSE")
    for name, path in terms_of(libraries).items():
        shutil.copy(path, doc / "licences" / name)
    return libraries


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def metadata(version):
    lines = ["Metadata-Version: 2.1", "Name: cleave", f"Version: {version}",
             "Summary: splits machine-learning model graphs between an accelerator and the CPU",
             "License: Apache-2.0", "Requires-Python: >=3.10"]
    for extra, packages in EXTRAS.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {package}; extra == "{extra}"' for package in packages]
    lines += ["Description-Content-Type: text/markdown", "", (PROJECT / "README.md").read_text(encoding="utf-8")]
    return "\n".join(lines)


def wheel_contents(tree, version, tag):
    """Path in the wheel -> (bytes, whether it is run). The last is the record of all others."""
    contents = {f"cleave/{path.relative_to(PYTHON)}": (path.read_bytes(), False) for path in files_in(PYTHON)
                if path.suffix == ".py" or path.name == "py.typed"}
    for path in files_in(tree):
        place = path.relative_to(tree)
        if place.parts[0] in ("bin", "lib") or place.parts[:2] == ("share", "cleave"):
            contents[f"cleave/program/{place}"] = (path.read_bytes(), place.parts[0] != "share")
    info = f"cleave-{version}.dist-info"
    for path in files_in(tree / "share/doc/cleave"):
        contents[f"{info}/licenses/{path.name}"] = (path.read_bytes(), False)
    contents[f"{info}/METADATA"] = (metadata(version).encode(), False)
    contents[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: cleave\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
                                 .encode(), False)
    contents[f"{info}/entry_points.txt"] = (b"[console_scripts]\ncleave = cleave.program:main\n", False)
    record = []
    for name, (content, _) in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")
    contents[f"{info}/RECORD"] = ("".join(record + [f"{info}/RECORD,,\n"]).encode(), False)
    return contents


def write_wheel(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, is_run) in contents.items():
            entry = zipfile.ZipInfo(name, NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_run else 0o100644) << 16
            archive.writestr(entry, content)


def write_archive(path, tree, root):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for source in files_in(tree):
            entry = tarfile.TarInfo(f"{root}/{source.relative_to(tree)}")
            content = source.read_bytes()
            entry.size, entry.mode = len(content), 0o755 if source.stat().st_mode & 0o100 else 0o644
            archive.addfile(entry, io.BytesIO(content))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        libraries = make_tree(build, tree)
        tag = platform_tag([tree / "bin/cleave", *(tree / "lib").iterdir()])
        version = re.search(r"cleave (\S+)", output(tree / "bin/cleave", "--version"))[1]
        wheel = out / f"cleave-{version}-py3-none-{tag}.whl"
        archive = out / f"cleave-{version}-linux-x86_64.tar.gz"
        write_wheel(wheel, wheel_contents(tree, version, tag))
        write_archive(archive, tree, archive.name.removesuffix(".tar.gz"))
    print(f"inside: {', '.join(sorted(libraries))}")
    for path in (wheel, archive):
        print(f"{path.stat().st_size / 2**20:6.2f} MiB  {path}")


if __name__ == "__main__":
    main()
