#!/usr/bin/env python3
"""Makes system calls fail, one by one, in every command that writes.

At each call that writes: the process is killed, or asked to stop, or the disk is full from then on, or
the call fails from then on. At each call that reads: the input is truncated, or changed, or cannot be
read. Last, all reads and writes are short or interrupted. No partial output may be left under a final
name, no temporary except after SIGKILL, and the exit code must be right.

usage: every_call_test.py CLEAVE FAILING_CALLS [--most N]
  --most N   at most N calls for each command and fault, evenly spread; 0: all (default: 3)
Prints a line for each fault found. Exit status 1 if there is one, 77 if calls cannot be intercepted.
"""

import argparse
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

from outputs import COMMANDS, Scene, files_of

WRITING = "create,write,rename,renameat2,mkdir,unlink"
READING = "open,mmap,fstat,read,pread"
OK, BAD_INPUT, CANNOT_WRITE, BUG, NO_MEMORY = 0, 3, 4, 70, 71
STOPPING = ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU", "SIGVTALRM", "SIGPROF",
            "SIGIO", "SIGPWR")
SKIPPED = 77


def disturbed(scene, library, folder, settings):
    """(exit code or -signal, standard error, whether something went wrong)"""
    mark = Path(folder) / "mark"
    preload = f"{os.environ.get('LD_PRELOAD', '')}:{library}".strip(":")
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    environment = dict(os.environ, LD_PRELOAD=preload, FAULT_MARK=str(mark),
                       ASAN_OPTIONS=sanitizer, **settings)
    done = subprocess.run([scene.cleave, *scene.command.arguments.split()], cwd=folder,
                          env=environment, capture_output=True, timeout=120, check=False)
    happened = mark.exists()
    mark.unlink(missing_ok=True)
    return done.returncode, done.stderr.decode(errors="replace"), happened


