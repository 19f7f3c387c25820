#!/usr/bin/env python3
"""Hostile inputs: each file is made here, with the result that is expected.

usage: hostile_test.py CLEAVE [NAME...]      exit status 1 when something is not as stated

A case makes a file, gives it to cleave, and states the exit code and words of the message. In each case:
no crash, an end within a minute, at most 2 GiB of private memory (except with sanitizers, which need
more), standard error that is safe for a terminal, and no output folder if the exit code is not 0.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import flatbuffer as fb
import protobuf as pb

MEMORY = 2 << 30
SECONDS = 60
DEEP = 20_000
BIDI = "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNSAFE = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}]")
CASES = []


class Wrong(Exception):
    """A result is not the expected one."""


def holds(condition, what):
    if not condition:
        raise Wrong(what)


def case(function):
    CASES.append(function)
    return function


class Run:
    """One run of cleave in the case's folder."""

    memory = MEMORY

    @classmethod
    def limit_memory(cls):
        resource.setrlimit(resource.RLIMIT_DATA, (cls.memory, resource.RLIM_INFINITY))

    def __init__(self, cleave, folder, arguments, **more):
        try:
            done = subprocess.run([cleave, *arguments], cwd=folder, capture_output=True, timeout=SECONDS,
                                  preexec_fn=self.limit_memory, **more)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{arguments}: takes more than {SECONDS} s") from None
        self.code, self.out, raw_errors = done.returncode, done.stdout, done.stderr
        self.what = " ".join(map(str, arguments))
        try:
            self.errors = raw_errors.decode()
        except UnicodeDecodeError:
            raise Wrong(f"{self.what}: standard error is not UTF-8: {raw_errors[:300]!r}") from None
        unsafe = UNSAFE.search(self.errors)
        holds(not unsafe, f"{self.what}: standard error holds {unsafe and unsafe.group()!r}: {self.errors[:300]!r}")
        holds(self.code >= 0, f"{self.what}: ends by signal {-self.code}: {self.errors[:300]}")

    def is_done(self):
        holds(self.code == 0, f"{self.what}: exit {self.code}: {self.errors[:500]}")
        return self

    def is_refused(self, words, code=3):
        holds(self.code == code, f"{self.what}: exit {self.code}, not {code}: {self.errors[:500]}")
        holds(words in self.errors, f"{self.what}: {words!r} is not in {self.errors[:500]!r}")
        holds(self.out == b"", f"{self.what}: refused, but prints {self.out[:200]!r}")
        return self


class Bench:
    """The folder with a case's files, and the program to run on them."""

    def __init__(self, cleave, folder):
        self.cleave, self.folder = cleave, Path(folder)
        self.file("list.txt", "Relu\nAdd\nf\n")

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return name

    def run(self, *arguments, **more):
        return Run(self.cleave, self.folder, arguments, **more)

    def preview(self, content, *options, name="m.bin"):
        return self.run("preview", self.file(name, content), "-s", "list.txt", *options)

    def split_is_refused(self, content, words, name="m.onnx"):
        self.run("split", self.file(name, content), "-s", "list.txt", "-o", "out").is_refused(words)
        holds(not (self.folder / "out").exists(), "an output folder is left behind")
        left = [p.name for p in self.folder.iterdir() if p.name.startswith(".out")]
        holds(not left, f"left behind: {left}")


def chain(tensors, count=1):
    """x -> Add of each tensor -> Relu -> y"""
    nodes, last = [], "x"
    for i in range(count):
        nodes.append(pb.node("Add", [last, f"w{i}"], [f"t{i}"]))
        last = f"t{i}"
    return pb.simple(nodes + [pb.node("Relu", [last], ["y"])], tensors)


def external(**entries):
    pairs = [("location", entries.pop("location", "w.bin")), *entries.items()]
    return chain([pb.tensor("w0", [2, 3], external=pairs)])


def outside_weights(location="w.bin", offset=0, length=24):
    """A TensorFlow Lite model, y = RELU(x + w), with w in another file."""
    return fb.model([fb.tensor("x"), fb.tensor("w", external=7), fb.tensor("t"), fb.tensor("y")], [fb.code(fb.ADD), fb.code(fb.RELU)],
                    [fb.operator(0, [0, 1], [2]), fb.operator(1, [2], [3])], [0], [3],
                    files=[location], external=[(7, 0, offset, length)])


# ---- external data ----

