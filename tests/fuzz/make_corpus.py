#!/usr/bin/env python3
"""Makes seeds and dictionaries for the fuzzers from samples, schemas and the tests' models.

usage: make_corpus.py SOURCE CLEAVE OUT

OUT/<target>/ has seeds, OUT/<target>.dict words, in libFuzzer's form. A seed is a few KB, so that a
mutation is likely to matter. Models of tests/onnx need the Python package onnx; without it only the
samples are used.
"""

import io
import json
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

OTHER_WORDS = {
    "graph_json": ["\\u0000", "\\ud800", "1e999", "-1", "9223372036854775808", "4294967296", "\u202e", "\x1b[31m"],
    "support": ["torch.nn.*", "Conv", "ai.onnx", "com.microsoft", "*", "?", "[1, 22]", "float32", "# ", "\t", "\r\n",
                ";", "{\"inputs\": {\"0\": {\"types\": [\"float\"]}}}", "1e999"],
    "relation": ["attr.", "in[0]", "out[0]", ".dim[", ".stride[", ".rank", ".dtype", ".constant", ".elements", ".given", "len(", "min(",
                 "all(", " and ", " or ", "not ", "==", "!=", "<=", ">=", "%", "9223372036854775807", "1e308", "'"],
    "partition_map": ["conv", "relu", "size", "view", "fc", "loss", "\"\"", "\t", ",", "\r\n", "node,partition", "1e3"],
    "baseline": ["1e999", "-1", "18446744073709551616", "null", "acc", "cpu"],
    "workload": ["1e999", "-0", "4294967296", "true", "false", "null"],
    "config": ["[check]\n", "[check.", "\"\"\"", "[[", "]]", "= ", "\n", "'", "\"", "true", "false", "inf", "nan", "1e999", "%"],
    "tables": ["node,time_us", "name,memory,speed,link", "name,target", "24GiB", "gen4x16",
               "\t", "\r\n", "\"", "\"\"", "inf", "nan", "-0", "1e308"],
    "loss": ["{", "}", "[", "]", "true", "false", "null", "\"loss\"", "\"logits\"", "GiB/s", "gen4x16", "1e308", "*", "?"],
    "pt2": ['{"as_tensor": {"name": "x"}}', '"as_none"', '"as_sym_int"', '"as_expr"', "Symbol('s0', integer=True)",
            "Mul(Integer(2), ", '"user_input_mutation"', '"buffer_mutation"', "PK\x01\x02", "PK\x05\x06", "torch.ops.aten.add_.Tensor"],
    "tflite": ["TFL3", "\x00\x00\x00\x80", "\xff\xff\xff\xff", "\xff\xff\xff\x7f", "\x04\x00\x04\x00"],
    "archive": ["PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "PK\x06\x06", "PK\x06\x07", "..", "archive_format", "archive_version",
                "models/model.json", "data/weights/", "_weights_config.json", "_constants_config.json", '{"config": {}}',
                '"path_name"', '"tensor_meta"', '"use_pickle": true', "archive/data.pkl", "constants.pkl", "/code/", ".pte",
                "serialized_state_dict.pt"],
    "pickle": ["ctorch._utils\n_rebuild_tensor_v2\n", "cos\nsystem\n", "ctorch\nFloatStorage\n", "tQ", "tR", "\x85", "\x86", "u.", "}("],
    "backend": ["{model}", "{out}", "{here}", "argv", "serve", "x='a {model}'", "1e999", "-1"],
    "tensor": ["\x93NUMPY", "'descr': '<f4'", "'fortran_order': False", "'shape': (2, 3), }", "1e999"],
    "passes": [],
}


def escaped(word):
    data = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
    return "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\x{b:02x}" for b in data)


def fixture(source):
    """The model of fixture.cc, as text."""
    text = (source / "tests/fuzz/fixture.cc").read_text()
    return re.search(r'R"\((\{.*?\})\)"', text, re.S).group(1)


