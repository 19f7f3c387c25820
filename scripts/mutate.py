#!/usr/bin/env python3
"""Mutation test: changes one operator at a time and checks that some test fails.

For each of N random mutants (the same for the same seed), one operator of one source of core or formats
is replaced, the library is built, and the tests that can see it are run, those named like the source
first. A mutant that does not compile is replaced by another. Mutants that no test notices are listed as
diffs; a person must judge whether they change behaviour. The source is restored after each mutant, also
if the script is stopped.

usage: mutate.py BUILD [--count N] [--seed S] [--only PATTERN] [--timeout S] [--list]
  BUILD          a configured build folder (Debug, -O0: each mutant compiles one file and links)
  --only PATTERN sources whose path matches the glob, as 'core/split/*'
  --list         print the mutants and stop

Exit status 1 if one survives. Not for CI: 200 mutants take hours.
"""

import argparse
import fnmatch
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWAPS = {
    "==": ["!="], "!=": ["=="], "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
    "++": ["--"], "--": ["++"], "+=": ["-="], "-=": ["+="], "true": ["false"], "false": ["true"],
    "continue": ["break"], "break": ["continue"],
}
# Operators stand between blanks, as clang-format leaves them: what has none is a type's or a pointer's.
OPERATOR = re.compile(r"(?<= )(==|!=|<=|>=|<|>|&&|\|\||\+=|-=|\+|-|\*|/|%)(?= )"
                      r"|(?<![\w+])(\+\+)(?=\w)|(?<![\w-])(--)(?=\w)"
                      r"|\b(true|false)\b|\b(continue|break)(?=;)")
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
                    r"|^\s*#[^\n]*|\btemplate\s*<[^;{]*>|\bassert\(.*?\);|\bstatic_assert\(.*?\);",
                    re.S | re.M)


def mutants_of(path):
    """(offset, old, new) of each change that can be made."""
    text = path.read_text(encoding="utf-8")
    shown = HIDDEN.sub(lambda found: re.sub(r"[^\n]", "~", found.group()), text)
    for found in OPERATOR.finditer(shown):
        old = found.group()
        for new in SWAPS[old]:
            yield found.start(), old, new


def sources(pattern):
    paths = [path for folder in ("core", "formats") for path in sorted((ROOT / folder).rglob("*.cc"))]
    return [path for path in paths if fnmatch.fnmatch(str(path.relative_to(ROOT)), pattern)]


def draw(paths, seed):
    """Every change that can be made, shuffled: each operator is as likely."""
    chance = random.Random(seed)
    every = [(path, mutant) for path in paths for mutant in mutants_of(path)]
    chance.shuffle(every)
    return every


class Trial:
    def __init__(self, build, timeout):
        self.build, self.timeout = Path(build).resolve(), timeout

    def run(self, *words):
        """True when the command succeeds in time."""
        try:
            return subprocess.run(words, cwd=ROOT, capture_output=True, timeout=self.timeout,
                                  check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def make(self, target):
        done = subprocess.run(["ninja", "-C", str(self.build), target], capture_output=True, check=False)
        return done.returncode == 0

    def notices(self, path):
        """What noticed the mutant in the source; "" when nothing does, None when it does not compile."""
        library = "core" if path.is_relative_to(ROOT / "core") else "formats"
        tests = self.build / "tests" / f"{library}_tests"
        if not self.make(f"{library}_tests"):
            return None
        own = f"[#{path.stem}_test]"
        for what, words in ((f"{library}_tests {own}", (tests, "-#", own)),
                            (f"{library}_tests", (tests,))):
            if what.endswith("]") and not list((ROOT / "tests").rglob(f"{path.stem}_test.cc")):
                continue
            if not self.run(*words):
                return what
        if library == "core" and self.make("formats_tests"):
            if not self.run(self.build / "tests" / "formats_tests"):
                return "formats_tests"
        if self.make("cases_runner") and not self.run(
                ROOT / "tests/cases/run_cases.sh", self.build / "tests" / "cases_runner",
                ROOT / "tests/cases/compact.jsonl.gz"):
            return "compact cases"
        if self.make("cleave") and not self.run(sys.executable, ROOT / "tests/golden/run.py",
                                                self.build / "cleave"):
            return "golden"
        return ""


def shown(path, text, offset, old, new):
    line = text.count("\n", 0, offset) + 1
    begin, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    changed = text[begin:offset] + new + text[offset + len(old):end]
    return f"{path.relative_to(ROOT)}:{line}\n  - {text[begin:end].strip()}\n  + {changed.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    trial = Trial(options.build, options.timeout)
    tried, survivors = 0, []
    for path, (offset, old, new) in draw(sources(options.only), options.seed):
        if tried == options.count:
            break
        text = path.read_text(encoding="utf-8")
        words = shown(path, text, offset, old, new)
        if options.list:
            print(words)
            tried += 1
            continue
        try:
            path.write_text(text[:offset] + new + text[offset + len(old):], encoding="utf-8")
            noticed = trial.notices(path)
        finally:
            path.write_text(text, encoding="utf-8")
        if noticed is None:
            continue
        tried += 1
        print(f"{tried}: {noticed or 'SURVIVES'}: {words}", flush=True)
        if not noticed:
            survivors.append(words)
    if options.list:
        return
    print(f"{tried} mutants, {tried - len(survivors)} noticed, {len(survivors)} survive")
    sys.exit(1 if survivors or not tried else 0)


if __name__ == "__main__":
    main()
