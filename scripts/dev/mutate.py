#!/usr/bin/env python3
"""Mutation test: changes one operator at a time and checks that some test fails.

N random mutants (the same for the same seed) of core, formats and cli are built into one program: each changed
expression becomes a choice between what it was and what it is now, and $CLEAVE_MUTANT names the one mutant that
is on. So there is one build for all of them; and $CLEAVE_REACHED names a file where the program
marks which mutants it came by, so that of all tests of ctest only those are run that reach the mutant, short ones
first. A mutant that does not compile is left out, and one within another of the sample. The sources are as they were
afterwards, also if the script is stopped.

All tests are run once with no mutant on. Those that fail then, or are skipped, are left out. A mutant is noticed by
the first test that fails, crashes, or takes ten times as long, and passes again without it. What no test notices is
listed as a diff; a person must judge whether it changes behaviour. Constants of the compiler cannot be chosen when
the program runs: such a mutant is built by itself, and all tests of programs and golden files are run.

usage: mutate.py BUILD [--count N] [--seed S] [--only PATTERN] [--seconds T] [--without PATTERN] [--list]
  BUILD              a build folder that is configured for clang++, with tests
  --only PATTERN     sources whose path matches the glob, as 'core/split/*'
  --seconds T        of tests a mutant, longest last (default 60); what tests left over may notice is not known
  --without PATTERN  tests whose name matches the regular expression are not run
  --list             print the mutants and stop

Exit status 1 if one survives. Not for CI: 100 mutants take an hour.
"""

import argparse
import fnmatch
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
HIDDEN = re.compile(r"^\s*#[^\n]*|\btemplate\s*<[^;{]*>|\bassert\(.*?\);|\bstatic_assert\(.*?\);", re.S | re.M)

MOST_BYTES = 6 << 30  # of memory a test: mutants may take memory without end

# How tightly operators bind, tightest first; what stands between operands ends them.
LEVELS = [("*", "/", "%"), ("+", "-"), ("<<", ">>"), ("<=>",), ("<", "<=", ">", ">="), ("==", "!="), ("&",), ("^",),
          ("|",), ("&&",), ("||",), ("=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>=", "?", ":")]
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
ASSIGNMENT = len(LEVELS) - 1
CONTROLS = ("if", "for", "while", "switch", "constexpr")
ENDS = {";", ",", "return", "co_return", "throw", "case", "else", "do", "default"}
TOKEN = re.compile(r"->|(?<= )(?:<=>|<<=|>>=|[-+*/%|&^]=|==|!=|<=|>=|<<|>>|&&|\|\||[-+*/%<>=&|^?:])(?=[ \n])"
                   r"|::|[A-Za-z_~][\w~]*|(?P<angle>(?<=\w)<(?=\S)|(?<=\S)>)|\S")
ANGLES = {"<": "angle begins", ">": "angle ends"}  # brackets of templates, which are no operators
OPENING = {"(": ")", "[": "]", "{": "}", ANGLES["<"]: ANGLES[">"]}
CLOSING = {closing: opening for opening, closing in OPENING.items()}

SWITCH = """#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <cstdlib>
#include <type_traits>
#pragma clang diagnostic ignored "-Weverything"
#pragma clang diagnostic ignored "-Wc++11-narrowing"
namespace cleave_mutants {
inline constinit unsigned char* reached = nullptr;
inline constinit int active = -1;
__attribute__((weak, constructor(101))) void begin() {
  if (reached != nullptr) return;
  const char* number = std::getenv("CLEAVE_MUTANT");
  if (number != nullptr) active = std::atoi(number);
  const char* path = std::getenv("CLEAVE_REACHED");
  const int file = path == nullptr ? -1 : open(path, O_RDWR);
  static unsigned char none[COUNT];
  reached = none;
  if (file < 0) return;
  void* mapped = mmap(nullptr, COUNT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) reached = static_cast<unsigned char*>(mapped);
}
constexpr bool on(int mutant) {
  if (std::is_constant_evaluated()) return false;
  if (reached != nullptr) reached[mutant] = 1;
  return active == mutant;
}
}  // namespace cleave_mutants
"""


def shown_of(text):
    """The text with comments blank, and what holds no operators of its own filled; offsets are as before."""
    def fill(found):
        return re.sub(r"[^\n]", " " if found.group().startswith("/") else "~", found.group())
    return HIDDEN.sub(lambda found: re.sub(r"[^\n]", "~", found.group()), COMMENT.sub(fill, text))


def mutants_of(path):
    """(offset, old, new) of each change that can be made."""
    for found in OPERATOR.finditer(shown_of(path.read_text(encoding="utf-8"))):
        for new in SWAPS[found.group()]:
            yield found.start(), found.group(), new


