#!/usr/bin/env python3
"""Compares the operators and attributes that `lists lint` knows with those of the onnx package: each
of these must be known with its attributes and inputs, and misspelt ones must not. The table of the script that reads
vendors' tables must have them, too.

usage: onnx_names_test.py CLEAVE      exit status 1 when a name is wrong
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx.defs


def known_ops():
    """{(domain, op): (attributes, most inputs)} over all versions."""
    ops = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        attributes, inputs = ops.get((schema.domain, schema.name), (set(), 0))
        ops[schema.domain, schema.name] = (attributes | set(schema.attributes),
                                           max(inputs, schema.max_input))
    return ops


def missing_in_table():
    """Operators of the package that scripts/dev/onnx_operators.json lacks, or has without an attribute."""
    path = Path(__file__).resolve().parents[2] / "scripts" / "dev" / "onnx_operators.json"
    table = json.loads(path.read_text())["operators"]
    for (domain, op), (attributes, _) in known_ops().items():
        row = table.get(f"{domain}:{op}" if domain else op, {"attributes": []})
        if not attributes <= {name.rstrip("=") for name in row["attributes"]} or "since" not in row:
            yield f"{domain}:{op}"


def findings(cleave, rules):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.json"
        path.write_text(json.dumps({"format": "cleave.support", "version": 1, "allow": rules}))
        done = subprocess.run([cleave, "lists", "lint", path, "--json"], capture_output=True,
                              check=False, timeout=120)
        return json.loads(done.stdout)["findings"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rules, slips = [], []
    for (domain, op), (attributes, inputs) in sorted(known_ops().items()):
        rule = {"op": op, "domain": domain, "attributes": {name: {"min": 0} for name in attributes}}
        if 0 < inputs < 1000:
            rule["shapes"] = {str(inputs - 1): {"static": True}}
        rules.append(rule)
        slips.append({"op": op + "Xyz", "domain": domain})
        if inputs < 1000:
            slips.append({"op": op, "domain": domain, "shapes": {str(inputs): {"static": True}}})
        slips.append({"op": op, "domain": domain, "attributes": {"no_such_attribute": 1}})
    bad = findings(sys.argv[1], rules)
    for finding in bad:
        print(f"{finding['kind']}: {finding['message']}")
    kinds = [finding["kind"] for finding in findings(sys.argv[1], slips)]
    wanted = ("unknown_op", "unknown_attribute", "unused_condition")
    missed = len(slips) - sum(kind in wanted for kind in kinds)
    print(f"{len(rules)} ops, {len(bad)} of them not known; {len(slips)} slips, {missed} not found")
    old = list(missing_in_table())
    print(f"{len(old)} ops are missing in onnx_operators.json: {' '.join(old)}")
    sys.exit(1 if bad or missed or old or not rules else 0)


if __name__ == "__main__":
    main()
