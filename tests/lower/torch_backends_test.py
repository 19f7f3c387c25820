#!/usr/bin/env python3
"""`cleave lower`, `probe` and `split --capture` on torch.export programs, with ExecuTorch's XNNPACK, OpenVINO and torch.

usage: torch_backends_test.py CLEAVE [NAME...]      runs the tests, or those whose names hold one of the words

The Python that runs this needs torch and onnx; tests of a compiler that it lacks are skipped, and named. Models are those
of $CLEAVE_PT2, else of tests/pt2/models. Exit status 1 when a test fails.
"""
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

from place import PROJECT, Skip, equal, run_tests, tests_in

MODELS = Path(os.environ.get("CLEAVE_PT2", PROJECT / "tests" / "pt2" / "models"))
BACKENDS = PROJECT / "samples" / "backends"
os.environ |= {"CLEAVE_BACKENDS": str(BACKENDS), "CLEAVE_SCRIPTS": str(PROJECT / "scripts")}


def model(name):
    path = MODELS / f"{name}.train.t215.pt2"
    if not path.exists():
        raise Skip(f"there is no {path}: set CLEAVE_PT2")
    return path


def need(module):
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None or importlib.util.find_spec(module) is None:
        raise Skip(f"this Python has no {module}")


def lower(place, name, backend, *more, support="all.json"):
    # Not Place.lower(): compilers take longer than its limit.
    done = subprocess.run(
        place.command("lower", model(name), "-s", support, "--backend", BACKENDS / f"{backend}.json", "--json", "-q", *more),
        cwd=place.folder, env=dict(os.environ, XDG_CACHE_HOME=str(place.folder / "cache")), capture_output=True, text=True,
        timeout=1800, check=False,
    )
    try:
        return done, json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}") from None


def clean_on_xnnpack(place, name, least, rounds, runs):
    need("executorch")
    done, result = lower(place, name, "xnnpack", "--until-clean", "--deny-out", place.folder / "learned.json")
    equal((done.returncode, result["clean"]), (0, True))
    assert result["nodes_lowered"] >= least, result["nodes_lowered"]
    assert result["rounds"] <= rounds and result["compiler_runs"] <= runs, (result["rounds"], result["compiler_runs"])
    for rule in json.loads((place.folder / "learned.json").read_text())["deny"]:
        assert "xnnpack" in rule["why"] and "aten." in rule["why"], rule
    return f"{result['nodes_lowered']} of {result['nodes']} nodes, {result['rounds']} rounds, {result['compiler_runs']} runs"


def test_a_transformer_is_clean_on_xnnpack_without_a_search(place):
    return clean_on_xnnpack(place, "tiny_transformer", 52, 3, 13)


def test_a_vision_transformer_is_clean_on_xnnpack_without_a_search(place):
    return clean_on_xnnpack(place, "hf_vit", 61, 3, 13)


def test_an_open_batch_is_pinned_before_a_node_is_blamed(place):
    need("executorch")
    done, result = lower(place, "tiny_resnet", "xnnpack", "--compare")
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 30))
    equal(result["findings"][0]["kind"], "remedy")


PARTS = {"format": "cleave.support", "version": 1, "name": "parts",
         "allow": ["aten.conv2d", "aten.batch_norm", "aten.relu_", "aten.max_pool2d"]}  # fmt: skip


def parts_are_right(place, backend):
    (place.folder / "parts.json").write_text(json.dumps(PARTS))
    done, result = lower(place, "tiny_resnet", backend, "--compare", support="parts.json")
    equal((done.returncode, {part["verdict"] for part in result["parts"]}), (0, {"lowered"}))
    equal((len(result["parts"]), result["rules"]), (4, 0))


def test_parts_of_torch_itself_are_right(place):
    parts_are_right(place, "torch")


def test_parts_of_xnnpack_are_right(place):
    need("executorch")
    parts_are_right(place, "xnnpack")


def test_parts_of_openvino_are_right(place):
    need("openvino")
    parts_are_right(place, "openvino_f32")


def test_parts_of_aotinductor_are_right(place):
    parts_are_right(place, "aoti")


def test_parts_of_tvm_are_right(place):
    need("tvm")
    parts_are_right(place, "tvm")


def test_parts_of_iree_are_right(place):
    need("iree.turbine")
    parts_are_right(place, "iree")


def test_a_probe_is_one_compile_and_parts_of_its_list_are_whole(place):
    need("executorch")
    done = place.run("probe", model("tiny_resnet"), "--dim", "s77=2", "--backend", BACKENDS / "xnnpack.json", "-o", "probed.json")
    equal(done.returncode, 0)
    equal(place.run("lists", "lint", "probed.json", model("tiny_resnet")).returncode, 0)
    _, result = lower(place, "tiny_resnet", "xnnpack", support="probed.json")
    assert result["clean"], result


def test_captured_parts_have_their_inputs_and_make_the_same_bits(place):
    (place.folder / "parts.json").write_text(json.dumps(PARTS))
    done = place.run("split", model("tiny_resnet"), "-s", "parts.json", "-o", "parts", "--capture", "-q")
    assert done.returncode == 0, done.stderr
    archives = sorted(place.folder.glob("parts/captured/*/model.pt2"))
    equal(len(archives), len(list(place.folder.glob("parts/_run_on_*.pt2"))))
    with zipfile.ZipFile(archives[0]) as archive:
        [samples] = [one for one in archive.infolist() if "sample_inputs" in one.filename]
    assert samples.file_size > 0, samples


if __name__ == "__main__":
    sys.exit(run_tests(tests_in(globals()), sys.argv[1], sys.argv[2:]))