def sources(pattern):
    paths = [path for folder in ("core", "formats", "cli") for path in sorted((ROOT / folder).rglob("*.cc"))]
    return [path for path in paths if fnmatch.fnmatch(str(path.relative_to(ROOT)), pattern)]


def draw(paths, seed):
    """Every change that can be made, shuffled: each operator is as likely."""
    every = [(path, mutant) for path in paths for mutant in mutants_of(path)]
    random.Random(seed).shuffle(every)
    return every


class Source:
    """The tokens of a source, to find where the operands of an operator begin and end."""

    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")
        self.tokens = [(found.start(), found.end(), ANGLES[found.group()] if found["angle"] else found.group())
                       for found in TOKEN.finditer(shown_of(self.text))]
        self.at = {begin: index for index, (begin, _, _) in enumerate(self.tokens)}

    def matching(self, index, step):
        """The index of the bracket that belongs to the one at `index`, before it or after; None when there is none."""
        own, depth = self.tokens[index][2], 0
        other = CLOSING[own] if step < 0 else OPENING[own]
        while 0 <= index < len(self.tokens):
            word = self.tokens[index][2]
            if own in ANGLES.values() and word in (";", "{", "}"):
                return None
            depth += (word == own) - (word == other)
            if depth == 0:
                return index
            index += step
        return None

    def ends_block(self, index):
        """Whether the brace closes a block of statements: the line ends with it."""
        end = self.tokens[index][1]
        return self.text[end:end + 1] == "\n" and not self.text[end:].lstrip().startswith((".", "==", "!=", "+"))

    def left(self, index, level):
        """Where the operand before the operator begins."""
        begin, index = self.tokens[index][0], index - 1
        while index >= 0:
            word = self.tokens[index][2]
            if word in ENDS or LEVEL.get(word, -1) > level or word in "([{" or (word == "}" and self.ends_block(index)):
                break
            opening = self.matching(index, -1) if word in CLOSING else index
            if opening is None or (word == ")" and self.tokens[opening - 1][2] in CONTROLS):
                break
            begin, index = self.tokens[opening][0], opening - 1
        return begin

    def right(self, index, level):
        """Where the operand after the operator ends."""
        end, index = self.tokens[index][1], index + 1
        while index < len(self.tokens):
            word = self.tokens[index][2]
            if word in ENDS or word in ")]}" or LEVEL.get(word, -1) >= level + (level == ASSIGNMENT):
                break
            closing = self.matching(index, 1) if word in OPENING else index
            if closing is None:
                break
            end, index = self.tokens[closing][1], closing + 1
        return end

    def chosen(self, number, offset, old, new):
        """(begin, end, text) of the choice between what stands there and the mutant."""
        on = f"cleave_mutants::on({number})"
        end = offset + len(old)
        if old in ("true", "false"):
            return offset, end, f"(!{on})" if old == "true" else f"({on})"
        if old in ("continue", "break"):
            return offset, end + 1, f"{{ if ({on}) {{ {new}; }} {old}; }}"
        index = self.at[offset] if offset in self.at else -1
        if old in ("++", "--"):
            found = re.compile(r"\w+(?:(?:\.|->|::)\w+|\[[^][]*\]|\([^()]*\))*").match(self.text, end)
            begin, end = offset, found.end()
            was = self.text[end - len(found.group()):end]
            return begin, end, f"({on} ? {new}{was} : {old}{was})"
        if index < 0:
            return None
        begin, end = self.left(index, LEVEL[old] - (LEVEL[old] == ASSIGNMENT)), self.right(index, LEVEL[old])
        left, right = self.text[begin:offset], self.text[offset + len(old):end]
        if old in ("+", "+=") and '"' in re.sub(r"\([^()]*\)", "", left + right):
            return None  # text, of which nothing is subtracted
        return begin, end, f"({on} ? ({left}{new}{right}) : ({left}{old}{right}))"


def changed(text, choices):
    """The text with the choices made, and the line of each. None stand within another."""
    for begin, end, choice in sorted(choices, reverse=True):
        text = text[:begin] + choice + text[end:]
    return text


def shown(path, text, offset, old, new):
    line = text.count("\n", 0, offset) + 1
    begin, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    after = text[begin:offset] + new + text[offset + len(old):end]
    return f"{path.relative_to(ROOT)}:{line}\n  - {text[begin:end].strip()}\n  + {after.strip()}"