@case
def external_paths_stay_in_the_folder(bench):
    bench.file("m/w.bin", bytes(24))
    bench.file("secret.bin", bytes(24))
    (bench.folder / "m/link.bin").symlink_to("../secret.bin")
    (bench.folder / "m/absolute.bin").symlink_to(bench.folder / "secret.bin")
    (bench.folder / "m/up").symlink_to("..")
    (bench.folder / "m/loop").symlink_to("loop")
    (bench.folder / "m/device").symlink_to("/dev/zero")
    os.mkfifo(bench.folder / "m/fifo")
    (bench.folder / "m/sub").mkdir()
    for location, words in [
        ("../secret.bin", 'holds ".."'), ("sub/../../secret.bin", 'holds ".."'), ("..", 'holds ".."'),
        (str(bench.folder / "secret.bin"), "is absolute"), ("/etc/passwd", "is absolute"),
        ("link.bin", "leads out of the model's folder through a link"),
        ("absolute.bin", "leads out of the model's folder through a link"),
        ("up/secret.bin", "leads out of the model's folder through a link"),
        ("device", "leads out of the model's folder through a link"),
        ("fifo", "is not a regular file"), ("sub", "is not a regular file"), ("loop", "cannot be opened"),
        ("none.bin", "cannot be opened"), ("", "names no file"), ("w.bin\0", "holds a zero byte"),
        ("w\x1b[31m.bin", r"w\x1B[31m.bin"), ("w\u202e.bin", r"w\xE2\x80\xAE.bin"), ("n" * 5000, "cannot be opened"),
    ]:
        bench.split_is_refused(external(location=location), words, name="m/m.onnx")
        bench.split_is_refused(outside_weights(location), words, name="m/m.tflite")
    (bench.folder / "m/inside.bin").symlink_to("w.bin")
    bench.file("m/m.onnx", external(location="inside.bin"))
    bench.run("split", "m/m.onnx", "-s", "list.txt", "-o", "out").is_done()
    bench.file("m/m.tflite", outside_weights("inside.bin"))
    bench.run("split", "m/m.tflite", "-s", "list.txt", "-o", "out_tflite").is_done()


@case
def external_slices_lie_in_the_file(bench):
    bench.file("w.bin", bytes(24))
    most = (1 << 64) - 1
    for entries, words in [
        ({"offset": "25"}, "after the file's end"), ({"offset": str(most)}, "after the file's end"),
        ({"offset": "8", "length": "24"}, "but the file ends after 16"),
        ({"offset": "16", "length": str(most - 15)}, "but dims and type make 24"),
        ({"length": str(most)}, "but dims and type make 24"), ({"length": "23"}, "but dims and type make 24"),
        ({"offset": str(most + 1)}, "which is not a number of bytes"), ({"offset": "-1"}, "which is not a number of bytes"),
        ({"length": "1e3"}, "which is not a number of bytes"), ({"length": "\x1b]0;x\x07"}, r"\x1B]0;x\x07"),
        ({"offset": ""}, "which is not a number of bytes"),
    ]:
        bench.split_is_refused(external(**entries), words)
    for offset, length, words in [
        (25, 24, "after the file's end"), (most, 24, "after the file's end"), (8, 24, "but the file ends after 16"),
        (16, most - 15, "but the file ends after 8"), (0, most, "but the file ends after 24"),
        (0, 23, "has 23 bytes of data, fewer than its shape asks for"),
    ]:
        bench.split_is_refused(outside_weights(offset=offset, length=length), words, name="m.tflite")


# ---- sizes ----

@case
def products_of_dims_that_overflow(bench):
    wide = [1 << 40, 1 << 40]
    shape = {"name": "x", "dtype": "float32", "shape": wide}
    bench.preview(json.dumps(graph_json([], inputs=[shape]))).is_refused("more elements than 2^63-1")
    for dims in (wide, [(1 << 63) - 1, 2], [(1 << 62), 0, 4], [1 << 33, 1 << 33, 1 << 33]):
        made = pb.model(pb.graph([pb.node("Relu", ["x"], ["t"]), pb.node("Neg", ["t"], ["y"])],
                                 [pb.value("x", dims)], [pb.value("y", dims)]))
        report = json.loads(bench.preview(made, "--json").is_done().out)
        numbers = [part[key] for part in report["partitions"] for key in ("input_bytes", "output_bytes")]
        holds(all(0 <= n < 1 << 63 for n in numbers), f"bytes of {dims}: {numbers}")
    bench.split_is_refused(chain([pb.tensor("w0", [-1, 3], bytes(24))]), "has a dim of -1")
    bench.split_is_refused(chain([pb.tensor("w0", wide, external=[("location", "w.bin")])]), "has more elements than 2^63-1")