def first_nodes(graph, count):
    """The graph with its first nodes only; what the last of them makes is its output."""
    graph = dict(graph, nodes=graph["nodes"][:count])
    graph.pop("output_tree", None)
    named = json.dumps(graph["nodes"])
    graph["parameters"] = [p for p in graph.get("parameters", []) if json.dumps(p["name"]) in named]
    graph["outputs"] = [graph["nodes"][-1]["outputs"][0]["name"]]
    return graph


ALL_FIELDS = {
    "format": "cleave.graph", "version": 1, "name": "g\u00e4",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", None, 4], "default": {"a": [1, 2.5, True]}},
               {"name": "t", "type": "tuple", "elements": [{"dtype": "int8", "shape": []}, {"type": "none"}]}],
    "outputs": ["y", "x", "y"], "output_tree": {"list": [{"value": "y"}, None]},
    "parameters": [{"name": "w", "dtype": "bfloat16", "shape": [2, 3], "location": "w.bin", "offset": 0, "bytes": 12},
                   {"name": "w2", "alias_of": "w", "dtype": "bfloat16", "shape": [2, 3]},
                   {"name": "get", "get_attr": True, "target": "w", "dtype": "bfloat16", "shape": [2, 3]}],
    "nodes": [
        {"name": "b", "op": "add", "inputs": ["a", {"list": ["x", None, {"list": ["get"]}]}], "kind": "call_function",
         "kwargs": {"alpha": "w", "beta": {"list": ["t"]}}, "scope": "layer.0", "target": "operator.add",
         "cost": {"flops": 1e6, "time_us": 2.5, "bytes": 10},
         "outputs": [None, {"name": "y", "dtype": "float32", "shape": [1, "M"]}]},
        {"name": "a", "op": "call", "domain": "d", "inputs": [], "kind": "call_module", "module_parameters": ["w2"],
         "attributes": {"i": 1, "f": 1.5, "s": "text", "is": [1, 2], "fs": [0.5], "ss": ["\u00fc"], "d": {"device": "cuda:0"}, "n": None},
         "outputs": [{"name": "a", "type": "tuple", "elements": [{"type": "tensor", "dtype": "int64"}], "py_type": "Size"}]}]}


def graph_seeds(source):
    seeds = {"fixture": fixture(source), "all_fields": json.dumps(ALL_FIELDS)}
    for path in sorted((source / "samples").glob("*.json")):
        graph = json.loads(path.read_text())
        if graph.get("format") == "cleave.graph":
            seeds[path.stem] = json.dumps(first_nodes(graph, 8))
    return seeds


def onnx_seeds(source):
    seeds = {path.stem: path.read_bytes() for path in sorted((source / "samples").glob("*.onnx"))}
    try:
        import onnx  # noqa: F401
    except ImportError:
        return seeds
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, source / "tests/onnx/pitfall_models.py", folder], check=True,
                       stdout=subprocess.DEVNULL)
        for path in sorted(Path(folder).glob("*.onnx")):
            if path.stat().st_size < 8000:
                seeds[path.stem] = path.read_bytes()
    return seeds


def pt2_seeds(source):
    """Whole archives, and their programs, whose checksum no change breaks."""
    seeds, pickles = {}, {}
    for path in sorted((source / "tests/pt2/models").glob("*.pt2")):
        archive = zipfile.ZipFile(path)
        if path.stat().st_size < 30000:
            seeds[path.stem] = path.read_bytes()
        for name in archive.namelist():
            if name.endswith(("models/model.json", "exported_program.json")):
                program = archive.read(name)
                if len(program) < 30000:
                    seeds[path.stem + ".program"] = program
            if name.endswith(".pt") and archive.read(name)[:2] == b"PK":
                inner = zipfile.ZipFile(io.BytesIO(archive.read(name)))
                pickles[f"{path.stem}.{name}".replace("/", "_")] = inner.read(
                    next(n for n in inner.namelist() if n.endswith("data.pkl")))
    return seeds, pickles