class Trial:
    """One command with one kind of fault, at many calls."""

    def __init__(self, scene, library, calls, what, codes, always=False, says=(), is_killed=False):
        self.scene, self.library = scene, library
        self.settings = {"FAULT_CALLS": calls, "FAULT_DO": what, "FAULT_ALWAYS": str(int(always))}
        self.codes, self.says, self.is_killed = codes, says, is_killed
        self.points = None  # all, up to --most

    def only(self, call):
        """This trial, at one call."""
        self.points = [call]
        return self

    def at_all(self):
        """This trial, at each call, whatever --most says."""
        self.points = range(1, self.count() + 1)
        return self

    def at(self, call):
        """None when the command makes fewer calls, else what was wrong."""
        with self.scene.copy() as folder:
            settings = dict(self.settings, FAULT_AT=str(call))
            settings["FAULT_DO"] = settings["FAULT_DO"].replace("FOLDER", folder)
            code, error, happened = disturbed(self.scene, self.library, folder, settings)
            if not happened:
                return None
            found = []
            if code not in self.codes:
                found.append(f"exit code {code}, not one of {sorted(self.codes)}")
            if code > 0 and not any(words in error for words in self.says):
                found.append(f"says none of {self.says}")
            disturbed_input = Path(settings["FAULT_DO"].partition(":")[2])
            if disturbed_input.name in self.scene.before:
                if code == 0 and self.is_as_after_change(folder, disturbed_input.name):
                    return []  # it changed before it was opened
                disturbed_input.write_bytes(self.scene.before[disturbed_input.name])
            faults = self.scene.faults(folder, code, self.is_killed)
            if "could not be removed: see" in error:  # the message names what is left
                faults = [line for line in faults if not line.startswith("temporaries are left")]
            found += faults
            if self.is_killed:
                found += self.scene.faults_of_next_run(folder)
            return [f"{line}\n    {error.strip()[:300]}" for line in found]

    def is_as_after_change(self, folder, name):
        data = (Path(folder) / name).read_bytes()
        have = dict(files_of(folder), **{name: self.scene.before[name]})
        return bool(data) and have == self.scene.after_change(name, data)

    def count(self):
        """Calls that the command makes."""
        low, high = 0, 1
        while self.happens(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.happens(middle) else (low, middle)
        return low

    # An errno that nothing minds: only the mark is looked at.
    def happens(self, call):
        with self.scene.copy() as folder:
            settings = dict(self.settings, FAULT_AT=str(call), FAULT_DO="change:/dev/null",
                            FAULT_ALWAYS="0")
            return disturbed(self.scene, self.library, folder, settings)[2]


def trials_of(scene, library):
    def trial(*arguments, **options):
        return Trial(scene, library, *arguments, **options)

    full, io = os.strerror(errno.ENOSPC), os.strerror(errno.EIO)
    yield "killed", trial(WRITING, "SIGKILL", {-signal.SIGKILL}, is_killed=True)
    if scene.command.units == ("*",):
        yield "killed at every rename", trial("rename,renameat2,unlink", "SIGKILL",
                                              {-signal.SIGKILL}, is_killed=True).at_all()
    for name in ("SIGTERM", "SIGINT"):
        yield name, trial(WRITING, name, {-getattr(signal, name)})
    # A line of trials for all others would take long: each is sent at a call of its own.
    for number, name in enumerate(STOPPING):
        yield name, trial(WRITING, name, {-getattr(signal, name)}).only(3 + 4 * number)
    # These two become errors of write(), which none of these runs meets.
    for name in ("SIGPIPE", "SIGXFSZ"):
        yield name, trial(WRITING, name, {OK}).only(5)
    yield "disk full", trial("create,write,mkdir", str(errno.ENOSPC), {CANNOT_WRITE}, always=True,
                             says=[full])
    yield "cannot be renamed", trial("rename,renameat2", str(errno.EIO), {CANNOT_WRITE}, says=[io])
    # A file system without the newer ways to rename: the plain ones serve.
    yield "plain renames only", trial("renameat2", str(errno.EINVAL), {OK}, always=True)
    # What cannot be read to be of cleave's is not replaced.
    yield "cannot be read", trial("open,pread,read", str(errno.EIO), {OK, BAD_INPUT, CANNOT_WRITE},
                                  says=[io, "manifest.json of cleave's", "could not be removed: see",
                                        "manifest.json does not list"])
    yield "cannot be mapped", trial("mmap", str(errno.ENOMEM), {OK, NO_MEMORY}, says=["out of memory"])
    model = scene.command.arguments.split()[1]
    for what in ("cut", "change"):
        yield f"input is {what}", trial(READING, f"{what}:FOLDER/{model}", {OK, BAD_INPUT},
                                        says=[model])
    yield "short reads and writes", trial("read,pread,write", "short", {OK}, always=True)
    yield "a bug", trial("write", "throw", {BUG}, says=["this is a bug in cleave: a test threw this"]).only(1)
    # The calls that led to it, for who reports the bug: each with an address in the program.
    yield "a bug's calls", trial("write", "throw", {BUG}, says=["and these calls:\n" + scene.cleave]).only(1)
    calls = "pread,write" if "--html" in scene.command.arguments else "read,pread,write"  # fontconfig
    yield "interrupted", trial(calls, "interrupted", {OK}, always=True)


def points(trial, most):
    if trial.points is not None:
        return trial.points
    if trial.settings["FAULT_DO"] in ("short", "interrupted"):
        return [1]
    count = trial.count()
    if most == 0 or count <= most:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // max(most - 1, 1) for i in range(most)})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave", type=os.path.abspath)
    parser.add_argument("failing_calls", type=os.path.abspath)
    parser.add_argument("--most", type=int, default=3)
    options = parser.parse_args()
    bad = runs = 0
    for command in COMMANDS:
        with Scene(options.cleave, command) as scene:
            if not Trial(scene, options.failing_calls, "write", "", set()).happens(1):
                print("skipped: this build's calls cannot be caught: its sanitizer has them first")
                sys.exit(SKIPPED)
            for name, trial in trials_of(scene, options.failing_calls):
                for call in points(trial, options.most):
                    runs += 1
                    for line in trial.at(call) or []:
                        bad += 1
                        print(f"{command.name}, {name}, at call {call}: {line}")
    print(f"{runs} disturbed runs of {len(COMMANDS)} commands, {bad} faults")
    sys.exit(1 if bad or not runs else 0)


if __name__ == "__main__":
    main()