@case
def fields_of_four_gibibytes(bench):
    """Sparse files, which take no space on the disk."""
    def sparse(name, head, size, tail=b""):
        with open(bench.folder / name, "wb") as file:
            file.write(head)
            file.truncate(len(head) + size)
            file.seek(0, os.SEEK_END)
            file.write(tail)
        return name

    four = 1 << 32
    head = pb.number(1, 8) + pb.varint(7 << 3 | 2)

    def with_long(field_number, size):
        """A model whose graph has one field of that size."""
        inner = pb.varint(field_number << 3 | 2) + pb.varint(size)
        return head + pb.varint(len(inner) + size) + inner

    sparse("name.onnx", with_long(2, four - 64), four - 64)
    bench.run("preview", "name.onnx", "-s", "list.txt").is_refused("a name at byte")
    sparse("over.onnx", with_long(2, four + 64), four + 64)
    bench.run("preview", "over.onnx", "-s", "list.txt").is_refused("above 4 GiB none is read")
    sparse("graph.onnx", head + pb.varint(four * 2), four * 2)
    bench.run("preview", "graph.onnx", "-s", "list.txt").is_refused("above 4 GiB none is read")
    sparse("cut.onnx", head + pb.varint((1 << 63) + 5), 100)
    bench.run("preview", "cut.onnx", "-s", "list.txt").is_refused("ends early")
    sparse("wide.json", b'{"format": "cleave.graph", "version": 1, "name": "', four, b'"}')
    bench.run("preview", "wide.json", "-s", "list.txt").is_refused("is larger than 4 GiB")
    sparse("zeros.bin", b"", four)
    bench.run("preview", "zeros.bin", "-s", "list.txt").is_refused("not a model cleave can read")
    bench.file("m.json", json.dumps(graph_json([])))
    bench.run("preview", "m.json", "-s", "zeros.bin").is_refused("has more than 268,435,456 bytes")
    bench.run("check", "m.json", "-s", "list.txt", "--baseline", "zeros.bin").is_refused("zeros.bin")
    for option in (["preview", "m.json", "--map"], ["stage", "m.json", "--stages", "1", "--costs"]):
        run = bench.run(*option, "zeros.bin")
        holds(run.code in (3, 71), f"{option}: exit {run.code}: {run.errors[:300]}")


@case
def a_million_attributes_on_one_node(bench):
    count = 1_000_000
    attributes = b"".join(pb.int_attribute(f"a{i}", i) for i in range(count))
    made = pb.simple([pb.node("Relu", ["x"], ["y"], attributes=attributes)])
    bench.preview(made).is_refused("more than 100,000 attributes; --limit attributes=N")
    bench.preview(made, "--limit", f"attributes={count}").is_done()
    text = json.dumps(graph_json([{"name": "n", "op": "f", "inputs": ["x"], "outputs": [{"name": "n"}],
                                   "attributes": {f"a{i}": i for i in range(count)}}], outputs=["n"]))
    bench.preview(text).is_refused("more than 100,000 attributes; --limit attributes=N")
    bench.preview(text, "--limit", f"attributes={count}").is_done()


@case
def many_of_anything(bench):
    """Long inputs of one node, rules of a list, dims of a type: the time must be linear in the bytes."""
    names = [f"x{i}" for i in range(200_000)]
    made = pb.simple([pb.node("Concat", ["x"] * 1_000_000, ["t"], attributes=pb.int_attribute("axis", 0)),
                      pb.node("Relu", ["t"], ["y"])])
    bench.preview(made).is_done()
    made = pb.model(pb.graph([pb.node("Split", ["x"], names), pb.node("Add", names[:2], ["y"])], [pb.value("x")],
                             [pb.value("y")]))
    bench.preview(made).is_done()
    made = pb.model(pb.graph([pb.node("Relu", ["x"], ["y"])], [pb.value("x", [1] * 100_000)], [pb.value("y", [1])]))
    bench.preview(made).is_refused("more than 1,000 dims; --limit dims=N")
    bench.file("long.txt", "\n".join(f"Op{i}*" for i in range(20_000)))
    bench.file("m.onnx", pb.simple([pb.node("Relu", ["x"], ["y"])]))
    bench.run("preview", "m.onnx", "-s", "long.txt").is_done()


@case
def side_files_without_an_end(bench):
    """Lists, maps, tables and baselines from a device that never ends."""
    bench.file("m.json", json.dumps(graph_json([{"name": "n", "op": "f", "inputs": ["x"], "outputs": [{"name": "n"}]}], outputs=["n"])))
    bench.file("l.txt", "f\n")
    for command in (["preview", "m.json", "-s"], ["preview", "m.json", "--map"], ["stage", "m.json", "--stages", "2", "--costs"],
                    ["stage", "m.json", "--devices"], ["stage"], ["cut", "m.json", "-o", "out.json", "--nodes"],
                    ["check", "m.json", "-s", "l.txt", "--baseline"]):
        bench.run(*command, "/dev/zero").is_refused("is a device that is read without end")
    bench.run("lower", "m.json", "-s", "l.txt", "--backend", "/dev/zero").is_refused("is a device that is read without end")
    run = bench.run("--config", "/dev/zero", "check", "m.json", "-s", "l.txt")
    holds(run.code == 3 and "has more than 4,000,000 bytes" in run.errors, f"--config /dev/zero exits {run.code}: {run.errors[:200]}")