def archive_seeds(seeds):
    """Small archives of each container: their records are short, so that most changes hit a header or a table."""
    small = {}
    for name, content in seeds["pt2"].items():
        if content[:2] != b"PK":
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as source:
            for record in source.namelist():
                if record.endswith("weights_config.json"):
                    small[name + ".table"] = source.read(record)
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
            for record in source.namelist():
                kept = source.read(record)
                is_program = record.endswith(("models/model.json", "exported_program.json"))
                target.writestr(zipfile.ZipInfo(record), b"{}" if is_program else kept)
        if len(out.getvalue()) < 16000:
            small[name] = out.getvalue()
    return small


RELATIONS = ["attr.group == in[0].dim[1] and attr.kernel_shape[0] % 2 == 1", "in[0].dim[2] * in[0].dim[3] <= 1024",
             "not in[2].given or len(attr.axes) == 1", "max(attr.strides) <= 4 and all(attr.pads == 0)",
             "in[0].dtype == \"float32\" or out[0].rank < 3"]
PATTERN_RELATIONS = ["node[0].attr.axes == node[1].attr.axes", "len(node[1].in) <= 2 and node[0].out[0].rank == 4"]

RULES = {"format": "cleave.support", "version": 1, "name": "all",
         "link": {"bandwidth": "gen4x16"},
         "allow": ["Relu", {"op": "Conv", "domain": "", "opset": [1, 22], "inputs": [["float32"], None, []],
                            "outputs": [["float32", "float16"]], "kwargs": {"other": ["float32"]}, "why": "it fits",
                            "attributes": {"group": 1, "kernel_shape": [[3, 3], [1, 1]], "alpha": {"min": 0, "max": 1.5}},
                            "shapes": {"0": {"rank": 4, "static": True, "max_dim": 4096, "multiple_of": {"1": 8, "-1": 2}}}},
                   {"op": "Clip", "inputs": {"all": ["float32"], "same": True}, "constant": {"1": True, "2?": True},
                    "values": {"1": {"all": 0}, "2?": {"each": {"max": 6, "finite": True}}}, "given": {"3": False},
                    "layout": {"0": "channels_last", "1?": ["contiguous", "sparse"]},
                    "outputs_used": [0], "input_shape": "static", "max_rank": 5, "where": RELATIONS, "unchecked": "tiles",
                    "shapes": {"0": {"rank": [3, 4], "dims": {"0": 1, "-1": {"multiple_of": 16}}}}, "name": "a*"}],
         "defaults": {"opset": [9, 20], "max_rank": 5, "input_shape": "static", "inputs": {"all": ["float32"]}},
         "patterns": [{"name": "conv relu", "ops": ["Conv", {"op": "Relu", "max_rank": 4}], "edges": [[0, 1]],
                       "where": "node[0].attr.group == 1 and len(node[1].in) == 1", "why": "fused", "unchecked": "tiles"},
                      {"name": "any", "ops": ["*", "*", "*"],
                       "edges": [[0, 1], {"from": 1, "to": 2, "output": 0, "input": 0}, [0, 2]]}],
         "deny": [{"name": "fc*", "why": "no"}, {"input_dtype": ["int64"]}, {"op": "size"}]}


def support_seeds(source):
    samples = source / "samples"
    seeds = {name: (samples / name).read_text() for name in ("npu.json", "tiny_npu.txt", "ort_ops.config")}
    seeds["rules.json"] = json.dumps(RULES)
    seeds["plain.txt"] = "# ops\nConv\nRelu  # fast\nmy.domain::MatMul\n!size\ntorch.nn.*\n"
    seeds["ort.config"] = ('ai.onnx;12,13;Conv{"inputs": {"0": ["float", "double"]}},Relu\nmy.domain;1;MatMul\n'
                           '!globally_allowed_types;float\n')
    return seeds


