#!/usr/bin/env python3
"""Changes bytes of a TensorFlow Lite file and checks that cleave refuses it with words or splits it: exit status 0 or
3, never a crash, a hang or a partition that cannot be read again.

usage: damaged_test.py CLEAVE MODEL.tflite COUNT
"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path


def damaged(whole, numbers):
    """Some bytes changed, or the end cut off."""
    data = bytearray(whole)
    if numbers.random() < 0.1:
        return bytes(data[: numbers.randrange(len(data))])
    for _ in range(numbers.choice((1, 1, 2, 4))):
        at = numbers.randrange(len(data))
        data[at] = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, numbers.randrange(256)))
    return bytes(data)


def main():
    cleave, whole, count = sys.argv[1], Path(sys.argv[2]).read_bytes(), int(sys.argv[3])
    numbers, refused, faults = random.Random(1), 0, []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        model, out = folder / "m.tflite", folder / "out"
        (folder / "list.txt").write_text("CONV_2D\nFULLY_CONNECTED\n", encoding="utf-8")
        for number in range(count):
            model.write_bytes(damaged(whole, numbers))
            done = subprocess.run([cleave, "-q", "split", model, "-s", folder / "list.txt", "-o", out, "--force",
                                   "--drawings", "none"], capture_output=True, text=True, errors="replace",
                                  timeout=60, check=False)
            if done.returncode not in (0, 3) or (done.returncode == 3 and "error: " not in done.stderr):
                faults.append(f"change {number}: exit status {done.returncode}: {done.stderr.strip()[:300]}")
            refused += done.returncode == 3
            if done.returncode == 0 and number % 10 == 0:
                for part in out.glob("*.tflite"):
                    again = subprocess.run([cleave, "-q", "inspect", part], capture_output=True, text=True,
                                           errors="replace", timeout=60, check=False)
                    if again.returncode != 0:
                        faults.append(f"change {number}: {part.name}: {again.stderr.strip()[:300]}")
    print(f"{count} changed files, {refused} refused; {count - len(faults)} passed, {len(faults)} failed")
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