# ---- depth ----

def nested(open_, inner, close, depth=DEEP):
    return open_ * depth + inner + close * depth


@case
def json_that_nests_twenty_thousand_deep(bench):
    node = ('{"name": "n", "op": "f", "inputs": [%s], "kwargs": {%s}, "attributes": {%s}, "outputs": [{"name": "n"%s}]}')
    graph = ('{"format": "cleave.graph", "version": 1, "name": "g", "inputs": [{"name": "x"%s}], "outputs": ["n"], '
             '"output_tree": %s, "nodes": [%s]}')
    lists, elements = nested('{"list": [', '"x"', "]}"), nested('{"type": "tuple", "elements": [', "", "]}")
    anything = nested("[", "", "]")
    objects = nested('{"a": ', "1", "}")
    plain = node % ("", "", "", "")
    for text in [
        anything, graph % ("", anything, plain), graph % ("", objects, plain),
        graph % (f', "type": "tuple", "elements": [{elements}]', "null", plain),
        graph % (f', "default": {anything}', "null", plain), graph % ("", "null", node % (lists, "", "", "")),
        graph % ("", "null", node % ("", f'"k": {lists}', "", "")), graph % ("", "null", node % ("", "", f'"a": {objects}', "")),
        graph % ("", "null", node % ("", "", "", f', "type": "tuple", "elements": [{elements}]')),
    ]:
        words = "not a model" if text.startswith("[") else "nested more than"
        bench.preview(text).is_refused(words)
    bench.file("m.json", json.dumps(graph_json([{"name": "n", "op": "f", "inputs": ["x"], "outputs": [{"name": "n"}]}],
                                               outputs=["n"])))
    for text in (nested('{"allow": ', "1", "}"), '{"format": "cleave.support", "version": 1, "allow": [' + objects + "]}"):
        bench.run("preview", "m.json", "-s", bench.file("deep.json", text)).is_refused("nested more than")
    bench.run("preview", "m.json", "--map", bench.file("map.json", objects)).is_refused("nested more than")
    bench.run("check", "m.json", "-s", "list.txt", "--baseline", bench.file("base.json", objects)).is_refused("base.json")
    bench.run("stage", bench.file("load.json", '{"nodes": ' + objects + "}")).is_refused("nested more than")
    code = bench.run("stage", "m.json", "--stages", "1", "--loss-output", anything).code
    holds(code in (2, 3), f"a deep --loss-output exits {code}")


@case
def configurations_that_nest_twenty_thousand_deep(bench):
    bench.file("m.json", json.dumps(graph_json([{"name": "n", "op": "f", "inputs": ["x"], "outputs": [{"name": "n"}]}],
                                               outputs=["n"])))
    dots = ".a" * DEEP
    long_key = "a key has more than 8 parts"
    for text, words in [
        (f"[a{dots}]\n", long_key), (f"[check]\na{dots} = 1\n", long_key), (f"[check]\na = {{a{dots} = 1}}\n", long_key),
        ("[check]\n" + '"."' + '."."' * DEEP + " = 1\n", long_key), (f"[check]\na = [1, {{a{dots} = 1}}]\n", long_key),
        (f'[check]\na = """"two quotes""""", b{dots} = 1\n', long_key), (f"[check]\na = '\\', b{dots} = 1\n", long_key),
        ("[check]\na = " + nested("[", "1", "]") + "\n", "exceeded maximum nested value depth"),
        ("[check]\na = " + nested("{a = ", "1", "}") + "\n", "exceeded maximum nested value depth"),
        ("[check]\na = " + nested("{a.b.c.d.e.f.g.h = ", "1", "}", 255) + "\n", "must be text"),
        ("".join(f"[a{i}.b.c.d.e]\n" for i in range(DEEP)), '"a0.b" must be text'),
        ("".join(f"[[check]]\na{i} = 1\n" for i in range(DEEP)), "must be text"),
        (f'[check]\na = "{dots}"\n', "is not an option"),
        (f"[check]\n# a{dots}\na = 1\n", "is not an option"),
        (f"[check]\na = [{'0.5, ' * DEEP}]\n", "is not an option"),
    ]:
        bench.run("check", "m.json", "-s", "l.txt", "--config", bench.file("c.toml", text)).is_refused(words)