def map_seeds():
    nodes = ["conv", "relu", "size", "view", "fc", "loss"]
    parts = dict(zip(nodes, [0, 0, 1, 1, "head", "head"]))
    circle = dict(zip(nodes, [0, 1, 0, 1, 0, 1]))
    return {"map.json": json.dumps(parts), "circle.json": json.dumps(circle),
            "map.csv": "node,partition\n" + "".join(f"{n},{p}\n" for n, p in parts.items()),
            "quoted.csv": "".join(f'"{n}","p ""{p}"""\r\n' for n, p in parts.items()),
            "map.tsv": "".join(f"{n}\t{p}\n" for n, p in parts.items())}


def baseline_seeds(source, cleave):
    with tempfile.TemporaryDirectory() as folder:
        model, main = Path(folder, "m.json"), Path(folder, "main.json")
        model.write_text(fixture(source))
        support = Path(folder, "npu.txt")
        support.write_text("Conv\nRelu\n")
        report = subprocess.run([cleave, "preview", "m.json", "-s", "npu.txt", "--json"], cwd=folder, check=True,
                                capture_output=True, text=True).stdout
        subprocess.run([cleave, "check", "m.json", "-s", "npu.txt", "-o", main],
                       cwd=folder, check=True, capture_output=True)
        return {"report.json": report, "baseline.json": main.read_text()}


