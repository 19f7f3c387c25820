"""Runs a script's work in a child process, since a runtime may crash (SIGFPE, SIGSEGV) on inputs that a model does not accept,
and may print what it likes. The child reports each step through a pipe before it starts it, and at the end its result. If the
child crashes, the parent knows at which step, and starts another child that skips the step if it can.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import guard

_PIPE = "CLEAVE_CHILD_PIPE"  # in the child's environment: the pipe's file descriptor
_DEADLY = "CLEAVE_DEADLY_DRAWS"  # and the draws that killed a child before, by number
JUDGE = "CLEAVE_CHILD_JUDGE"  # and which of several runtimes it is for

DRAWING = "draw "  # begins a message about inputs that are tried: "draw 3"
ORIGINAL = "running the original"  # and one about the model that all is compared with: if that crashes, the script cannot run


@dataclass
class Ended:
    """How a child ended: with a result, with a fault's text and status, or by a signal while `doing` something."""

    doing: str = "starting"
    result: dict | None = None
    fault: str = ""
    status: int = 0
    death: str = ""


def is_child():
    return _PIPE in os.environ


def send(**message):
    if is_child():
        os.write(int(os.environ[_PIPE]), json.dumps(message).encode() + b"\n")


def tell(doing):
    """Reports the next step to the parent. Without a parent it does nothing."""
    send(doing=doing)


def deadly_draws():
    """The numbers of the random inputs that crashed the runtime in an earlier child."""
    return {int(number) for number in os.environ.get(_DEADLY, "").split(",") if number}


def work(job, subject):
    """In the child: does the job, which returns the result, and tells the parent what came of it."""
    try:
        send(result=job())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BaseException as error:
        text, status = guard.fault_of(error, subject)
        send(fault=text, status=status)
    sys.exit(0)


def run_in_child(script, arguments, judge=""):
    """Runs this script as a child, again until one does not crash on the inputs that it tries. Returns an Ended."""
    deadly: list[str] = []
    while True:
        ended = run_once([sys.executable, script, *arguments], {_DEADLY: ",".join(deadly), JUDGE: judge})
        if not ended.death or not ended.doing.startswith(DRAWING):
            return ended
        deadly.append(ended.doing[len(DRAWING) :])


def run_once(command, environment):
    ours, its = os.pipe()
    ended = Ended()
    with tempfile.TemporaryFile() as printed:
        child = subprocess.Popen(command, env=os.environ | environment | {_PIPE: str(its)}, pass_fds=[its], stdout=printed,
                                 stderr=printed)  # fmt: skip
        os.close(its)
        try:
            with os.fdopen(ours, encoding="utf-8", errors="replace") as told:
                for line in told:
                    if line.endswith("\n"):
                        for name, value in json.loads(line).items():
                            setattr(ended, name, value)
            status = child.wait()
        finally:
            child.kill()
            child.wait()
        if ended.result is None and not ended.fault:
            if status == -signal.SIGKILL:
                ended.death = "was killed (SIGKILL), as where memory runs out"
            elif status < 0:
                ended.death = f"crashed: {signal.Signals(-status).name}"
            else:
                printed.seek(0, os.SEEK_END)
                printed.seek(max(0, printed.tell() - 4096))
                last = printed.read().decode("utf-8", "replace").strip().splitlines()
                ended.death = f"ended with status {status}: {last[-1] if last else 'without a word'}"
    return ended
