#!/usr/bin/env python3
"""Measures how the work of each command grows with its input: worst cases at sizes n, 2n and 4n.

Each case makes an input that is hard for one pass, at three sizes. The work of a run is its number of
instructions (valgrind's cachegrind) minus those for the smallest input, so that neither the machine
nor the start of the program counts. The exponent of the growth from n to 4n is 1 for linear, 2 for
quadratic. It is printed for each case, and may be at most 1.2.

With --megabyte each case is run once, at the largest size whose files hold at most 1 MB each. It must end
within so many seconds of processor time and 500 MB: done, or refused with the limit that it met. That needs
no valgrind.

usage: growth_test.py CLEAVE [--only TEXT] [--most 1.2] [--list] [--megabyte SECONDS]
Exit status 1 if a case grows faster or takes longer, 77 without valgrind.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hostile"))
import protobuf as pb

SKIPPED = 77
CASES = []


def case(name, command, size):
    """Registers a generator: (folder, n) writes the files that the command reads. \\0 in the command is a blank
    inside a word."""
    def register(make):
        CASES.append((name, [word.replace("\0", " ") for word in command.split()], size, make))
        return make
    return register


# ---- native graphs ----


def graph(nodes, outputs=None):
    last = nodes[-1]["outputs"][0]["name"]
    return json.dumps({"format": "cleave.graph", "version": 1, "name": "g", "inputs": [{"name": "x"}],
                       "outputs": outputs or [last], "nodes": nodes})


def node(name, op, inputs, **more):
    return {"name": name, "op": op, "inputs": inputs, "outputs": [{"name": name}], **more}


def tensors(one):
    one["outputs"] = [{**value, "type": "tensor", "shape": [4], "dtype": "float32"} for value in one["outputs"]]
    return one


def chain(n, op=lambda i: "f", attributes=lambda i: None):
    nodes = []
    for i in range(n):
        nodes.append(node(f"n{i}", op(i), [f"n{i - 1}" if i else "x"]))
        if attributes(i):
            nodes[-1]["attributes"] = attributes(i)
    return nodes


def support(allow, deny=()):
    return json.dumps({"format": "cleave.support", "version": 1, "name": "l", "allow": list(allow),
                       "deny": list(deny)})


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def alternating(i):
    return "fg"[i % 2]


@case("near misses of long names", "preview m.json -s l.txt --show ops", 1000)
def long_names(folder, n):
    base = "A" * n
    write(folder, m_json=graph([node(f"n{i}", base + c * 30, ["x"]) for i, c in enumerate("bcdefgh")]),
          l_txt="\n".join(base + c * 30 for c in "pqrstuv") + "\n")


@case("many ops, many names near them", "preview m.json -s l.txt --show ops", 200)
def plain_rules(folder, n):
    write(folder, m_json=graph(chain(n, lambda i: f"op{i}")),
          l_txt="\n".join(f"Op{i}x" for i in range(5 * n)) + "\n")


@case("many ops, many globs", "preview m.json -s l.txt --show ops", 50)
def globs(folder, n):
    write(folder, m_json=graph(chain(n, lambda i: f"op{i}")),
          l_txt="\n".join(f"*q{i}*" for i in range(5 * n)) + "\n")


# Beyond a thousand rules of an op, the nearest one is searched among the first thousand.
@case("many rules of one op, many nodes", "preview m.json -s l.json --show ops", 500)
def rules_of_one_op(folder, n):
    write(folder, m_json=graph(chain(n)), l_json=support([{"op": "f", "attributes": {"a": i}} for i in range(2 * n)]))


@case("many deny globs of names, many nodes", "preview m.json -s l.json --show ops", 50)
def deny_names(folder, n):
    write(folder, m_json=graph(chain(n)), l_json=support(["f"], [{"name": f"*q{i}"} for i in range(2 * n)]))


@case("lint of many rules of one op", "lists lint l.json", 100)
def lint_rules(folder, n):
    write(folder, l_json=support([{"op": "f", "attributes": {"a": i}} for i in range(n)]))


@case("lint of many globs", "lists lint l.txt", 100)
def lint_globs(folder, n):
    write(folder, l_txt="\n".join(f"*q{i}*" for i in range(n)) + "\n")


@case("advice on many gaps", "advise m.json -s l.txt --limit steps=1", 100)
def gaps(folder, n):
    write(folder, m_json=graph(chain(n, lambda i: f"op{i}")), l_txt="f\n")


@case("advice on many values of an attribute", "advise m.json -s l.json --limit steps=1", 100)
def attribute_gaps(folder, n):
    write(folder, m_json=graph(chain(n, attributes=lambda i: {"a": i})),
          l_json=support([{"op": "f", "attributes": {"a": -1}}]))


@case("drawing many edges", "draw m.json -s l.txt", 1000)
def edges(folder, n):
    random.seed(1)
    nodes = chain(n // 10 + 1, alternating)
    for i, one in enumerate(nodes[1:], 1):
        one["inputs"] += [f"n{j}" for j in random.sample(range(i), min(i, 10))]
    write(folder, m_json=graph(nodes), l_txt="f\n")


@case("print of constants copied into each part", "preview m.onnx -s l.txt --show nodes", 20)
def constants(folder, n):
    nodes = [pb.node("Identity", ["w" if i == 0 else f"c{i - 1}"], [f"c{i}"]) for i in range(2 * n)]
    last = "x"
    for i in range(2 * n):
        out = "y" if i == 2 * n - 1 else f"t{i}"
        nodes.append(pb.node(["Add", "Neg"][i % 2], [last] + [f"c{2 * n - 1}"] * (i % 2 == 0), [out]))
        last = out
    (folder / "m.onnx").write_bytes(pb.simple(nodes, [pb.tensor("w", [2, 3], bytes(24))]))
    write(folder, l_txt="Neg\n")


@case("preview of many parts", "preview m.json -s l.txt", 125)
def many_parts(folder, n):
    write(folder, m_json=graph(chain(n, alternating)), l_txt="f\n")


@case("preview of a value that all parts read", "preview m.json -s l.txt", 125)
def skips(folder, n):
    nodes = chain(n, alternating)
    for one in nodes[1:]:
        one["inputs"] += ["x", "n0"]
    write(folder, m_json=graph(nodes), l_txt="f\n")


@case("split into many parts", "split m.json -s l.txt -o out --force", 25)
def split_parts(folder, n):
    many_parts(folder, n)


@case("explain of all CPU nodes", "explain m.json -s l.txt", 125)
def explain(folder, n):
    many_parts(folder, n)


@case("explain of many names, half of them of no node", "explain m.json -s l.txt NAMES", 100)
def explain_names(folder, n):
    many_parts(folder, n)
    (folder / "names").write_text(" ".join([f"n{i}" for i in range(n)] + [f"m{i}" for i in range(n)]))


@case("diff of two lists", "diff m.json -s l.txt to -s l2.txt", 125)
def diff(folder, n):
    write(folder, m_json=graph(chain(n, alternating)), l_txt="f\n")
    (folder / "l2.txt").write_text("g\n")


@case("check against a list", "check m.json -s l.txt --min coverage=1%", 125)
def check(folder, n):
    many_parts(folder, n)


@case("check of many models", "check MODELS -s l.txt --min coverage=1%", 10)
def matrix(folder, n):
    for i in range(n):
        (folder / f"m{i}.json").write_text(graph(chain(20, alternating)))
    write(folder, l_txt="f\n")


@case("partition by a map", "preview m.json --map map.csv", 125)
def partition(folder, n):
    write(folder, m_json=graph(chain(n)), map_csv="".join(f"n{i},{i}\n" for i in range(n)))


@case("map of nodes that there are not", "preview m.json --map map.csv", 250)
def unknown_nodes(folder, n):
    write(folder, m_json=graph(chain(10)), map_csv="".join(f"m{i}zz,0\n" for i in range(n)))


@case("convert a model of deep functions", "convert m.onnx", 50)
def functions(folder, n):
    made = [pb.function(f"f{i}", "d", ["x"], ["y"], [pb.node(f"f{i + 1}", ["x"], ["y"], domain="d")])
            for i in range(n)]
    made.append(pb.function(f"f{n}", "d", ["x"], ["y"], [pb.node("Relu", ["x"], ["y"])]))
    nodes, last = [], "x"
    for i in range(n):
        out = "y" if i == n - 1 else f"t{i}"
        nodes.append(pb.node(["f0", "Neg"][i % 2], [last], [out], domain=["d", ""][i % 2]))
        last = out
    (folder / "m.onnx").write_bytes(pb.simple(nodes, functions=made, versions={"": 17, "d": 1}))


@case("convert nodes of one name", "convert m.onnx", 200)
def same_names(folder, n):
    nodes = [pb.node("Relu", [f"t{i - 1}" if i else "x"], ["y" if i == n - 1 else f"t{i}"], name="a")
             for i in range(n)]
    (folder / "m.onnx").write_bytes(pb.simple(nodes))


@case("stages of a chain", "stage m.json --stages 4", 400)
def stages(folder, n):
    nodes = chain(n)
    for i, one in enumerate(nodes):
        one["cost"] = {"time_us": 1 + i * 7919 % 101}
    write(folder, m_json=graph(nodes))


@case("64 stages of a wide graph", "stage m.json --stages 64", 400)
def wide_stages(folder, n):
    nodes = [node(f"n{i}", "f", ["x"]) for i in range(n)]
    nodes.append(node("all", "g", [f"n{i}" for i in range(n)]))
    for i, one in enumerate(nodes):
        one["cost"] = {"time_us": 1 + i * 7919 % 101}
    write(folder, m_json=graph(nodes))


@case("many rules of one op that ask for shapes", "preview m.json -s l.json", 50)
def shape_rules(folder, n):
    rules = [{"op": "f", "shapes": {"0": {"rank": i % 7 + 1, "max_dim": i + 1}}} for i in range(n)]
    write(folder, m_json=graph(chain(n)), l_json=support(rules))


# Beyond a thousand rules of an op, a rule is compared with the first thousand.
@case("lint of many rules that ask for shapes", "lists lint l.json", 1000)
def lint_shapes(folder, n):
    rules = [{"op": "f", "shapes": {"0": {"rank": i % 7 + 1, "max_dim": i + 1}}} for i in range(n)]
    write(folder, l_json=support(rules))


@case("lint of many rules against a model", "lists lint l.txt m.json", 50)
def lint_model(folder, n):
    plain_rules(folder, n)


@case("a page of nodes with many edges", "preview m.json -s l.txt --html page.html", 200)
def page(folder, n):
    edges(folder, n)


@case("split of constants copied into each part", "split m.onnx -s l.txt -o out --force", 20)
def split_constants(folder, n):
    constants(folder, n)


@case("a workload", "stage work.json", 1000)
def workload(folder, n):
    nodes = [{"id": i, "supportedOnFpga": 1, "fpgaLatency": 1 + i * 7919 % 101, "cpuLatency": 5, "isBackwardNode": False,
              "size": 1} for i in range(n)]
    flow = [{"sourceId": i, "destId": i + 1, "cost": 0.5} for i in range(n - 1)]
    write(folder, work_json=json.dumps({"maxFPGAs": 4, "maxCPUs": 1, "maxSizePerFPGA": 1e9, "nodes": nodes, "edges": flow}))


@case("inspect many ops", "inspect m.json", 200)
def inspect_ops(folder, n):
    write(folder, m_json=graph(chain(n, lambda i: f"op{i}")))


def onnx_chain(folder, n):
    nodes = [pb.node(["Relu", "Neg"][i % 2], [f"t{i - 1}" if i else "x"], ["y" if i == n - 1 else f"t{i}"],
                     name=f"n{i}") for i in range(n)]
    (folder / "m.onnx").write_bytes(pb.simple(nodes))


def onnx_parts(folder, n):
    onnx_chain(folder, n)
    write(folder, l_txt="Relu\n")


@case("preview of an ONNX model in many parts", "preview m.onnx -s l.txt", 500)
def onnx_preview(folder, n):
    onnx_parts(folder, n)


@case("split of an ONNX model into many parts", "split m.onnx -s l.txt -o out --force", 25)
def onnx_split(folder, n):
    onnx_parts(folder, n)


@case("a page of an ONNX model in many parts", "preview m.onnx -s l.txt --html page.html", 500)
def onnx_page(folder, n):
    onnx_parts(folder, n)


# Layers of a few kinds, each with a scope and a weight of its own.
@case("preview of an ONNX model", "preview m.onnx -s l.txt", 500)
def preview_onnx(folder, n):
    ops = ["Conv", "Relu", "Sigmoid", "Add"]
    attributes = pb.ints_attribute("kernel_shape", [1, 1])
    nodes = []
    for i in range(n):
        inputs = [f"t{i - 1}" if i else "x", f"w{i}"] if i % 4 == 0 else [f"t{i - 1}"]
        inputs += [f"t{i - 4}" if i > 4 else "x"] if i % 4 == 3 else []
        nodes.append(pb.node(ops[i % 4], inputs, [f"t{i}" if i < n - 1 else "y"], name=f"/layers.{i // 4}/{ops[i % 4]}",
                             attributes=attributes if i % 4 == 0 else b""))
    weights = [pb.tensor(f"w{i}", [4, 4, 1, 1], bytes(64)) for i in range(0, n, 4)]
    images = [[pb.value(name, [1, 4, 8, 8])] for name in "xy"]
    (folder / "m.onnx").write_bytes(pb.model(pb.graph(nodes, *images, weights)))
    (folder / "l.txt").write_text("Conv\nRelu\nAdd\n")


@case("cut half of a model", "cut m.onnx --nodes nodes.txt -o cut.onnx --force", 200)
def cut_nodes(folder, n):
    onnx_chain(folder, n)
    (folder / "nodes.txt").write_text("\n".join(f"n{i}" for i in range(n // 4, 3 * n // 4)) + "\n")


@case("a new list from a model", "lists new m.json -o l.json", 200)
def new_list(folder, n):
    inspect_ops(folder, n)


@case("devices of many nodes", "preview m.json -s l.txt --verdicts devices.csv --show ops", 200)
def devices(folder, n):
    write(folder, m_json=graph(chain(n, alternating)), l_txt="g\n")
    (folder / "devices.csv").write_text("".join(f"n{i},true\n" for i in range(0, n, 2)))


@case("measured times of many nodes", "preview m.json -s l.txt --costs times.csv", 200)
def times(folder, n):
    many_parts(folder, n)
    (folder / "times.csv").write_text("node,time_us\n" + "".join(f"n{i},{i % 7 + 1}\n" for i in range(n)))


@case("placement of many parts by cost",
      "preview m.json -s l.txt --place cost --costs times.csv --costs acc=times.csv --target acc:launch=3us", 200)
def placement(folder, n):
    times(folder, n)


@case("a configuration of nested tables", "--config c.toml preview m.json -s l.txt", 100)
def nested_tables(folder, n):
    many_parts(folder, 4)
    (folder / "c.toml").write_text("".join(f"[preview{'.a' * (i % 60 + 1)}{i}]\n" for i in range(n)))


@case("a configuration of deep tables", "--config c.toml preview m.json -s l.txt", 100)
def deep_tables(folder, n):
    many_parts(folder, 4)
    (folder / "c.toml").write_text("[" + ".".join(["a"] * n) + "]\n" + "b = " + "[" * n + "]" * n + "\n")


@case("many patterns", "preview m.json -s l.json --show ops", 50)
def many_patterns(folder, n):
    chains = [{"name": f"p{i}", "ops": ["f"] * 3 + [f"g{i}"], "edges": [[0, 1], [1, 2], [2, 3]]} for i in range(n)]
    write(folder, m_json=graph(chain(n)), l_json=json.dumps(
        {"format": "cleave.support", "version": 1, "name": "l", "allow": [], "patterns": chains}))


@case("a pattern that fails late, everywhere", "preview m.json -s l.json --show ops", 50)
def patterns(folder, n):
    chains = {"format": "cleave.support", "version": 1, "name": "l", "allow": [],
              "patterns": [{"name": "p", "ops": ["f"] * 8 + ["g"], "edges": [[i, i + 1] for i in range(8)]}]}
    write(folder, m_json=graph(chain(n)), l_json=json.dumps(chains))


@case("lower many parts", "lower m.onnx -s l.txt --backend copy=cp\0{model}\0{out} -o out --force --cache off", 10)
def lower(folder, n):
    onnx_parts(folder, n)


@case("reduce to the last node", "reduce m.onnx --backend none=false\0{model}\0{out} -o out --force", 50)
def reduce(folder, n):
    onnx_chain(folder, n)


@case("at a hub: packing for fewest bytes", "preview m.json -s l.txt --pack bytes", 3000)
def comb(folder, n):
    nodes, last = [], "x"
    for i in range(n):
        nodes += [tensors(node(f"a{i}", "f", [last])), tensors(node(f"c{i}", "g", [f"a{i}"]))]
        last = f"a{i}"
    nodes.append(tensors(node("end", "f", [last, *(f"c{i}" for i in range(n))])))
    write(folder, m_json=graph(nodes), l_txt="f\n")


@case("stages of a comb", "stage m.json --stages 8", 100)
def comb_stages(folder, n):
    comb(folder, n)


@case("at a hub: advice", "advise m.json -s l.txt --limit steps=3", 500)
def many_outputs(folder, n):
    first = tensors(node("s", "f", ["x"], outputs=[{"name": f"s{i}"} for i in range(n)]))
    nodes = [tensors(node(f"n{i}", alternating(i), [f"s{i}"])) for i in range(n)]
    last = tensors(node("end", "f", [f"n{i}" for i in range(n)]))
    write(folder, m_json=graph([first, *nodes, last]), l_txt="f\n")


@case("at a hub: limits of a part", "preview m.json -s l.json", 800)
def hub(folder, n):
    nodes = [tensors(node("s", "f", ["x"])), *(tensors(node(f"n{i}", "f", ["s"])) for i in range(n))]
    nodes.append(tensors(node("end", "f", [f"n{i}" for i in range(n)])))
    limits = {"max_nodes": 100}
    write(folder, m_json=graph(nodes), l_json=json.dumps({**json.loads(support(["f"])), **limits}))


@case("many globs of a map", "preview m.json --map map.json", 200)
def map_of_globs(folder, n):
    write(folder, m_json=graph(chain(n)), map_json=json.dumps({f"*n{i}": f"p{i // 10}" for i in range(n)}))


# ---- counting ----


def words_of(folder, command):
    words = []
    for word in command:
        if word == "MODELS":
            words += sorted(path.name for path in folder.glob("m*.json"))
        elif word == "NAMES":
            words += (folder / "names").read_text().split()
        else:
            words.append(word)
    return words


def instructions(cleave, folder, command):
    words = words_of(folder, command)
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", cleave]
    done = subprocess.run([*tool, *words], cwd=folder, capture_output=True, check=False)
    if done.returncode not in (0, 1, 2, 3):
        sys.exit(f"cleave {' '.join(words)} exits {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    found = re.search(rb"I +refs: +([\d,]+)", done.stderr)
    if not found:
        sys.exit(f"valgrind says no number:\n{done.stderr.decode()[-2000:]}")
    return int(found[1].replace(b",", b""))


def measured(cleave, command, make, size):
    with tempfile.TemporaryDirectory(prefix="cleave-growth-") as name:
        make(Path(name), size)
        return instructions(cleave, Path(name), command)


# ---- a megabyte ----


def fill(folder, make):
    """Writes the largest input, by doubling, whose files hold no more than 1 MB; returns its size."""
    size, low, high = 1, 1, None
    while high is None or high - low > low // 8:
        size = 2 * low if high is None else (low + high) // 2
        with tempfile.TemporaryDirectory(prefix="cleave-growth-") as name:
            make(Path(name), size)
            files = [path.stat().st_size for path in Path(name).iterdir()]
        if max(files) > 1_000_000 or len(files) > 400:
            high = size
        else:
            low = size
    make(folder, low)
    return low


def megabyte(cleave, command, make):
    """(size, seconds of processor time, bytes at most, exit code)"""
    with tempfile.TemporaryDirectory(prefix="cleave-growth-") as name:
        size = fill(Path(name), make)
        with open(os.devnull, "wb") as none:
            run = subprocess.Popen([cleave, *words_of(Path(name), command)], cwd=name, stdout=none, stderr=none)
            timer = threading.Timer(150, run.kill)
            timer.start()
            _, status, used = os.wait4(run.pid, 0)
            timer.cancel()
        return size, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def check_megabytes(cleave, chosen, most_seconds):
    bad = 0
    for name, command, _, make in chosen:
        size, seconds, most, code = megabyte(cleave, command, make)
        is_bad = seconds > most_seconds or most > 500e6 or code not in (0, 1, 2, 3)
        bad += is_bad
        print(f"{seconds:6.2f} s {most / 1e6:5.0f} MB  exit {code:3}  n = {size:6}  {name}" +
              ("  TOO MUCH" if is_bad else ""), flush=True)
    print(f"{len(chosen)} cases, {bad} take more than {most_seconds} s or 500 MB")
    sys.exit(1 if bad or not chosen else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave", type=os.path.abspath)
    parser.add_argument("--only", action="append", help="cases whose names have the text; repeatable")
    parser.add_argument("--most", type=float, default=1.2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--megabyte", type=float, metavar="SECONDS")
    options = parser.parse_args()
    chosen = [one for one in CASES if not options.only or any(text in one[0] for text in options.only)]
    if options.megabyte:
        check_megabytes(options.cleave, chosen, options.megabyte)
    if shutil.which("valgrind") is None:
        print("skipped: there is no valgrind")
        sys.exit(SKIPPED)
    if options.list:
        print(*(f"{name}: cleave {' '.join(command)}" for name, command, *_ in chosen), sep="\n")
        return
    bad = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [[pool.submit(measured, options.cleave, command, make, n) for n in (2, size, 2 * size, 4 * size)]
                for _, command, size, make in chosen]
        for (name, *_), of_case in zip(chosen, runs):
            start, *taken = (run.result() for run in of_case)
            more = [max(one - start, 1) for one in taken]
            exponent = math.log2(more[2] / more[0]) / 2
            is_bad = exponent > options.most
            bad += is_bad
            print(f"{exponent:5.2f}  {name:45} " + "  ".join(f"{one / 1e6:9.1f} M" for one in more) +
                  ("  TOO FAST" if is_bad else ""), flush=True)
    print(f"{len(chosen)} cases, {bad} grow faster than n^{options.most}")
    sys.exit(1 if bad or not chosen else 0)


if __name__ == "__main__":
    main()
