#!/usr/bin/env python3
"""Gives cleave damaged and malicious torch.export archives: each must be refused with exit code 3 and a
reason, or read if the damage is in bytes that are not used.

usage: damaged_test.py CLEAVE FOLDER COUNT      exit status 1 when one is not
"""
import io
import random
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path


def cut_off(data, rnd):
    return data[:rnd.randrange(len(data))], True


def flip_bits(data, rnd):
    changed = bytearray(data)
    for _ in range(rnd.choice([1, 1, 2, 8, 64])):
        changed[rnd.randrange(len(changed))] ^= 1 << rnd.randrange(8)
    return bytes(changed), False


def lying_directory(data, rnd):
    """A field of an entry of the directory, or of the end records, gets another number."""
    changed = bytearray(data)
    at = data.rfind(rnd.choice([b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"]))
    if at < 0:
        at = data.rfind(b"PK\x05\x06")
    size = rnd.choice([2, 4, 8])
    number = rnd.choice([0, 1, 0xFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1, rnd.randrange(2**64)])
    at += 4 + rnd.randrange(40)
    changed[at:at + size] = (number % 2**(8 * size)).to_bytes(size, "little")
    return bytes(changed[:len(data)]), False


def repacked(data, change, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", method) as target:
        for info in source.infolist():
            for name, content in change(info.filename, source.read(info.filename)):
                target.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return out.getvalue()


def deflated(data, rnd):
    return repacked(data, lambda name, content: [(name, content)], zipfile.ZIP_DEFLATED), True


def encrypted(data, rnd):
    changed = bytearray(data)
    end = data.rfind(b"PK\x05\x06")  # records hold archives, whose directories are no concern here
    directory = int.from_bytes(data[end + 16:end + 20], "little")
    changed[directory + 8] |= 1
    return bytes(changed), True


def escaping_name(data, rnd):
    bad = rnd.choice(["../x", "a/../../x", "/etc/x", "a\\..\\x"])
    return repacked(data, lambda name, content: [(name, content), (bad, b"x")]
                    if "version" in name else [(name, content)]), True


def cut_records(data, rnd):
    """Records that are cut off, empty or left out; their checksums are right."""
    kind = rnd.randrange(3)

    def change(name, content):
        if not name.endswith((".json", ".pt", "archive_format", "archive_version")):
            return [(name, content)]
        if rnd.random() < 0.7:
            return [(name, content)]
        if kind == 0:
            return []
        return [(name, content[:rnd.randrange(len(content) + 1)] if kind == 1 else b"")]
    return repacked(data, change), False


def other_json(data, rnd):
    """The program with other names, numbers and kinds; its checksum is right."""
    swaps = [(b"as_tensor", b"as_tonsor"), (b'"major": 8', b'"major": 9'), (b"[", b"{"),
             (b"as_int", b"as_ints"), (b'"name"', b'"nome"'), (b": 1", b": -1"), (b"}", b"]"),
             (b"1", b"99999999999999999999"), (b"as_expr", b"as_int"), (b"}, {", b"}, [[[[{"),
             (b'"target": "', b'"target": "\\ud800'), (b"as_none", b"as_graph")]
    old, new = rnd.choice(swaps)

    def change(name, content):
        if name.endswith(".json"):
            places = content.count(old)
            if places:
                at = -1
                for _ in range(rnd.randrange(places) + 1):
                    at = content.find(old, at + 1)
                content = content[:at] + new + content[at + len(old):]
        return [(name, content)]
    return repacked(data, change), False


EVIL = [b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00exittR.", b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.",
        b"\x80\x02}q\x00(X\x01\x00\x00\x00acposix\nsystem\nu.", b"\x80\x02h\x05.", b"\x80\x02(((((.",
        b"\x80\x02}X\x01\x00\x00\x00aK\x01s.", b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x02X\xff\xff\xff\xff", b"\x80\x02\x8a\xff", b"", b"\x80\x02" + b"}" * 1000 + b"R" * 10]


def other_pickle(data, rnd):
    """A pickle of the weights that calls something else, or is none. Files of torch up to 2.8."""
    evil = rnd.choice(EVIL)

    def change(name, content):
        if name.startswith("serialized_state") and content[:2] == b"PK":
            content = repacked(content, lambda n, c: [(n, evil if n.endswith("data.pkl") else c)])
        return [(name, content)]
    return repacked(data, change), b"serialized_state_dict" in data


def changed_pickle(data, rnd):
    def change(name, content):
        if name.endswith("data.pkl"):
            content = flip_bits(content, rnd)[0]
        elif name.endswith(".pt") and content[:2] == b"PK":
            content = repacked(content, change)
        return [(name, content)]
    return repacked(data, lambda n, c: change(n, c)), False


def nested(data, rnd):
    return repacked(data, lambda name, content: [
        (name, data if name.endswith((".pt", ".json")) else content)]), True


def stranger(data, rnd):
    records = rnd.choice([["m/code/a.py", "m/constants.pkl"], ["m/data/aotinductor/x.so"],
                          ["m.pte"], ["archive/data.pkl"], []])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in records:
            target.writestr(name, b"x")
    return out.getvalue(), True


DAMAGES = [cut_off, flip_bits, flip_bits, lying_directory, lying_directory, deflated, encrypted,
           escaping_name, cut_records, other_json, other_json, other_pickle, changed_pickle, nested,
           stranger]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    cleave, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    sources = [path.read_bytes() for path in sorted(folder.glob("*.pt2"))
               if path.stat().st_size < 60000]
    if not sources:
        print(f"skipped: there are no archives in {folder}")
        sys.exit(77)
    rnd = random.Random(14)
    wrong, seen = 0, Counter()
    with tempfile.TemporaryDirectory() as scratch:
        victim = Path(scratch) / "model.pt2"
        for i in range(count):
            damage = DAMAGES[i % len(DAMAGES)]
            data, must_fail = damage(rnd.choice(sources), rnd)
            victim.write_bytes(data)
            done = subprocess.run([cleave, "-q", "convert", victim, "-o", Path(scratch) / "out.json", "--force"],
                                  capture_output=True, timeout=60)
            good = done.returncode == 3 and b"error: " in done.stderr
            good = good or (done.returncode == 0 and not must_fail)
            seen[(damage.__name__, done.returncode)] += 1
            if not good:
                wrong += 1
                kept = Path(tempfile.gettempdir()) / f"damaged_{i}.pt2"
                kept.write_bytes(data)
                print(f"{damage.__name__}: exit code {done.returncode}, {done.stderr[:200]!r}: {kept}")
    for (name, code), times in sorted(seen.items()):
        print(f"{name:16} exit code {code}: {times}")
    print(f"{count} archives, {wrong} neither read nor refused")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