@case
def onnx_that_nests_twenty_thousand_deep(bench):
    graph = pb.graph([pb.node("Relu", ["x"], ["b"])], [], [pb.value("b")])
    for _ in range(DEEP):
        graph = pb.graph([pb.node("If", ["c"], ["b"], attributes=pb.graph_attribute("then_branch", graph))], [],
                         [pb.value("b")])
    bench.preview(pb.model(graph)).is_refused("nested deeper than 100 messages")
    type_ = pb.dims_type([2])
    for _ in range(DEEP):
        type_ = pb.field(4, pb.field(1, type_))  # a sequence of it
    made = pb.model(pb.graph([pb.node("Identity", ["x"], ["t"]), pb.node("SequenceLength", ["t"], ["y"])],
                             [pb.field(1, "x") + pb.field(2, type_)], [pb.value("y", [], 7)]))
    run = bench.preview(made)
    holds(run.code in (0, 3), f"a deep type exits {run.code}: {run.errors[:300]}")
    sub = bench.run("split", "m.bin", "-s", "list.txt", "-o", "deep_out")
    holds(sub.code in (0, 3), f"a deep type exits {sub.code}: {sub.errors[:300]}")


# ---- work that grows ----

@case
def functions_that_call_each_other(bench):
    """Each function calls the next twice: 2^60 calls if they were inlined."""
    def calls(level, times):
        nodes, last = [], "x"
        for i in range(times):
            out = "y" if i == times - 1 else f"t{i}"
            nodes.append(pb.node(f"f{level}", [last], [out], domain="d"))
            last = out
        return nodes

    functions = [pb.function(f"f{i}", "d", ["x"], ["y"], calls(i + 1, 2)) for i in range(60)]
    functions.append(pb.function("f60", "d", ["x"], ["y"], [pb.node("Relu", ["x"], ["y"])]))
    made = pb.simple([pb.node("f0", ["x"], ["t"], domain="d"), pb.node("Relu", ["t"], ["y"])], functions=functions,
                     versions={"": 17, "d": 1})
    bench.preview(made).is_done()
    bench.run("split", "m.bin", "-s", "list.txt", "-o", "out").is_done()
    begin = time.monotonic()
    fix = ("convert", "m.bin", "-s", "list.txt", "-o", "fixed.onnx")
    bench.run(*fix).is_refused("functions written out it has more than 1,000,000 nodes; --limit nodes=N")
    bench.run(*fix, "--limit", "nodes=5000").is_refused("functions written out it has more than 5,000 nodes")
    holds(time.monotonic() - begin < 5, "convert writes functions out before it counts them")
    few = [pb.function(f"f{i}", "d", ["x"], ["y"], calls(i + 1, 2)) for i in range(7)]
    few.append(pb.function("f7", "d", ["x"], ["y"], [pb.node("Relu", ["x"], ["y"])]))
    made = pb.simple([pb.node("f0", ["x"], ["t"], domain="d"), pb.node("Relu", ["t"], ["y"])], functions=few, versions={"": 17, "d": 1})
    bench.file("m.bin", made)
    bench.run(*fix, "--limit", "nodes=128").is_refused("more than 128 nodes")
    bench.run(*fix, "--limit", "nodes=129").is_done()
    circle = [pb.function("f0", "d", ["x"], ["y"], calls(1, 1)), pb.function("f1", "d", ["x"], ["y"], calls(0, 1))]
    made = pb.simple([pb.node("f0", ["x"], ["t"], domain="d"), pb.node("Relu", ["t"], ["y"])], functions=circle,
                     versions={"": 17, "d": 1})
    run = bench.preview(made)
    holds(run.code in (0, 3), f"a circle of functions exits {run.code}: {run.errors[:300]}")
    run = bench.run("split", "m.bin", "-s", "list.txt", "-o", "out2")
    holds(run.code in (0, 3), f"a circle of functions exits {run.code}: {run.errors[:300]}")


def int64s(*numbers):
    return b"".join(n.to_bytes(8, "little", signed=True) for n in numbers)


