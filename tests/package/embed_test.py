#!/usr/bin/env python3
"""Installs the component `development` of a build, builds samples/embed with it by find_package alone, and
splits a model with the program. Also checks what is installed: no file outside the folders of cleave, no
warning flag that is handed on, headers that are clean under strict warnings, and names that are all in a
namespace. A project that has cleave as a folder is configured, too.

usage: embed_test.py BUILD_FOLDER COMPILER     exit status 1 when something is not as it should be
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
STRICT = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
PLACES = re.compile(r"include/cleave/.*\.(?:h|inc)|lib\S*/libcleave_(core|formats|shelves)\.a|lib\S*/cmake/cleave/cleave-[\w-]+\.cmake")


class Test:
    def __init__(self):
        self.faults = 0

    def expect(self, holds, what):
        if not holds:
            self.faults += 1
            print(f"wrong: {what}")

    def files(self, prefix):
        found = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()]
        for file in found:
            self.expect(PLACES.fullmatch(file), f"{file} is installed")
        self.expect("include/cleave/cleave.h" in found, "cleave.h is not installed")
        empty = [path for path in prefix.rglob("*") if path.is_dir() and not any(path.iterdir())]
        self.expect(not empty, f"empty folders: {empty}")
        size = sum((prefix / file).stat().st_size for file in found)
        print(f"installed: {len(found)} files, {size / 2**20:.1f} MiB")

    def names(self, archive):
        """Strong symbols of the library: each belongs to the namespace."""
        listed = output("nm", "-C", "--defined-only", "--extern-only", archive)
        for line in listed.splitlines():
            found = re.match(r"[0-9a-f]{16} ([TDBR]) (.*)", line)
            if found and not re.match(r"(?:[\w ]+ for )?cleave::|_ZGRN6cleave", found[2]):  # _ZGR: what a table is made of
                self.expect(False, f"{archive.name} defines {found[2]}")

    def headers(self, prefix, compiler):
        """Each header of the facade compiles by itself."""
        include = prefix / "include"
        for header in ["cleave.h", *(f"formats/run/library/{path.name}" for path in (include / "cleave/formats/run/library").iterdir())]:
            source = f"#include <cleave/{header}>\n"
            result = subprocess.run([compiler, *STRICT, f"-I{include}", f"-I{include}/cleave", "-x", "c++", "-"],
                                    input=source, capture_output=True, text=True)
            self.expect(result.returncode == 0, result.stderr)

    def guide(self, prefix, compiler):
        """What the guide shows compiles."""
        [shown] = re.findall(r"```cpp\n(.*?)```", (PROJECT / "samples/README.md").read_text(encoding="utf-8"), re.S)
        source = f"#include <cleave/cleave.h>\n#include <cstdio>\nint main() {{\n{shown}return written ? 0 : 1;\n}}\n"
        result = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{prefix}/include", f"-I{prefix}/include/cleave",
                                 "-x", "c++", "-"], input=source, capture_output=True, text=True)
        self.expect(result.returncode == 0, result.stderr)

    def program(self, scratch, prefix, compiler):
        build = scratch / "build"
        output("cmake", "-S", PROJECT / "samples/embed", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
               f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_BUILD_TYPE=Release")
        commands = json.loads((build / "compile_commands.json").read_text())
        self.expect(len(commands) == 1 and not re.search(r" -W| -fpch| -include", commands[0]["command"]), commands)
        output("cmake", "--build", build)
        printed = output(build / "embed", PROJECT / "samples/mobile_block.onnx", PROJECT / "samples/tiny_npu.txt",
                         scratch / "parts", "N=1")
        self.expect(printed.startswith("18 of 24 nodes on the accelerator, in 3 of 6 partitions\n"), printed)
        self.expect('is on the CPU: the list does not have op "GlobalAveragePool"' in printed, printed)
        manifest = json.loads((scratch / "parts/manifest.json").read_text())
        self.expect(len(manifest["partitions"]) == 6, manifest["partitions"])
        for part in manifest["partitions"]:
            self.expect((scratch / "parts" / part["file"]).is_file(), part["file"])
        # Without the dim there are open sizes to tell. The command writes the same, and drawings if it is let.
        model, rules = PROJECT / "samples/mobile_block.onnx", PROJECT / "samples/tiny_npu.txt"
        output(build / "embed", model, rules, scratch / "by_library")
        output(Path(sys.argv[1]) / "cleave", "split", model, "-s", rules, "--min-acc-module-size", "2", "--keep-qdq",
               "--drawings", "none", "-o", scratch / "by_command")
        for name in sorted({file.name for where in ("by_library", "by_command") for file in (scratch / where).iterdir()}):
            files = [scratch / where / name for where in ("by_library", "by_command")]
            same = all(file.is_file() for file in files) and files[0].read_bytes() == files[1].read_bytes()
            self.expect(same, f"{name} of the library and of cleave split differ")
        refused = subprocess.run([build / "embed", PROJECT / "README.md", PROJECT / "samples/tiny_npu.txt", scratch / "no"],
                                 capture_output=True, text=True)
        self.expect(refused.returncode == 3 and "README.md" in refused.stderr, refused)
        other = subprocess.run(["cmake", "-S", PROJECT / "samples/embed", "-B", scratch / "other", "-DCMAKE_PREFIX_PATH=/nowhere"],
                               capture_output=True, text=True)
        self.expect(other.returncode != 0 and "cleave-config.cmake" in other.stderr, other.stderr)

    def in_tree(self, scratch, compiler):
        """A project that has cleave as a folder: it is configured, and its own source compiles."""
        source, build = scratch / "in_tree", scratch / "in_tree/build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(f"""
            cmake_minimum_required(VERSION 3.25)
            project(in_tree LANGUAGES CXX)
            add_subdirectory({PROJECT} cleave EXCLUDE_FROM_ALL)
            add_library(uses_cleave OBJECT {PROJECT}/samples/embed/main.cc)
            target_link_libraries(uses_cleave PRIVATE cleave::formats)
            """)
        output("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}")
        output("cmake", "--build", build, "--target", "uses_cleave")


def output(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=280)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    test = Test()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        prefix = scratch / "installed"
        output("cmake", "--install", sys.argv[1], "--prefix", prefix, "--component", "development")
        test.files(prefix)
        for archive in prefix.glob("lib*/**/*.a"):
            test.names(archive)
        test.headers(prefix, sys.argv[2])
        test.guide(prefix, sys.argv[2])
        test.program(scratch, prefix, sys.argv[2])
        test.in_tree(scratch, sys.argv[2])
    print(f"{test.faults} faults")
    sys.exit(1 if test.faults else 0)


if __name__ == "__main__":
    main()
