#!/usr/bin/env python3
"""Makes the folder that `docker build` (or podman, buildah) makes an image of: a release archive, with the C and C++
libraries of this machine, which the archive leaves to the machine that it runs on.

usage: image.py ARCHIVE FOLDER      ARCHIVE is of scripts/package/portable.py; FOLDER must not exist

  FOLDER/Dockerfile
  FOLDER/root      bin/cleave, lib, lib64 with the loader, share, tmp, work
"""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    archive, folder = Path(sys.argv[1]), Path(sys.argv[2])
    root = folder / "root"
    folder.mkdir(parents=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (folder / archive.name.removesuffix(".tar.gz")).rename(root)
    listed = subprocess.run(["ldd", root / "bin/cleave"], check=True, capture_output=True, text=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M):
        if not (root / "lib" / name).exists():
            shutil.copy(path, root / "lib" / name)
    # The program names its loader by this path.
    [loader] = re.findall(r"^\s*(/\S+) \(", listed, re.M)
    (root / loader[1:]).parent.mkdir()
    shutil.copy(loader, root / loader[1:])
    for name in ("tmp", "work"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    shutil.copy(HERE / "Dockerfile", folder / "Dockerfile")
    print(f"docker build -t cleave {folder}")


if __name__ == "__main__":
    main()
