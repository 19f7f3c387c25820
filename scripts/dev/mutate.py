#!/usr/bin/env python3
"""Mutation test: changes one operator at a time and checks that some test fails.

For each of N random mutants (the same for the same seed), one operator of one source of core, formats or
cli is replaced, the library is built, and the tests that can see it are run, those named like the source
first; last the tests of whole commands that ctest has for its folder. A mutant that does not compile is
replaced by another. Mutants that no test notices are listed as diffs; a person must judge whether they
change behaviour. The source is restored after each mutant, also if the script is stopped.

All tests are run once without a change: they must pass, and a mutant with which a program of tests takes ten
times as long, or a test of whole commands longer than ctest allows, counts as noticed, since it hangs. With
--trust they are only built, since they have passed in another work tree of the same state; five minutes are long.

usage: mutate.py BUILD [--count N] [--seed S] [--share I/OF] [--skip N] [--only PATTERN] [--again LOG] [--trust]
       [--brief | --whole] [--list]
  BUILD          a configured build folder; -O2 is best: the tests take longer than to compile one file
  --share I/OF   each OF-th mutant of the seed, from the I-th on: so that OF work trees try one sample side by side
  --skip N       leave out the first N mutants of the seed, which an earlier run has tried
  --only PATTERN sources whose path matches the glob, as 'core/split/*'
  --again LOG    only the mutants that survived in what an earlier run printed
  --brief        no tests of whole commands but the golden ones
  --whole        only the tests of whole commands: with --again, of what an earlier run with --brief let through
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
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    paths = [path for folder in ("core", "formats", "cli") for path in sorted((ROOT / folder).rglob("*.cc"))]
    return [path for path in paths if fnmatch.fnmatch(str(path.relative_to(ROOT)), pattern)]


def draw(paths, seed):
    """Every change that can be made, shuffled: each operator is as likely."""
    chance = random.Random(seed)
    every = [(path, mutant) for path in paths for mutant in mutants_of(path)]
    chance.shuffle(every)
    return every


# Tests of whole commands by folder or file: a pattern of their names for ctest. The first that fits counts.
WHOLE_COMMANDS = [
    ("core/stages/", "workloads:"), ("core/devices/", "placement:"), ("core/lowering/", "lower:"),
    ("core/measures/advice", "advice:"),
    ("core/", "conformance: every|hostile: each|options:|schemas:|structure: the commands|advice:|placement:|check:|"
              "real:|overlays:"),
    ("formats/tflite/", "tflite:|hostile:"), ("formats/pt2/", "^pt2: |hostile:"),
    ("formats/onnx/infer/", "conformance: types|types of larger|inferred shapes|implied attributes"),
    ("formats/onnx/", "ONNX|conformance: (calls|every|larger)|real:|advice: a model that cleave convert"),
    ("formats/models/models", "lower:|ONNX Runtime: sizes"),
    ("formats/run/lowering/", "lower:"), ("formats/run/backend/", "lower:"), ("formats/lists/cost", "costs:"),
    ("formats/base/", "faults:|hostile:"), ("formats/lists/options", "hostile:"),
    ("formats/run/jobs/", "real:|faults: no|costs:|options:|lower:"),
    ("formats/report/lowering/", "lower:"),
    ("formats/report/drawings/", "page:|overlays:|schemas:|real:"),
    ("formats/report/", "check:|overlays:|schemas:|real:|advice:|structure: the commands|hostile: names"),
    ("formats/", "hostile:|lists lint:|rules:|schemas:|structure: the commands|lists:|check:|package:"),
    ("cli/commands/lower", "lower:"), ("cli/commands/probe", "lower:"), ("cli/commands/reduce", "lower:"),
    ("cli/", "options:|shell:|check:|schemas:|hostile:|faults: (no|stdout|inputs)|structure: the commands|advice:|"
             "package:|structure: the guides"),
]


class Trial:
    """Builds, and runs the tests."""

    LEAST_SECONDS = 60
    TRUSTED_SECONDS = 300
    MOST_SECONDS = 3600
    TARGETS = ("core_tests", "formats_tests", "pt2_tests", "cases_runner", "cleave", "dump_types", "failing_calls",
               "print_placements", "cleave_make_graph")

    def __init__(self, build, is_brief, is_whole):
        self.is_brief = is_brief
        self.is_whole = is_whole
        self.build = Path(build).resolve()
        self.limits = {}  # seconds, by the words of a command

    def make(self, target):
        done = subprocess.run(["ninja", "-C", str(self.build), target], capture_output=True, check=False)
        return done.returncode == 0

    def run(self, *words):
        """"" when the command succeeds, else "fails" or "hangs"."""
        try:
            done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False,
                                  timeout=self.limits.get(words, self.TRUSTED_SECONDS))
        except subprocess.TimeoutExpired:
            return "hangs"
        return "fails" if done.returncode else ""

    def steps(self, library):
        """(target to build, name, command) of the tests that see a source of the library, in the order in which they
        are run. Each stops at its first failure."""
        tests, cleave = self.build / "tests", self.build / "cleave"
        every = [("core_tests", "core_tests", (tests / "core_tests", "--abort")),
                 ("formats_tests", "formats_tests", (tests / "formats_tests", "--abort")),
                 ("pt2_tests", "pt2_tests", (tests / "pt2_tests", "--abort")),
                 ("cases_runner", "compact cases",
                  (ROOT / "tests/cases/run_cases.sh", tests / "cases_runner", ROOT / "tests/cases/compact.jsonl.gz")),
                 ("cleave", "golden", (sys.executable, ROOT / "tests/golden/run.py", cleave, "--abort"))]
        return every[{"core": 0, "formats": 1, "cli": 4}[library]:]

    def whole_commands(self, path):
        """The ctest command for the source's folder."""
        place = str(path.relative_to(ROOT))
        pattern = next(names for folder, names in WHOLE_COMMANDS if place.startswith(folder))
        return ("ctest", "--test-dir", self.build, "--stop-on-failure", "--timeout", "600", "-j2", "-R", pattern)

    def build_all(self):
        for target in self.TARGETS:
            if not self.make(target):
                sys.exit(f"{target} does not build")

    def check_baseline(self, paths):
        whole = dict.fromkeys(self.whole_commands(path) for path in paths)
        patterns = "|".join(command[-1] for command in whole)
        self.limits = dict.fromkeys(whole, self.MOST_SECONDS)
        for words in [words for _, _, words in self.steps("core")] + [(*next(iter(whole))[:-1], patterns)]:
            begin = time.monotonic()
            self.limits[words] = self.MOST_SECONDS
            if self.run(*words):
                sys.exit(f"fails without a change: {' '.join(map(str, words))}")
            self.limits[words] = max(self.LEAST_SECONDS, 10 * (time.monotonic() - begin))

    def notices(self, path):
        """What noticed the mutant in the source; "" when nothing does, None when it does not compile."""
        if not self.make(self.own_tests(path)):
            return None
        noticed = "" if self.is_whole else self.programs_notice(path)
        return noticed or ("" if self.is_brief else self.whole_commands_notice(path))

    @staticmethod
    def own_tests(path):
        library = path.relative_to(ROOT).parts[0]
        return "cleave" if library == "cli" else f"{library}_tests"

    def programs_notice(self, path):
        """What of the programs of tests notices, and of the golden tests; "" when nothing does."""
        library, own_tests = path.relative_to(ROOT).parts[0], self.own_tests(path)
        if library != "cli" and list((ROOT / "tests").rglob(f"{path.stem}_test.cc")):
            own = f"[#{path.stem}_test]"
            how = self.run(self.build / "tests" / own_tests, "-#", own)
            if how:
                return f"{own_tests} {own} {how}"
        for target, name, words in self.steps(library):
            if self.make(target):
                how = self.run(*words)
                if how:
                    return f"{name} {how}"
        return ""

    def whole_commands_notice(self, path):
        """What of the other tests of whole commands notices; "" when nothing does."""
        whole = self.whole_commands(path)
        self.limits.setdefault(whole, self.MOST_SECONDS)
        if not all(self.make(target) for target in self.TARGETS):
            return ""
        how = self.run(*whole)
        return f"ctest -R '{whole[-1]}' {how}" if how else ""


def survivors_in(log):
    """The mutants that the log says survive, as shown() words them."""
    return set(re.findall(r"^\d+: SURVIVES: (\S+\n  - .*\n  \+ .*)$", Path(log).read_text(encoding="utf-8"), re.M))


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
    parser.add_argument("--share", default="1/1")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--again", metavar="LOG")
    parser.add_argument("--trust", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--brief", action="store_true")
    which.add_argument("--whole", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    trial = Trial(options.build, options.brief, options.whole)
    share, of = map(int, options.share.split("/"))
    mutants = draw(sources(options.only), options.seed)[options.skip:][share - 1::of]
    if options.again:
        wanted = survivors_in(options.again)
        mutants = [(path, mutant) for path, mutant in mutants
                   if shown(path, path.read_text(encoding="utf-8"), *mutant) in wanted]
    if not options.list:
        trial.build_all()
    if not options.list and not options.trust:
        trial.check_baseline([path for path, _ in mutants[:options.count]])
    tried, survivors = 0, []
    for path, (offset, old, new) in mutants:
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
            time.sleep(1.1)  # a compiler cache keeps nothing of a source that is as new as its object
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
