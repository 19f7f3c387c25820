#!/usr/bin/env python3
"""A backend that fails by rules, for tests of `cleave lower`.

usage: fake_backend.py [--log FILE] [RULE...] MODEL OUT        one compile
       fake_backend.py --serve [--log FILE] [RULE...]          a worker

A rule says when the piece is not compiled, and how:
    op=X          refuses a piece with an op X, and names the node
    lone=X+Y+Z    refuses an op X, unless the piece has the other ops, too
    gelu          refuses an Erf, unless the piece has a Div and two Mul, too
    without=X     refuses an Erf in a piece that has a weight of this name
    mute=X        the same without a name
    set=X:A:V     refuses an op X that states V, as Python writes it, for the attribute A
    lie=X:Y       refuses an op X and blames an op Y
    pair=X+Y      refuses a piece with both
    edge=X+Y      refuses a piece in which an op Y reads an op X
    above=N       refuses a piece of more than N nodes
    open          refuses a piece with an input of open shape; open=N: if it has more than N nodes
    fixed=X       refuses an op X in a piece whose inputs all have known shapes
    while=X:FILE  refuses an op X while there is such a file
    crash=X       crashes with SIGSEGV
    hang=X        ignores SIGTERM and sleeps
    fork=X        refuses, and leaves a process that keeps its output open and one in a separate session
    flood=X       writes 100 MB of text and refuses
    eat=X         allocates until the limit
    silent=X      exits 0 without output
    fill=X        writes its folder full, and dies of it as a compiler does
    vary=X        refuses an op X, each time in other words
    flaky=X:FILE  refuses an op X at every third call, counted in the file
    slow=N        takes N seconds
    low=N         refuses an opset below N
    lost=X:FILE   says what srun says when a machine goes away, the first time
    chance=N      crashes with SIGSEGV one time in N, whatever the piece
    shaky=X:DIR   crashes the first three times that it sees a piece with an op X
    size=X:N      refuses an op X that reads an input of the piece with a dim of N, without a name
    alone=FILE    needs the device for itself: says that it is busy while another one runs, which FILE tells
    cold=N:FILE   refuses whatever it gets at its first N calls, counted in the file
    stingy=FOLDER refuses each piece the first time that it sees it
    half=X        writes half of its output, says on standard output why, and exits 1
    ints          refuses a piece with an input of int64, as it does not know a shape's values
    garbage       accepts files that are not models
"""
import ctypes
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

from onnx_lite import Unreadable, read_model


class Refused(Exception):
    pass


def first_of(model, op):
    return next((node for node in model.nodes if node.op == op), None)


def is_open(value):
    return value.dims is None or None in value.dims


def crash():
    ctypes.string_at(0)


def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)


def fork():
    subprocess.Popen(["sleep", "1000"])
    subprocess.Popen(["sleep", "1001"], start_new_session=True)
    raise Refused("unsupported: it forks")


def flood():
    line = "x" * 1023 + "\n"
    for _ in range(100 * 1024):
        sys.stderr.write(line)
    raise Refused("unsupported: a flood")


def eat():
    kept = []
    while True:
        kept.append(bytearray(1 << 26))


def silent():
    sys.exit(0)


def fill():
    with open("filler", "wb") as file:
        while True:
            file.write(bytes(1 << 20))


BEHAVIOURS = {
    "crash": crash,
    "hang": hang,
    "fork": fork,
    "flood": flood,
    "eat": eat,
    "silent": silent,
    "fill": fill,
}


def counted(path):
    """How often this was called before."""
    with open(path, "a+", encoding="utf-8") as file:
        count = file.tell()
        file.write(".")
    return count


INT64 = 7