@case
def constants_that_grow(bench):
    """Few bytes that describe much data: cleave must not make the data."""
    huge = pb.tensor("shape", [2], int64s(1 << 30, 1 << 30), 7)
    value_of = pb.tensor_attribute("value", pb.tensor("v", [1], int64s(7), 7))
    fill = pb.node("ConstantOfShape", ["shape"], ["c"], attributes=value_of)
    made = pb.simple([fill, pb.node("Shape", ["c"], ["s"]), pb.node("Reshape", ["x", "s"], ["y"])], [huge])
    bench.preview(made).is_done()
    doubling = [pb.node("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}"], attributes=pb.int_attribute("axis", 0))
                for i in range(60)]
    made = pb.simple([*doubling, pb.node("Reshape", ["x", "c60"], ["y"])], [pb.tensor("c0", [2], int64s(1, 1), 7)])
    bench.preview(made).is_done()
    bounds = [pb.tensor("a", [], int64s(0), 7), pb.tensor("b", [], int64s(1 << 62), 7), pb.tensor("d", [], int64s(1), 7)]
    made = pb.simple([pb.node("Range", ["a", "b", "d"], ["r"]), pb.node("Reshape", ["x", "r"], ["y"])], bounds)
    bench.preview(made).is_done()
    for op, more in (("Tile", [1 << 40]), ("Expand", [1 << 40])):
        tensors = [pb.tensor("c", [1], int64s(1), 7), pb.tensor("n", [1], int64s(*more), 7)]
        made = pb.simple([pb.node(op, ["c", "n"], ["t"]), pb.node("Reshape", ["x", "t"], ["y"])], tensors)
        bench.preview(made).is_done()
    many = pb.tensor("s", [100_000], int64s(*[1] * 100_000), 7)
    nodes = [pb.node("Reshape", ["x", "s"], ["t0"])] + [pb.node("Relu", [f"t{i}"], [f"t{i + 1}"]) for i in range(5000)]
    made = pb.model(pb.graph([*nodes, pb.node("Neg", ["t5000"], ["y"])], [pb.value("x", [1])], [pb.value("y", [1])], [many]))
    bench.preview(made).is_done()


@case
def attributes_beyond_all_bounds(bench):
    """Operators whose shape depends on attributes: numbers at the ends of their ranges."""
    ends = [-(1 << 63), (1 << 63) - 1, 0, -1, 1 << 32]
    for op, inputs, names in [
        ("Conv", ["x", "x"], ["kernel_shape", "strides", "pads", "dilations"]), ("MaxPool", ["x"], ["kernel_shape", "strides", "pads"]),
        ("ConvTranspose", ["x", "x"], ["kernel_shape", "output_shape", "output_padding"]), ("Transpose", ["x"], ["perm"]),
        ("ReduceSum", ["x"], ["axes"]), ("Unsqueeze", ["x"], ["axes"]), ("Split", ["x"], ["split"]), ("Squeeze", ["x"], ["axes"]),
    ]:
        for number in ends:
            attributes = b"".join(pb.ints_attribute(name, [number] * 2) for name in names)
            for version in (11, 17):
                made = pb.model(pb.graph([pb.node(op, inputs, ["t"], attributes=attributes), pb.node("Relu", ["t"], ["y"])],
                                         [pb.value("x", [1, 3, 8, 8])], [pb.value("y", [1])]), versions={"": version})
                run = bench.preview(made)
                holds(run.code in (0, 3), f"{op} with {number} exits {run.code}: {run.errors[:300]}")
    for op, name in [("Concat", "axis"), ("Flatten", "axis"), ("Gather", "axis"), ("OneHot", "axis"), ("Softmax", "axis"),
                     ("DepthToSpace", "blocksize"), ("SpaceToDepth", "blocksize"), ("Shape", "start"), ("TopK", "axis")]:
        for number in ends:
            made = pb.simple([pb.node(op, ["x", "x", "x"], ["t"], attributes=pb.int_attribute(name, number)),
                              pb.node("Relu", ["t"], ["y"])])
            run = bench.preview(made)
            holds(run.code in (0, 3), f"{op} with {number} exits {run.code}: {run.errors[:300]}")


# ---- names ----

EVIL = ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\nb\r\nc", 'quo"te\'s', "<script>alert(1)</script>", "</script><!--",
        "]]>&amp;&lt;", "back\\slash\\n", "\u202etxt.exe", "\u2066iso\u2069", "\u061c\u200f\u200b", "\u2028\u2029", "\u009b31m",
        "|pipe|`tick`*star*_under_[l](javascript:alert(1))", "${HOME}$(id)`id`", "%s%n%999999d", "tab\there", "\ufffe\uffff",
        "../../etc/passwd", "\U000e0041\U0001f600", "::error file=x::y", "#", "-", "=1+1", "a,b;c"]
OTHER_OPTIONS = {"check": ["--force", "--min", "coverage=99%", "--ci", "check.xml", "--ci", "check.sarif", "--ci", "check.md",
                           "--ci", "github", "--exit-zero"]}


