#!/usr/bin/env python3
"""Compares the options and reason codes that the README and the guides name with those that cleave has.

1. In a command line of a block, each option of `cleave COMMAND` must be in `cleave COMMAND --help`.
2. Anywhere else, each `--option` must be one of some command, of a script of the project, or of a program
   that FOREIGN names.
3. `cleave COMMAND -h` is one screen, of at most 24 lines of at most 100 columns, with examples; what it shows is in
   `--help`. Guides need not repeat that.
4. The README has at most 120 lines; the user's guide at most 11,000 words, and no line of more than 120 characters.
5. Each reason code is in the user's guide.
6. All commands together have at most MOST_OPTIONS different options: a new one replaces others.

usage: guide_options_test.py PROJECT_FOLDER CLEAVE     exit status 1 when an option is wrong or missing
"""

import re
import subprocess
import sys
from pathlib import Path

GUIDES = ["README.md", "CONTRIBUTING.md", "samples/README.md", "samples/backends/README.md", "formats/README.md",
          "core/README.md", "tests/README.md", "tests/bench/README.md"]
FOREIGN = {
    "build", "install", "prefix", "preset",  # cmake
    "test-dir", "timeout",  # ctest
    "exportProfile",  # trtexec
    "ntasks",  # srun
}
MOST_OPTIONS = 112
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)")
IN_HELP = re.compile(r"^ +(?:-\w,)?--([a-z][a-z-]*)", re.M)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def options_of(cleave):
    """Options by command; those of cleave itself under ''."""
    program = output(cleave, "--help")
    commands = re.findall(r"^  ([a-z][a-z-]*)  +\S", program, re.M)
    options = {command: set(IN_HELP.findall(output(cleave, command, "--help"))) for command in commands}
    return options | {"": set(IN_HELP.findall(program))}


def faults_of_screens(cleave, options):
    """Of what -h prints, by command."""
    for command, of_command in options.items():
        lines = output(cleave, *filter(None, [command]), "-h").splitlines()
        if command and (len(lines) > 24 or max(map(len, lines)) > 100):
            yield f"cleave {command} -h has {len(lines)} lines of up to {max(map(len, lines))} columns, not 24 of 100"
        shown = set(IN_HELP.findall("\n".join(lines)))
        if command and f"  cleave {command} " not in "\n".join(lines) and command not in ("inspect", "help", "lists"):
            yield f"cleave {command} -h has no example"
        for option in sorted(shown - of_command):
            yield f"cleave {command} -h shows --{option}, which --help has not"


def faults_of_size(project):
    lines = (project / "README.md").read_text(encoding="utf-8").splitlines()
    if len(lines) > 120:
        yield f"README.md has {len(lines)} lines"
    guide = (project / "samples/README.md").read_text(encoding="utf-8")
    if len(guide.split()) > 11_000:
        yield f"samples/README.md has {len(guide.split())} words"
    for number, line in enumerate(guide.splitlines(), 1):
        if len(line) > 120:
            yield f"samples/README.md:{number} has {len(line)} characters"


def used_in_commands(text):
    """(command, option) of each command line of a block."""
    for kind, block in BLOCK.findall(text):
        if kind not in ("sh", "bash"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"'[^']*'|#.*$", "", line)
            for call in re.findall(r"(?:^|[|;&(]\s*|=\S+ )cleave ([^|;&>]*)", line.strip()):
                words = call.split()
                command = next((word for word in words if not word.startswith("-")), "")
                for option in OPTION.findall(call):
                    yield command, option


def reason_codes(project):
    codes = (project / "core/lists/support.h").read_text(encoding="utf-8")
    codes = re.search(r"enum class ReasonCode[^{]*{(.*?)}", codes, re.S)[1]
    return set(re.findall(r"^  (\w+),", codes, re.M)) - {"none"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    project, cleave = Path(sys.argv[1]).resolve(), sys.argv[2]
    options = options_of(cleave)
    known = set().union(*options.values())
    scripts = set()
    for path in [*project.glob("scripts/*"), *project.glob("scripts/dev/*"),
                 *project.glob("tests/**/*.py"), *project.glob("tests/**/*.cc")]:
        if path.is_file():
            scripts |= set(OPTION.findall(path.read_text(encoding="utf-8", errors="replace")))
    faults, named = [], set()
    for guide in GUIDES:
        if not (project / guide).exists():
            continue
        text = (project / guide).read_text(encoding="utf-8")
        for command, option in used_in_commands(text):
            if command in options and option not in options[command] | options[""]:
                faults.append(f"{guide}: cleave {command} has no --{option}")
        for option in OPTION.findall(text):
            named.add(option)
            if option not in known | scripts | FOREIGN:
                faults.append(f"{guide}: no command and no script has --{option}")
    explained = set(re.findall(r"`(\w+)`", (project / "samples/README.md").read_text(encoding="utf-8")))
    faults += [f"samples/README.md does not explain reason {code}" for code in reason_codes(project) - explained]
    if len(known) > MOST_OPTIONS:
        faults.append(f"there are {len(known)} different options, and at most {MOST_OPTIONS} are allowed")
    faults += [*faults_of_screens(cleave, options), *faults_of_size(project)]
    print("\n".join(sorted(set(faults))) or f"{len(named)} options are named, of {len(options) - 1} commands")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
