"""Runs a script's work in a child process, since ONNX Runtime may crash (SIGFPE, SIGSEGV) on inputs that
a model does not accept. The child reports each step through a pipe before it starts it. If the child
crashes, the parent knows at which step, and starts another child that skips the step if it can.
"""

import os
import signal
import subprocess
import sys

_PIPE = "CLEAVE_CHILD_PIPE"  # in the child's environment: the pipe's file descriptor
_DEADLY = "CLEAVE_DEADLY_DRAWS"  # and the draws that killed a child before, by number

DRAWING = "draw "  # begins a message about inputs that are tried: "draw 3"


def is_child():
    return _PIPE in os.environ


def tell(doing):
    """Reports the next step to the parent. Without a parent it does nothing."""
    if is_child():
        os.write(int(os.environ[_PIPE]), doing.encode("utf-8", "replace") + b"\n")


def deadly_draws():
    """The numbers of the random inputs that crashed ONNX Runtime in an earlier child."""
    return {int(number) for number in os.environ.get(_DEADLY, "").split(",") if number}


def run_in_child(script):
    """Runs this script as a child, again until one does not crash on the inputs that it tries. Returns
    its exit status and, if a signal ended it, its last step and the signal's name."""
    deadly = []
    while True:
        ours, its = os.pipe()
        environment = os.environ | {_PIPE: str(its), _DEADLY: ",".join(deadly)}
        command = [sys.executable, script, *sys.argv[1:]]
        child = subprocess.Popen(command, env=environment, pass_fds=[its])
        os.close(its)
        doing = "starting"
        with os.fdopen(ours, encoding="utf-8", errors="replace") as told:
            for line in told:
                doing = line.rstrip("\n")
        status = child.wait()
        if status >= 0:
            return status, None
        if not doing.startswith(DRAWING):
            return status, f"{doing}: ONNX Runtime crashed: {signal.Signals(-status).name}"
        deadly.append(doing[len(DRAWING) :])