def evil_json():
    nodes = [{"name": f"{evil}{i}", "op": f"op.{evil}", "scope": f"s.{evil}", "target": evil, "domain": evil,
              "inputs": [f"{EVIL[i - 1]}{i - 1}" if i else evil], "attributes": {evil: evil},
              "outputs": [{"name": f"{evil}{i}", "dtype": "float32", "shape": [2, evil]}]} for i, evil in enumerate(EVIL)]
    inputs = [{"name": EVIL[0], "dtype": "float32", "shape": [2, EVIL[0]]}]
    return json.dumps(graph_json(nodes, inputs=inputs, outputs=[nodes[-1]["name"]], name=EVIL[0]))


def evil_onnx():
    evil = list(EVIL)
    nodes = [pb.node("Relu" if i % 2 else f"Op{name}", [evil[i - 1] if i else "x"], [name], name=name, domain="" if i % 2 else "d")
             for i, name in enumerate(evil)]
    return pb.model(pb.graph(nodes, [pb.value("x", [2, evil[8]])], [pb.value(evil[-1], [2, evil[8]])], name=evil[1]),
                    versions={"": 17, "d": 1})


def evil_tflite():
    """A chain of additions and custom operators: a node is called as its first output."""
    tensors = [fb.tensor("x"), *(fb.tensor(evil) for evil in EVIL)]
    codes = [fb.code(fb.ADD), *(fb.code(fb.CUSTOM, evil) for evil in EVIL)]
    operators = [fb.operator(0 if i % 2 else i + 1, [i, i], [i + 1]) for i in range(len(EVIL))]
    return fb.model(tensors, codes, operators, [0], [len(EVIL)], name=EVIL[0], signature=EVIL[2])


def evil_list():
    allow = [{"op": f"op.{evil}", "domain": evil, "why": evil, "attributes": {evil: EVIL[0]}} for evil in EVIL[::3]]
    allow += [{"op": f"op.{evil}", "domain": evil} for evil in EVIL[1::3]] + ["Relu"]
    return json.dumps({"format": "cleave.support", "version": 1, "name": EVIL[0], "allow": allow,
                       "deny": [{"name": f"{EVIL[4]}*", "why": EVIL[4]}]})


def is_utf8(data, what):
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Wrong(f"{what} is not UTF-8: {error}") from None


def fits_terminal(data, what):
    for line in is_utf8(data, what).split("\n"):
        unsafe = UNSAFE.search(line)
        holds(not unsafe, f"{what} shows {unsafe and unsafe.group()!r} in {line[:200]!r}")


def is_json(data, what):
    text = is_utf8(data, what)
    try:
        json.loads(text)
    except ValueError as error:
        raise Wrong(f"{what} is not JSON: {error}") from None
    fits = re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
    holds(not fits, f"{what} holds a raw control character")


def is_xml(data, what):
    from xml.parsers import expat
    try:
        expat.ParserCreate().Parse(data, True)
    except expat.ExpatError as error:
        raise Wrong(f"{what} is not XML: {error}") from None


class ScriptFinder(HTMLParser):
    """The scripts and event handlers of a page."""

    def __init__(self):
        super().__init__()
        self.scripts, self.handlers, self.names = 0, [], set()

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attributes if name.startswith("on")]


def has_no_script(data, what, most):
    finder = ScriptFinder()
    finder.feed(is_utf8(data, what))
    holds(finder.scripts <= most, f"{what} has {finder.scripts} scripts")
    holds(not finder.handlers, f"{what} has handlers: {finder.handlers}")