def take_device(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise Refused("device /dev/npu0 is busy (in use by another process)") from None
    try:
        time.sleep(0.05)
    finally:
        os.unlink(path)


def refuse_first_time(folder, model):
    name = hashlib.sha256(repr(model).encode()).hexdigest()
    if counted(os.path.join(folder, name)) == 0:
        raise Refused("the license server did not answer")


def apply(rule, model):
    kind, _, text = rule.partition("=")
    nodes = model.nodes
    if kind in BEHAVIOURS and first_of(model, text):
        BEHAVIOURS[kind]()
    if kind == "op" and (node := first_of(model, text)):
        raise Refused(f'cannot lower node "{node.name}": op {text} is not supported')
    if kind == "set":
        op, name, value = text.split(":")
        if any(node.op == op and str(node.attributes.get(name)) == value for node in nodes):
            raise Refused("internal error: assertion failed in pass 7")
    if kind == "lone" and (node := first_of(model, text.split("+")[0])):
        if not all(first_of(model, op) for op in text.split("+")):
            raise Refused(f'cannot lower node "{node.name}": op {node.op} is not supported')
    if kind == "gelu" and first_of(model, "Erf"):
        if not first_of(model, "Div") or sum(node.op == "Mul" for node in nodes) < 2:
            raise Refused("op Erf is not supported")
    if kind == "without" and first_of(model, "Erf") and any(text in node.inputs for node in nodes):
        raise Refused("op Erf is not supported")
    if kind == "mute" and first_of(model, text):
        raise Refused("internal error: assertion failed in pass 7")
    if kind == "while" and first_of(model, text.split(":")[0]) and os.path.exists(text.split(":")[1]):
        raise Refused("internal error: a library is missing")
    if kind == "lie" and first_of(model, text.split(":")[0]):
        raise Refused(f"op {text.split(':')[1]} is not supported")
    if kind == "pair" and all(first_of(model, op) for op in text.split("+")):
        raise Refused("internal error: two layouts meet")
    if kind == "edge":
        made = {name for node in nodes if node.op == text.split("+")[0] for name in node.outputs}
        if any(node.op == text.split("+")[1] and made & set(node.inputs) for node in nodes):
            raise Refused("internal error: layout pass failed")
    if kind == "above" and len(nodes) > int(text):
        raise Refused("too many nodes for one program")
    is_any_open = any(is_open(value) for value in model.inputs)
    if kind == "open" and is_any_open and len(nodes) > int(text or 0):
        raise Refused("source without a determined shape")
    if kind == "fixed" and not is_any_open and (node := first_of(model, text)):
        raise Refused(f'node "{node.name}": {text} has a bad size')
    if kind == "vary" and first_of(model, text):
        raise Refused(f"internal error at {''.join(random.choices('abcdef', k=12))}")
    if kind == "chance" and random.randrange(int(text)) == 0:
        crash()
    if kind == "shaky" and first_of(model, text.split(":")[0]):
        if counted(os.path.join(text.split(":")[1], hashlib.sha256(repr(model).encode()).hexdigest())) < 3:
            crash()
    if kind == "size":
        op, size = text.split(":")
        read = {name for node in nodes if node.op == op for name in node.inputs}
        if any(int(size) in (value.dims or []) for value in model.inputs if value.name in read):
            raise Refused("internal error: no tile fits")
    if kind == "alone":
        take_device(text)
    if kind == "cold" and counted(text.split(":")[1]) < int(text.split(":")[0]):
        raise Refused("the license server did not answer")
    if kind == "stingy":
        refuse_first_time(text, model)
    if kind == "ints" and any(value.element == INT64 for value in model.inputs):
        raise Refused("shape values are not known")
    if kind == "slow":
        time.sleep(float(text))
    if kind == "low" and model.opset < int(text):
        raise Refused(f"operators of this opset are not known: at least {text}")
    if kind == "flaky" and first_of(model, text.split(":")[0]):
        if counted(text.split(":")[1]) % 3 == 0:
            raise Refused("internal error: a race")
    if kind == "lost" and first_of(model, text.split(":")[0]):
        if counted(text.split(":")[1]) == 0:
            sys.stderr.write("srun: error: Node failure on node7\n")
            sys.exit(1)


def compile_model(path, rules):
    try:
        model = read_model(path)
    except Unreadable as error:
        if "garbage" in rules:
            return None
        raise Refused(f"cannot be read: {error}") from error
    unknown = first_of(model, "NoSuchOpOfOnnx")
    if unknown:
        raise Refused(f'node "{unknown.name}": op {unknown.op} is not known')
    for rule in rules:
        apply(rule, model)
    return model


def write_half(rules, path, out):
    bad = [rule.partition("=")[2] for rule in rules if rule.startswith("half=")]
    found = next((op for op in bad if first_of(read_model(path), op)), None)
    if found is None:
        return
    with open(out, "w", encoding="utf-8") as file:
        file.write("compi")
    print(f"FATAL: op {found} is not in the table")
    sys.exit(1)


def take_log(arguments):
    if "--log" not in arguments:
        return None
    at = arguments.index("--log")
    log = arguments[at + 1]
    del arguments[at : at + 2]
    return log


def note(log, text):
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def serve(rules, log):
    print(json.dumps({"ready": "fake", "version": "1"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        note(log, request["op"])
        try:
            compile_model(request["model"], rules)
            answer = {"ok": True}
        except Refused as error:
            answer = {"ok": False, "stage": "compile", "error": str(error)}
        print(json.dumps(answer), flush=True)


def main():
    arguments = sys.argv[1:]
    log = take_log(arguments)
    if arguments[:1] == ["--serve"]:
        return serve(arguments[1:], log)
    *rules, model, out = arguments
    note(log, "compile")
    write_half(rules, model, out)
    try:
        compile_model(model, rules)
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    with open(out, "w", encoding="utf-8") as file:
        file.write("compiled\n")


if __name__ == "__main__":
    main()
