#!/usr/bin/env python3
"""Runs a test in this Python, or exits 77 (ctest: skipped) when modules that it needs are not there.

usage: run_with_modules.py "module module..." SCRIPT [ARGUMENT...]
"""

import importlib.util
import os
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)
missing = [name for name in sys.argv[1].split() if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {sys.executable} has no {', '.join(missing)}; scripts/test.sh makes a Python that has")
    sys.exit(77)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