@case
def names_that_attack_their_reader(bench):
    """Checks every output of every command: on a terminal, in JSON, HTML, SVG, Markdown, XML."""
    for name, content in (("m.json", evil_json()), ("m.onnx", evil_onnx()), ("m.tflite", evil_tflite())):
        bench.file(name, content)
        bench.file("evil.json", evil_list())
        base = (name, "-s", "evil.json")
        node = EVIL[3] + ("3" if name == "m.json" else "")
        for command in (["preview", *base], ["preview", "--show", "ops", *base], ["explain", *base],
                        ["explain", name, node, "-s", "evil.json"],
                        ["preview", "--show", "nodes", *base], ["inspect", "--show", "nodes", name], ["lists", "lint", "evil.json", name],
                        ["advise", *base],
                        ["diff", *base, "to", "-s", "list.txt"], ["stage", name, "--stages", "2", "--balance", "nodes"],
                        ["check", *base, *OTHER_OPTIONS["check"]]):
            run = bench.run(*command)
            holds(run.code in (0, 1), f"{run.what}: exit {run.code}: {run.errors[:300]}")
            fits_terminal(run.out, run.what)
        for command in (["preview", *base], ["preview", "--show", "ops", *base], ["explain", *base], ["advise", *base],
                        ["lists", "lint", "evil.json", name],
                        ["diff", *base, "to", "-s", "list.txt"], ["stage", name, "--stages", "2", "--balance", "nodes"],
                        ["check", *base, "--max", "cpu-nodes=0"]):
            run = bench.run(*command, "--json")
            holds(run.code in (0, 1), f"{run.what}: exit {run.code}: {run.errors[:300]}")
            is_json(run.out, run.what)
        is_xml((bench.folder / "check.xml").read_bytes(), "JUnit")
        is_json((bench.folder / "check.sarif").read_bytes(), "SARIF")
        fits_terminal((bench.folder / "check.md").read_bytes(), "Markdown")
        has_no_script((bench.folder / "check.md").read_bytes(), "Markdown", 0)
        bench.run("preview", *base, "--force", "--html", "page.html", "--viewer", "netron.json", "--viewer", "explorer").is_done()
        has_no_script((bench.folder / "page.html").read_bytes(), "the page", 2)
        for path in [bench.folder / "netron.json", *sorted((bench.folder / "explorer").iterdir())]:
            is_json(path.read_bytes(), path.name)
        subprocess.run(["rm", "-r", bench.folder / "explorer"], check=True)
        is_utf8(bench.run("draw", *base).is_done().out, "the drawing")
        bench.run("draw", *base, "-o", "drawing.svg", "--force").is_done()
        svg = (bench.folder / "drawing.svg").read_bytes()
        is_xml(svg, "the SVG")
        has_no_script(svg, "the SVG", 0)
        out = bench.folder / ("out_" + name)
        bench.run("split", *base, "-o", out, "--prefix", "../\x1b[31m<b>", "--non-acc-prefix", "..").is_done()
        holds(not [p for p in bench.folder.parent.iterdir() if p.name.startswith("\x1b")], "a part is written outside")
        for path in sorted(out.iterdir()):
            holds(not UNSAFE.search(path.name), f"a file is called {path.name!r}")
            if path.suffix == ".json":
                is_json(path.read_bytes(), path.name)
            elif path.suffix == ".txt":
                fits_terminal(path.read_bytes(), path.name)
    json.loads(bench.run("convert", "m.onnx").is_done().out)


@case
def text_that_is_not_utf8(bench):
    """Each is refused, and shown escaped."""
    for bad in (b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"):
        text = evil_json().encode().replace(b"quo", b"quo" + bad)
        bench.preview(text).is_refused("not UTF-8")
        for made in (pb.simple([pb.node("Relu", ["x"], [b"y" + bad]), pb.node("Relu", [b"y" + bad], ["y"])]),
                     pb.simple([pb.node("Relu", ["x"], ["y"], name=b"n" + bad)]),
                     pb.simple([pb.node(b"Op" + bad, ["x"], ["y"])])):
            bench.preview(made).is_refused("not UTF-8")
            run = bench.run("split", bench.file("odd.onnx", made), "-s", "list.txt", "-o", "odd", "--force",
                            "--limit", "utf8=lenient").is_done()
            holds("not UTF-8" in run.errors, f"lenient with {bad!r} warns: {run.errors!r}")
            parts = b"".join(path.read_bytes() for path in sorted((bench.folder / "odd").glob("*.onnx")))
            holds(bad in parts, f"the parts keep {bad!r}")
        run = bench.run("preview", bench.file("ok.onnx", pb.simple([pb.node("Relu", ["x"], ["y"])])), "-s",
                        bench.file("bad.txt", b"Relu\nOp" + bad + b"\n"))
        holds(run.code == 3, f"a list of {bad!r} exits {run.code}")
        bench.run("preview", b"none" + bad + b".onnx", "-s", "list.txt").is_refused("cannot be opened")
        bench.run("explain", "ok.onnx", b"n" + bad, "-s", "list.txt").is_refused("the model has no node", code=2)
    surrogate = evil_json().replace('quo', '\\ud800quo')
    bench.preview(surrogate).is_refused("is not a valid escape")


# ---- helpers of JSON graphs ----

def graph_json(nodes, inputs=None, outputs=(), **more):
    return {"format": "cleave.graph", "version": 1, "name": "g", "inputs": inputs or [{"name": "x", "dtype": "float32"}],
            "outputs": list(outputs), "nodes": nodes, **more}


def main():
    cleave, wanted = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    failures = 0
    if subprocess.run([cleave, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      preexec_fn=Run.limit_memory).returncode != 0:
        Run.memory = resource.RLIM_INFINITY
    for each in CASES:
        if wanted and each.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="cleave-hostile-") as folder:
            try:
                each(Bench(cleave, folder))
                print(f"good  {each.__name__}")
            except Wrong as wrong:
                failures += 1
                print(f"BAD   {each.__name__}: {wrong}")
    print(f"{failures} of {len(CASES)} cases are not as stated" if failures else "all is as stated")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