class Sample:
    """The mutants of a seed: (path, mutant, choice) by number; what does not compile goes."""

    def __init__(self, build, mutants, count):
        self.build, self.switch = build, build / "mutants.h"
        self.mutants, self.gone = {}, 0
        self.kept, known, taken = {}, {}, {}
        for path, mutant in mutants:
            if len(self.mutants) == count:
                break
            source = known.setdefault(path, Source(path))
            choice = source.chosen(len(self.mutants), *mutant)
            if choice is None or any(choice[0] < end and begin < choice[1] for begin, end in taken.get(path, [])):
                self.gone += 1
                continue
            taken.setdefault(path, []).append(choice[:2])
            self.mutants[len(self.mutants)] = (path, mutant, choice)

    @staticmethod
    def put(path, text):
        """Writes the file, unless it holds just that: what is as it was is not built again."""
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def write(self, path):
        text = self.kept[path]
        choices = [choice for at, _, choice in self.mutants.values() if at == path]
        if choices:
            text = f'#include "{self.switch}"\n#line 1\n' + changed(text, choices)
        self.put(path, text)

    def restore(self):
        for path, text in self.kept.items():
            self.put(path, text)

    def make(self, *targets):
        """Lines of what ninja says; empty when all is built."""
        done = subprocess.run(["ninja", "-k0", "-C", str(self.build), *targets], capture_output=True, text=True, check=False)
        return [] if done.returncode == 0 else done.stdout.splitlines()

    def compile(self):
        """Builds all; mutants in lines that do not compile are left out, until all compile."""
        self.put(self.switch, SWITCH.replace("COUNT", str(len(self.mutants) + 1)))
        self.kept = {path: path.read_text(encoding="utf-8") for path, _, _ in self.mutants.values()}
        for path in self.kept:
            self.write(path)
        while True:
            said = self.make()
            if not said:
                return
            faults = {(found[1], int(found[2])) for line in said
                      if (found := re.match(r"(?:.*?/)?((?:core|formats|cli)/\S+?\.cc):(\d+):\d+: (?:fatal )?error", line))}
            bad = [number for number, (path, _, choice) in self.mutants.items()
                   if any(str(path.relative_to(ROOT)) == at and self.covers(number, line) for at, line in faults)]
            if not bad:
                sys.exit("does not build:\n" + "\n".join(said[-40:]))
            for number in bad:
                print(f"does not compile: {self.words(number)}", flush=True)
            for path in {self.mutants.pop(number)[0] for number in bad}:
                self.write(path)
            self.gone += len(bad)

    def covers(self, number, line):
        """Whether the mutant stands in that line of the changed source."""
        path, _, choice = self.mutants[number]
        text = self.kept[path]
        before = sum(other[2].count("\n") - text.count("\n", other[0], other[1])
                     for at, _, other in self.mutants.values() if at == path and other[0] < choice[0])
        first = text.count("\n", 0, choice[0]) + 1 + before
        return first <= line <= first + choice[2].count("\n")

    def words(self, number):
        path, mutant, _ = self.mutants[number]
        return shown(path, self.kept.get(path) or path.read_text(encoding="utf-8"), *mutant)


class Test:
    """A test of ctest, or one golden file."""

    def __init__(self, name, command, properties, build):
        self.name, self.command = name, command
        self.folder = properties.get("WORKING_DIRECTORY", str(build))
        self.environment = dict(word.split("=", 1) for word in properties.get("ENVIRONMENT", []))
        self.patterns = [re.compile(word) for word in properties.get("PASS_REGULAR_EXPRESSION", [])]
        self.skip = properties.get("SKIP_RETURN_CODE", 77)
        self.seconds, self.reached, self.limit = 0.0, frozenset(), 900.0

    def run(self, mutant=-1, reached=None):
        """"" when the test passes, else "fails", "hangs" or "skips"."""
        environment = dict(os.environ, CLEAVE_MUTANT=str(mutant), **self.environment)
        if reached:
            environment["CLEAVE_REACHED"] = reached
        begin = time.monotonic()
        with subprocess.Popen(["prlimit", f"--data={MOST_BYTES}", *self.command], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as process:
            try:
                said, _ = process.communicate(timeout=self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return "hangs"
        self.last = time.monotonic() - begin
        if self.patterns:
            return "" if any(pattern.search(said.decode("utf-8", "replace")) for pattern in self.patterns) else "fails"
        if process.returncode == self.skip:
            return "skips"
        return "fails" if process.returncode else ""


def tests_of(build, without):
    """The tests of ctest, golden files each by itself, without those that are labelled slow."""
    said = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, check=True)
    found = []
    for test in json.loads(said.stdout)["tests"]:
        properties = {row["name"]: row["value"] for row in test.get("properties", [])}
        command = test.get("command", [])
        if not command or "slow" in properties.get("LABELS", []) or (without and re.search(without, test["name"])):
            continue
        golden = [at for at, word in enumerate(command) if word.endswith("golden/run.py")]
        if golden:  # the files follow the program
            begin, end = command[:golden[0] + 2], command[golden[0] + 2:]
            found += [Test(f"golden {path.parent.name}/{path.stem}", [*begin, str(path), *end], properties, build)
                      for path in sorted((ROOT / "tests" / "golden").glob("*/*.golden"))]
        else:
            found.append(Test(test["name"], command, properties, build))
    return found


def baseline(tests, count, threads):
    """Runs each test without a mutant; keeps those that pass, with what they reach and how long they take."""
    def look(test):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(count + 1))
            file.flush()
            how = test.run(reached=file.name)
            test.seconds = getattr(test, "last", 0.0)
            test.limit = max(20.0, 10 * test.seconds)
            marks = Path(file.name).read_bytes()
        test.reached = frozenset(number for number in range(count) if marks[number])
        return how
    with ThreadPoolExecutor(threads) as pool:
        hows = list(pool.map(look, sorted(tests, key=lambda test: not test.name.startswith("golden"))))
    tests = sorted(tests, key=lambda test: not test.name.startswith("golden"))
    for test, how in zip(tests, hows, strict=True):
        if how in ("fails", "hangs"):
            print(f"{how} without a mutant: {test.name}", flush=True)
    return [test for test, how in zip(tests, hows, strict=True) if not how]


