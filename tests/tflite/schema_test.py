#!/usr/bin/env python3
"""Checks that formats/tflite/schema.inc is what scripts/dev/tflite_schema.py makes of the schema's text.

usage: schema_test.py PROJECT
"""
import subprocess
import sys
import tempfile
from pathlib import Path

project = Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    made = Path(folder) / "schema.inc"
    subprocess.run([sys.executable, project / "scripts" / "dev" / "tflite_schema.py", made], check=True)
    kept = project / "formats" / "tflite" / "schema.inc"
    if made.read_bytes() != kept.read_bytes():
        sys.exit("formats/tflite/schema.inc is not current: run scripts/dev/tflite_schema.py")
print("1 passed, 0 failed")