def workload_seeds(source):
    def node(i, **more):
        return {"id": i, "supportedOnFpga": 1, "fpgaLatency": 2.5, "cpuLatency": 5, "isBackwardNode": False, "size": 30, **more}
    edge = [{"sourceId": a, "destId": b, "cost": c} for a, b, c in [(0, 1, 0.5), (0, 2, 0.5), (1, 2, 1)]]
    small = {"maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 100.0, "nodes": [node(i) for i in range(3)], "edges": edge}
    training = dict(small, nodes=[node(0, colorClass=0), node(1, colorClass=1), node(2, colorClass=0, isBackwardNode=True)])
    seeds = {"small.json": json.dumps(small), "training.json": json.dumps(training)}
    for path in sorted((source / "samples/workloads").glob("*.json")):
        seeds[path.name] = path.read_text()
    return seeds


CONFIG = """# gates
[check]
min = ["coverage=95%", "coverage-flops=0.9", "coverage-params=0.99", "qps=1e3"]
max = ["acc-subgraphs=4", "cpu-nodes=7", "boundary-bytes=64MiB", "unknown-shapes=0", "latency=cpu", "regression=0.5%"]
require = ["conv*", 'Relu']
min-acc-module-size = 2
start = "fewest"
extend = "auto"
pcie-bw = "gen4x16"
keep-acc-subgraphs = "unlimited"
dim = ["N=8"]
input-shape = ["x=1,3,?,8"]
"""
CONFIGS = {"all.toml": CONFIG, "dotted.toml": 'check.min = "coverage=0.5"\ncheck.max=["cpu-nodes=3"]\n',
           "text.toml": '[check]\nmin = """coverage=9\\u0035%"""\nkeep-nodes = \'a.b\'\n',
           "lists.toml": "[check]\nrequire = [\n 'a',\n 'b'\n]\n"}
TABLES = {"times.csv": 'node,time_us\nconv,120.5\n"relu",3\nnone,1\n', "times.tsv": "conv\t1e3\nfc\t0\n",
          "devices.csv": "name,memory,speed,link\nbig,24GiB,1,gen4x16\nsmall,8GiB,0.5,\n",
          "more.csv": "speed,name\n2,\"a, b\"\n1,c\n"}
LOSSES = {"name": "loss", "tree": '{"logits": false, "loss": [true]}', "link": "gen4x16", "bytes": "24.5 GiB",
          "rate": "800Gbit/s", "glob": "conv*.we?ght\nconv1.weight", "deep": "[[[[true]]]]"}


def tensor_seeds():
    """A TensorProto of two floats by hand, and two .npy files."""
    def npy(kind, shape, data):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
        head += b" " * (-(len(head) + 11) % 64) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data
    proto = b"\x08\x02" + b"\x10\x01" + b"\x42\x01y" + b"\x4a\x08" + bytes(8)
    return {"proto": proto, "floats.npy": npy("<f4", "(2, 3)", bytes(24)), "int.npy": npy("<i8", "()", bytes(8))}


def backend_seeds(source):
    seeds = {path.name: path.read_text() for path in sorted((source / "samples/backends").glob("*.json"))}
    return dict(seeds, short="x='compiler --fast {model} -o {out}'")


def pass_seeds():
    rng = random.Random(6)
    return {f"{i:02}": bytes(rng.randrange(256) for _ in range(rng.choice([40, 120, 400]))) for i in range(24)}


def schema_words(source, *names):
    """Names of fields, and words that a field may hold."""
    words = set()

    def walk(schema):
        if isinstance(schema, dict):
            words.update(schema.get("properties", {}))
            words.update(v for v in schema.get("enum", []) if isinstance(v, str))
            words.update([schema["const"]] if isinstance(schema.get("const"), str) else [])
            for inner in schema.values():
                walk(inner)
        elif isinstance(schema, list):
            for inner in schema:
                walk(inner)
    for name in names:
        walk(json.loads((source / "formats/report/schema" / f"{name}.schema.json").read_text()))
    return [json.dumps(word) for word in sorted(words)]


def onnx_words(seeds):
    """Keys of fields, numbers at their limits, and the words of the models."""
    words = {bytes([number << 3 | wire]) for number in range(1, 16) for wire in (0, 1, 2, 5)}
    words |= {bytes([(number << 3 & 0x7F) | wire | 0x80, number >> 4]) for number in (16, 20, 21, 22, 23, 25, 26) for wire in (0, 2)}
    words |= {b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x08", b"\x80" * 9 + b"\x01"}
    for seed in seeds.values():
        words.update(word for word in re.findall(rb"[A-Z][A-Za-z]{2,20}", seed) if len(word) < 20)
    return sorted(words)[:400] + [b"..", b"/etc/passwd", b"location", b"offset", b"length", b"ai.onnx", b"com.microsoft"]


def main():
    source, cleave, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    seeds = {"graph_json": graph_seeds(source), "onnx": onnx_seeds(source), "support": support_seeds(source),
             "partition_map": map_seeds(), "baseline": baseline_seeds(source, cleave),
             "relation": {f"{i}.txt": text for i, text in enumerate(RELATIONS + PATTERN_RELATIONS)},
             "workload": workload_seeds(source), "config": CONFIGS, "tables": TABLES, "loss": LOSSES,
             "backend": backend_seeds(source), "tensor": tensor_seeds(), "passes": pass_seeds()}
    seeds["pt2"], seeds["pickle"] = pt2_seeds(source)
    seeds["tflite"] = {path.name: path.read_bytes() for path in sorted((source / "samples").glob("*.tflite"))}
    seeds["archive"] = archive_seeds(seeds)
    words = {name: list(of) for name, of in OTHER_WORDS.items()}
    words["graph_json"] += schema_words(source, "graph")
    words["support"] += schema_words(source, "support")
    words["baseline"] += schema_words(source, "baseline", "report")
    words["workload"] += sorted(set(re.findall(r'"[A-Za-z]+"', json.dumps(seeds["workload"]).replace("\\", ""))))
    words["config"] += sorted(set(re.findall(r"[a-z-]{5,}", CONFIG)))
    words["onnx"] = onnx_words(seeds["onnx"])
    for target, files in seeds.items():
        folder = out / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (out / f"{target}.dict").write_text("".join(f'"{escaped(word)}"\n' for word in words[target]))


if __name__ == "__main__":
    main()
