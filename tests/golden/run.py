#!/usr/bin/env python3
"""Golden tests: compares the output of commands with files.

usage: run.py CLEAVE [FILES...] [--update] [--abort] [--without WORD,WORD...]

A golden file has blocks. A block is a line `$ command`, then its output: lines of standard output as they
are, lines of standard error after `! `, and last `[exit N]` if N is not 0. Commands run in bash from the
project's folder; `cleave` is the binary under test and $TMP a new folder, one for each file. Lines before
the first block are a comment. --update writes the actual output, --abort stops after the first file that differs.
--without leaves out the blocks whose command has one of these words, later ones of their files that read what these
wrote, and the folder `usage`: of a program that is built without some commands.

Prints a line for each block that differs, then 'N passed, M failed'. Exit status 1 if one differs.
"""
import argparse
import contextlib
import difflib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent


def blocks(text):
    """(comment, [(command, expected output)...]) of a golden file's text."""
    comment, found = [], []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        else:
            comment.append(line)
    return comment, [(command, lines) for command, lines in found]


@contextlib.contextmanager
def new_folder():
    """The path of a new folder, removed at the end. Its random part is of rare capitals: tempfile's lower-case
    letters and digits may spell a word that a command greps for ("m1"), and then a test fails once in a hundred."""
    while True:
        path = os.path.join(tempfile.gettempdir(), "golden" + "".join(random.choices("JKQVXYZ", k=8)))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
            break
    try:
        yield path
    finally:
        shutil.rmtree(path)


def run(command, cleave, tmp):
    """What the command prints, as the lines of a golden file."""
    env = dict(os.environ, TMP=tmp, NO_COLOR="1", LC_ALL="C.UTF-8")
    env["PATH"] = os.path.dirname(cleave) + os.pathsep + env["PATH"]
    done = subprocess.run(["bash", "-c", command], cwd=PROJECT, env=env, capture_output=True,
                          timeout=300, check=False)
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    lines += ["! " + line for line in done.stderr.decode("utf-8", "backslashreplace").splitlines()]
    if done.returncode:
        lines.append(f"[exit {done.returncode}]")
    return [line.replace(tmp, "$TMP") for line in lines]


def check(path, cleave, update, without=()):
    """(blocks that agree, blocks that do not) of one golden file."""
    comment, expected = blocks(path.read_text(encoding="utf-8"))
    passed, failed, printed, is_cut = 0, 0, [], False
    with new_folder() as tmp:
        for command, lines in expected:
            if set(command.split()) & set(without) or (is_cut and "$TMP" in command):
                is_cut = True
                continue
            have = run(command, cleave, tmp)
            printed.append((command, have))
            want = lines[:-1] if lines and lines[-1] == "" else lines
            if have == want:
                passed += 1
                continue
            failed += 1
            print(f"{path.relative_to(PROJECT)}: $ {command}")
            for line in difflib.unified_diff(want, have, "expected", "printed", lineterm=""):
                print("   " + line)
    if update:
        text = comment[:]
        for command, have in printed:
            text += ["$ " + command, *have, ""]
        path.write_text("\n".join(text).rstrip("\n") + "\n", encoding="utf-8")
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write what was printed")
    parser.add_argument("--abort", action="store_true", help="stop after the first file that differs")
    parser.add_argument("--without", default="", help="words of commands that are left out")
    options = parser.parse_args()
    cleave = os.path.abspath(options.cleave)
    without = [word for word in options.without.split(",") if word]
    files = options.files or sorted(HERE.glob("*/*.golden"))
    if without:
        files = [path for path in files if path.parent.name != "usage"]
    passed = failed = 0
    for path in files:
        good, bad = check(path.resolve(), cleave, options.update, without)
        passed += good
        failed += bad
        if failed and options.abort:
            break
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