def notices(tests, mutant, seconds, threads):
    """What test notices the mutant, "" when none does; and how many were run of how many that reach it."""
    spent, ran, found = 0.0, 0, []

    def attempt(test):
        if found:
            return
        how = test.run(mutant)
        if how in ("fails", "hangs") and not test.run():
            found.append(f"{test.name} {how}")

    tests = sorted(tests, key=lambda test: test.seconds)
    chosen = []
    for test in tests:
        spent += test.seconds / threads
        if spent > seconds:
            break
        chosen.append(test)
        ran += 1
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(attempt, chosen))
    return found[0] if found else "", ran


def is_constant(sample, number):
    """Whether the mutant stands in what the compiler works out."""
    path, (offset, _, _), _ = sample.mutants[number]
    text = sample.kept[path]
    heads = list(re.finditer(r"^[^\s}/#].*$", text[:offset], re.M))
    line = text[text.rfind("\n", 0, offset) + 1:text.find("\n", offset)]
    return any("constexpr" in words for words in (line, heads[-1].group() if heads else ""))


def alone(sample, number, tests, threads):
    """What notices a mutant of a constant, which is built by itself; "" when nothing does, None when it does not
    compile."""
    path, (offset, old, new), _ = sample.mutants[number]
    text = sample.kept[path]
    path.write_text(text[:offset] + new + text[offset + len(old):], encoding="utf-8")
    try:
        if sample.make("cleave", "core_tests", "formats_tests", "pt2_tests", "cases_runner"):
            return None
        quick = [test for test in tests if test.seconds < 5]
        with ThreadPoolExecutor(threads) as pool:
            found = []

            def attempt(test):
                if not found and test.run() in ("fails", "hangs"):
                    found.append(test.name)
            list(pool.map(attempt, sorted(quick, key=lambda test: test.seconds)))
        return f"{found[0]} fails" if found else ""
    finally:
        sample.write(path)
        time.sleep(1.1)  # a compiler cache keeps nothing of a source that is as new as its object
        sample.make()


def try_all(sample, options, threads):
    """(mutants that no test notices, mutants tried), each printed as soon as it is known."""
    tests = baseline(tests_of(sample.build, options.without), options.count, threads)
    print(f"{len(tests)} tests pass without a mutant, in {sum(test.seconds for test in tests):.0f} s", flush=True)
    survivors = tried = 0
    for number in list(sample.mutants):
        reaching = [test for test in tests if number in test.reached]
        ran = 0
        if not reaching and is_constant(sample, number):
            noticed = alone(sample, number, tests, threads)
            if noticed is None:
                continue
        else:
            noticed, ran = notices(reaching, number, options.seconds, threads)
        tried += 1
        survivors += not noticed
        how = noticed or f"SURVIVES {ran} of {len(reaching)} tests that reach it"
        print(f"{tried}: {how}: {sample.words(number)}", flush=True)
    return survivors, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--without", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    threads = (os.cpu_count() or 1)
    sample = Sample(options.build.resolve(), draw(sources(options.only), options.seed), options.count)
    if options.list:
        print("\n".join(sample.words(number) for number in sample.mutants))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    try:
        sample.compile()
        print(f"{len(sample.mutants)} mutants are built, {sample.gone} are left out", flush=True)
        survivors, tried = try_all(sample, options, threads)
    finally:
        sample.restore()
    print(f"{tried} mutants, {tried - survivors} noticed, {survivors} survive")
    sys.exit(1 if survivors or not tried else 0)


if __name__ == "__main__":
    main()
