#!/usr/bin/env python3
"""The containers of other torch versions: each archive of torch up to 2.7 is packed again as torch 2.8 does it, and
must give the same graph and the same parts. Torch 2.8 keeps weights in torch.save files, as its predecessors, inside
the records of its successors.

usage: containers_test.py CLEAVE FOLDER      exit status 1 when something differs, 77 without archives
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

RECORDS = {
    "serialized_exported_program.json": "models/model.json",
    "serialized_state_dict.pt": "data/weights/model.pt",
    "serialized_constants.pt": "data/constants/model.pt",
    "serialized_example_inputs.pt": "data/sample_inputs/model.pt",
}


def finite_numbers(text):
    """As torch writes them from 2.8 on: Infinity and NaN are strings."""
    return json.dumps(json.loads(text, parse_constant=str)).encode()


def pack_as_2_8(old, new):
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w") as target:
        target.writestr("m/archive_format", "pt2")
        target.writestr("m/archive_version", "0")
        for name, renamed in RECORDS.items():
            data = source.read(name)
            target.writestr(f"m/{renamed}", finite_numbers(data) if name.endswith(".json") else data)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: exit code {done.returncode}: {done.stderr}")


def split_files(cleave, model, support, out):
    """The records of every archive that the split writes, by file and name."""
    run(cleave, "-q", "split", model, "-s", support, "-o", out)
    found = {}
    for file in sorted(out.glob("*.pt2")):
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                found[file.name, name] = archive.read(name)
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cleave, folder = sys.argv[1], Path(sys.argv[2])
    models = sorted(folder.glob("*.t26.pt2"))
    if not models:
        print(f"skipped: there are no archives of torch 2.6 in {folder}")
        sys.exit(77)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in models:
            places = [Path(scratch) / side / model.name for side in ("old", "new")]
            for place in places:
                place.parent.mkdir(exist_ok=True)
            places[0].write_bytes(model.read_bytes())
            pack_as_2_8(model, places[1])
            support = Path(scratch) / "list.txt"
            recorded = json.loads(model.with_suffix(".json").read_text(encoding="utf-8"))["splits"]
            support.write_text("\n".join(next(iter(recorded.values())).get("supported", ["aten.mul"])) + "\n")
            files = []
            for place in places:
                run(cleave, "-q", "convert", place, "-o", place.with_suffix(".graph.json"))
                files.append(split_files(cleave, place, support, place.with_suffix(".split")))
            graphs = [json.loads(place.with_suffix(".graph.json").read_text(encoding="utf-8")) for place in places]
            is_same = graphs[0] == graphs[1] and list(files[0]) == list(files[1])
            for key in files[0] if is_same else []:
                is_program = key[1].endswith("models/model.json")
                read = (lambda data: json.loads(data, parse_constant=str)) if is_program else bytes
                is_same = is_same and read(files[0][key]) == read(files[1][key])
            if not is_same:
                wrong += 1
                print(f"{model.name}: differs in torch 2.8's container")
    print(f"{len(models)} archives in torch 2.8's container, {wrong} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
