#!/usr/bin/env python3
"""Vendors' tables as lists: columns, verdicts, opsets, types, and notes that become conditions or stay in words.

usage: import_table_test.py CLEAVE

Exit status 1 when a case fails.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "scripts" / "dev" / "import_table.py"
sys.path.insert(0, str(SCRIPT.parent))
import import_table
from import_table import CannotImport, import_text, report_text

CLEAVE = Path()
NO_RULE = "no rule"


def table(*rows, before=""):
    """A Markdown table: `Operator|Note` and rows of that form."""
    lines = [f"|{row}|" for row in rows]
    return before + "\n".join([lines[0], "|--" * (rows[0].count("|") + 1) + "|", *lines[1:]]) + "\n"


def rules(*rows, **options):
    return import_text(table(*rows), **options).rules


def ops(*rows, **options):
    return [rule["op"] for rule in rules(*rows, **options)]


def rule_for(op, note):
    """The rule for one operator with the note, without its op and its why."""
    made = rules("Operator|Note", f"ai.onnx:{op}|{note}")[0]
    return {key: value for key, value in made.items() if key not in ("op", "why")}


def opset_of(op, cell, heading="Opset"):
    """The ranges of opsets of the operator's rules; None where they state none."""
    found = [rule.get("opset") for rule in rules(f"Operator|{heading}", f"{op}|{cell}", "Identity|")[:-1]]
    return found or NO_RULE


def says(mark, heading="Supported"):
    """What the mark is taken for: yes, no, on trust, or not understood."""
    made = import_text(table(f"Operator|{heading}", "Relu|yes", "Conv|yes", "Abs|no", f"Erf|{mark}"))
    if made.not_understood:
        assert "Erf" not in [rule["op"] for rule in made.rules]
        return "not understood"
    found = next((rule for rule in made.rules if rule["op"] == "Erf"), None)
    return "no" if found is None else "on trust" if "unchecked" in found else "yes"


class Opsets(unittest.TestCase):
    """I1, I2"""

    def test_forms(self):
        for cell, wanted in {
            "9": [9, 9], "9-20": [9, 20], "7 - 12": [7, 12], "7 to 12": [7, 12], "7+": [7, 1000], "10 - *": [10, 1000],
            ">= 7": [7, 1000], "7 and later": [7, 1000], "opset 7": [7, 7], "v7": [7, 7], "up to 12": [1, 12],
            "7 - 12, 13": [7, 13], "13, 12": [12, 13],
        }.items():  # fmt: skip
            self.assertEqual(opset_of("Conv", cell), [wanted], cell)
        for cell in ("", "*", "all"):
            self.assertEqual(opset_of("Conv", cell), [None], cell)

    def test_not_supported(self):
        for cell in ("none", "-", "n/a", "not supported"):
            self.assertEqual(opset_of("Erf", cell), NO_RULE, cell)

    def test_not_understood(self):
        for cell in ("0", "7x", "0-3", "9 - 7", "most", "7 without 9"):
            made = import_text(table("Operator|Opset", f"Conv|{cell}", "Relu|7+"))
            self.assertEqual([rule["op"] for rule in made.rules], ["Relu"], cell)
            self.assertEqual(made.not_understood, [f'line 3: Conv: "{cell}" is no range of opsets'])
            self.assertIn("rows not understood", report_text(made))

    def test_versions_of_the_operator(self):
        # Relu is new in 1, 6, 13 and 14, Add in 1, 6, 7, 13 and 14, Abs in 1, 6 and 13.
        self.assertEqual(opset_of("Relu", "1, 6, 13, 14"), [None])
        self.assertEqual(opset_of("Add", "7 13 14"), [[7, 1000]])
        self.assertEqual(opset_of("Abs", "6<br>13"), [[6, 1000]])
        self.assertEqual(opset_of("Relu", "6, 13"), [[6, 13]])
        self.assertEqual(opset_of("Relu", "6"), [[6, 12]])
        self.assertEqual(opset_of("Relu", "6, 14"), [[6, 12], [14, 1000]])
        self.assertEqual(opset_of("Relu", "6 - 13", "Version"), [[6, 13]])
        self.assertEqual(opset_of("Abs", "6 - 13", "Version"), [[6, 1000]])

    def test_opsets_of_the_model(self):
        self.assertEqual(opset_of("Relu", "6, 12"), [[6, 6], [12, 12]])
        self.assertEqual(opset_of("Abs", "6 - 13", "Supported Opsets (inclusive)"), [[6, 13]])
        self.assertEqual(opset_of("Conv", "7", "Since version"), [[7, 1000]])

    def test_prose(self):
        def of(text):
            return import_text(table("Operator|Note", "Relu|", before=text + "\n\n")).rules[0].get("opset")

        for text in ("Supports opset 9 to opset 20.", "From OPSET 9 to Opset 20"):
            self.assertEqual(of(text), [9, 20], text)
        for text in ("Supports opset 9 and opset 20.", "Supports opset 9 to version 20.", "Supports opset 9 to opset"):
            self.assertIsNone(of(text), text)

    def test_limits_of_a_compiler(self):
        """The table of a compiler, judged by the program on a model of opset 17."""
        rows = ["Op|Supported Opsets (inclusive)|Limitations|Notes", "**Conv**|6 - *||", "**Clip**|6 - 13||",
                "**Softmax**|13 - *||", "**HardSigmoid**|none||", "**Add**|1, 6, 7, 13, 14||", "**Relu**|1<br/>6<br/>13||"]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "npu.md").write_text(table(*rows))
            made = subprocess.run([sys.executable, SCRIPT, "npu.md", "-o", "npu.json"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn("5 rules from 6 rows, 1 of which say that it is not supported\n", made.stdout)
            model = PROJECT / "samples" / "mobile_block.onnx"
            done = subprocess.run([CLEAVE, "preview", model, "-s", "npu.json", "--dim", "N=1", "--json"], cwd=folder,
                                  capture_output=True, text=True)  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            refused = {name.rpartition("/")[2] for name, part in json.loads(done.stdout)["node_map"].items() if "acc" not in part}
            self.assertEqual(refused, {"Clip", "HardSigmoid", "Relu", "Mul", "GlobalAveragePool", "Flatten", "Gemm"})


class Verdicts(unittest.TestCase):
    """I3"""

    def test_marks(self):
        for mark in ("✓", "✔", "✔️", "✅", "○", "◯", "●", "◎", "Y", "Yes", "true", "supported", "対応"):
            self.assertEqual(says(mark), "yes", mark)
        for mark in ("✗", "❌", "x", "×", "-", "–", "no", "N", "N/A", "CPU", "host", "planned", "TODO", "CPU only",
                     "falls back to CPU", "Not supported", "not yet", "unsupported", "false", "No, planned", "非対応"):  # fmt: skip
            self.assertEqual(says(mark), "no", mark)
        for mark in ("partial", "Limited", "△", "Yes, FP16 only", "Y (1)", "✓ 4D tensors"):
            self.assertEqual(says(mark), "on trust", mark)
        for mark in ("", "deprecated", "see below", "NPU or CPU", "Supported on CPU", "FP16", "yesterday", "none of these"):
            self.assertEqual(says(mark), "not understood", mark)

    def test_any_heading(self):
        for mark, wanted in {"No": "no", "❌": "no", "CPU": "no", "see below": "not understood"}.items():
            self.assertEqual(says(mark, heading="Status"), wanted, mark)

    def test_a_note_after_yes_is_read(self):
        made = rules("Operator|Supported", "Gemm|Yes, input B must be constant", "Relu|Yes")
        self.assertEqual(made[0]["constant"], {"1?": True})

    def test_several_accelerators(self):
        rows = ["Operator|AX650|RK3588|RDK X3", "Abs|○|×|CPU", "Add|○|○|○", "Sub|○|○|CPU", "Erf|×|×|CPU"]
        with self.assertRaisesRegex(CannotImport, 'choose one with --section "AX650", "RK3588", "RDK X3"'):
            rules(*rows)
        self.assertEqual(ops(*rows, section="RK3588"), ["Add", "Sub"])
        self.assertEqual(ops(*rows, section="rdk"), ["Add"])
        with self.assertRaisesRegex(CannotImport, 'no heading, or several, with "gamma": there are "AX650"'):
            rules(*rows, section="gamma")
        with self.assertRaisesRegex(CannotImport, 'with "r": there are|with --section|"RK3588", "RDK X3"'):
            rules(*rows, section="R")

    def test_one_odd_cell_does_not_hide_a_column(self):
        rows = ["Operator|A1|B2", "Abs|Y|N", "Erf|CPU|see below", "Add|Y|Y"]
        with self.assertRaisesRegex(CannotImport, '"A1", "B2"'):
            rules(*rows)
        made = import_text(table(*rows), section="B2")
        self.assertEqual([rule["op"] for rule in made.rules], ["Add"])
        self.assertEqual(made.not_understood, ['line 4: Erf: "see below" is neither yes nor no'])

    def test_a_column_that_is_not_read_never_accepts_what_it_may_refuse(self):
        made = import_text(table("Operator|Unit", "Relu|matrix", "Conv|matrix", "Abs|vector", "Erf|CPU"))
        self.assertEqual([rule["op"] for rule in made.rules], ["Relu", "Conv", "Abs"])
        self.assertEqual(made.not_understood, ['line 6: Erf: "CPU" below "Unit", which is not read'])
        self.assertEqual(made.not_read, ["Unit"])

    def test_prose_about_support_is_a_note_beside_verdicts(self):
        made = rules("Operator|Supported|Supported formats", "Relu|Y|NCHW", "Erf|N|", "Abs|Y|")
        self.assertEqual([(rule["op"], rule.get("unchecked")) for rule in made], [("Relu", "NCHW"), ("Abs", None)])

    def test_a_note_that_is_a_verdict(self):
        self.assertEqual(ops("Operator|Note", "Relu|", "Erf|Not supported", "Tan|Falls back to CPU", "Abs|None"), ["Relu", "Abs"])


class Columns(unittest.TestCase):
    def test_headings(self):
        for rows, wanted in {
            ("Layer|Data types|Remarks", "Relu|fp16|Is fast"):
                {"op": "Relu", "inputs": [["float16"]], "why": "Is fast", "unchecked": "Is fast"},
            ("Op|Precision|Limitations", "Relu|fp16|"): {"op": "Relu", "inputs": [["float16"]]},
            ("ONNX name|Version|Constraints", "Relu|7|"): {"op": "Relu", "opset": [7, 7]},
        }.items():  # fmt: skip
            self.assertEqual(rules(*rows), [wanted])

    def test_operators_below_any_heading(self):
        for heading in ("Name", "演算子", "Nom", "Type"):
            self.assertEqual(ops(f"No.|{heading}|Status", "1|Relu|yes", "2|Conv|no", "3|Abs|yes"), ["Relu", "Abs"], heading)

    def test_operators_of_a_vendor_are_found_by_the_heading(self):
        made = import_text(table("Operator|Supported", "ImageScaler|Y", "MyOp|Y", "Argmax|Y", "com.acme::Mine|Y"))
        self.assertEqual([(rule.get("domain"), rule["op"]) for rule in made.rules],
                         [(None, "ImageScaler"), (None, "MyOp"), (None, "ArgMax"), ("com.acme", "Mine")])  # fmt: skip
        self.assertEqual(made.unknown, ["ImageScaler", "MyOp"])
        self.assertEqual(made.renamed, ["Argmax is ArgMax"])

    def test_all_notes_are_read_and_other_columns_named(self):
        made = import_text(table("Operator|Note|Comment|Speed", "Relu|Is good|Is fast|9"))
        self.assertEqual(made.rules[0]["unchecked"], "Is good; Is fast")
        self.assertIn("columns that were not read: Speed", report_text(made))

    def test_names_in_a_cell(self):
        for cell, wanted in {
            "Conv": ["Conv"], "Max, Min": ["Max", "Min"], "Max / Min": ["Max", "Min"], "ai.onnx:Conv": ["Conv"],
            "ai.onnx.ReduceSum": ["ReduceSum"], "*Conv*": ["Conv"], "**Conv**": ["Conv"], "[Abs](Abs.md)": ["Abs"],
            "Max Min Add Sub Mul Div Exp Log": ["Max", "Min", "Add", "Sub", "Mul", "Div", "Exp", "Log"],
        }.items():  # fmt: skip
            self.assertEqual(ops("Operator|Note", f"{cell}|"), wanted, cell)
        made = import_text(table("Operator|Note", "Max Min Add Sub Mul Div Exp Log Neg|", "Relu|"))
        self.assertEqual(made.not_understood, ['line 3: "Max Min Add Sub Mul Div Exp Log Neg" names no operator'])
        for cell, left in {"Conv (2 of 3 kinds)": "2 of 3 kinds", "Conv*": "footnote *", "Conv<sup>1</sup>": "1"}.items():
            self.assertEqual(rules("Operator|Note", f"{cell}|")[0]["unchecked"], left)

    def test_several_tables(self):
        text = "# A\n" + table("Operator", "Conv") + "\n# B\n" + table("Operator", "Conv", "Relu")
        with self.assertRaisesRegex(CannotImport, 'choose one with --section "A", "B"'):
            import_text(text)
        self.assertEqual(len(import_text(text, section="b").rules), 2)
        both = "# A\n" + table("Operator", "Conv") + "\n# B\n" + table("Operator", "Relu")
        self.assertEqual(len(import_text(both).rules), 2)
        with self.assertRaisesRegex(CannotImport, "no table with a column of operators"):
            import_text(table("Colour|Speed", "red|9"))


class Forms(unittest.TestCase):
    """The same table in Markdown, CSV and HTML."""

    WANTED = [{"op": "Relu"}, {"op": "Gemm", "constant": {"1?": True}, "why": "Input B must be constant."}]

    def test_csv(self):
        for delimiter in ",;\t":
            text = delimiter.join(("Operator", "Supported", "Note")) + "\n" + "".join(
                delimiter.join(row) + "\n" for row in (("Relu", "Y", ""), ("Erf", "N", '"a ""b"",\nc"'),
                                                      ("Gemm", "Y", "Input B must be constant.")))  # fmt: skip
            self.assertEqual(import_text(text, ".csv").rules, self.WANTED, repr(delimiter))
        made = import_text("Operator,Supported\nRelu,Y\n\nErf,maybe\n", ".csv")
        self.assertEqual(made.not_understood, ['line 4: Erf: "maybe" is neither yes nor no'])
        with self.assertRaisesRegex(CannotImport, "line"):
            import_text('Operator,Supported\n"Relu,Y\n', ".csv")

    def test_html(self):
        text = """<h2>NPU &amp; co</h2><table class="wide">
<thead><tr><th>Operator<th>Supported<th>Note</tr></thead>
<tr><td><code>Relu</code></td><td>&#10003;</td><td></td></tr>
<tr><td>Erf</td><td rowspan="2">no</td><td></td></tr>
<tr><td>Tan</td><td></td></tr>
<tr><td>Gemm</td><td>yes</td><td>Input B must be constant.</td></tr>
</table>"""
        for ending in (".html", ".md"):
            made = import_text(text, ending)
            self.assertEqual(made.rules, self.WANTED, ending)
            self.assertEqual((made.rows, made.unsupported_rows), (4, 2))
        self.assertEqual(import_text(text, ".html", "NPU & co").rules, self.WANTED)
        wide = "<table><tr><th>Name<th>A<th>B</tr><tr><td>Relu<td colspan=2>yes</tr><tr><td>Erf<td>no<td>no</tr></table>"
        self.assertEqual([rule["op"] for rule in import_text(wide, ".html", "B").rules], ["Relu"])

    def test_markdown(self):
        def tables(text):
            return [(one.section, one.headings, [(row.line, row.cells) for row in one.rows])
                    for one in import_table.markdown_tables(text)]  # fmt: skip

        one = [("", ["a", "b"], [(3, ["1", "2"])])]
        for text in ("|a|b|\n|--|--|\n|1|2|\n", "a|b\n-|-\n1|2", "| a | b |\r\n| :-- | :-: |\r\n| 1 | 2 |\r\n"):
            self.assertEqual(tables(text), one)
        for text in ("|a|b|\n|1|2|\n", "a\n--\n1\n", "a\n|--|\n|1|\n", "|a|\n|-x-|\n|1|\n", "|a|\n|::|\n|1|\n"):
            self.assertEqual(tables(text), [], text)
        self.assertEqual(tables("|a|\n|-|\n|1|\nend\n|2|\n"), [("", ["a"], [(3, ["1"])])])
        self.assertEqual(tables("# One\n## `Two` **b** [c](d)\n|a|\n|-|\n|1|\n")[0][0], "Two b c")

        def cells(row):
            return tables(f"|a|\n|-|\n{row}\n")[0][2][0][1]

        self.assertEqual(cells("|`x`|**y**|*z*|"), ["x", "y", "*z*"])
        self.assertEqual(cells("|[Abs](Abs.md)|[b] (c)|a &lt; b|"), ["Abs", "b (c)", "a < b"])
        self.assertEqual(cells("|a\\|b|c\\*\\*d|e\\\\f|"), ["a|b", "c**d", "e\\f"])
        self.assertEqual(cells("||a||"), ["", "a", ""])
        self.assertEqual(cells("|a|b"), ["a", "b"])
        self.assertEqual(cells("|a<br/>b|c<i>d</i>|"), ["a\nb", "cd"])

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(*words):
                return subprocess.run([sys.executable, SCRIPT, *words], cwd=folder, capture_output=True, text=True)

            Path(folder, "npu.md").write_text((PROJECT / "tests" / "lists" / "vendor_table.md").read_text())
            done = run("npu.md", "-o", "npu.json", "--name", "vendor_table")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, "6 rules from 7 rows, 1 of which say that it is not supported\n"
                             "7 sentences of notes: 5 became conditions, 2 are unchecked\n"
                             "  Clip: The range must fit the activation unit\n  Add: Broadcasting over the batch is slow\n")  # fmt: skip
            made = Path(folder, "npu.json").read_text()
            shown = (PROJECT / "tests" / "lists" / "vendor_table.json").read_text()
            self.assertEqual(made, shown.replace("tests/lists/vendor_table.md", "npu.md"))
            self.assertEqual(run("npu.md", "--name", "vendor_table").stdout, made)
            lint = subprocess.run([CLEAVE, "lists", "lint", "npu.json"], cwd=folder, capture_output=True, text=True)
            self.assertIn("0 errors, 0 warnings, 2 notes", lint.stdout + lint.stderr)
            Path(folder, "bad.md").write_bytes(b"|Operator|\n|--|\n|\xff|\n")
            Path(folder, "odd.md").write_text(table("Operator|Supported", "Relu|maybe"))
            done = run("odd.md", "-o", "l.json")
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn('line 3: Relu: "maybe" is neither yes nor no', done.stderr)
            Path(folder, "two.md").write_text(table("Operator|A|B", "Relu|Y|N"))
            for words in (["bad.md"], ["none.md"], ["two.md"], ["npu.md", "--section", "x"]):
                done = run(*words, "-o", "l.json")
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), words)
                self.assertTrue(done.stderr.startswith(words[0] + ": "))
            self.assertFalse(Path(folder, "l.json").exists())


class Types(unittest.TestCase):
    def types_of(self, op, types):
        return {key: value for key, value in rules("Operator|Types", f"{op}|{types}")[0].items() if key != "op"}

    def test_inputs_and_outputs_that_they_are_about(self):
        self.assertEqual(self.types_of("Abs", "FP32, FP16"), {"inputs": [["float32", "float16"]]})
        self.assertEqual(self.types_of("Where", "FP32, BOOL"), {"inputs": [None, ["float32", "bool"], ["float32", "bool"]]})
        self.assertEqual(self.types_of("Concat", "FP32"), {"inputs": {"all": ["float32"]}})
        self.assertEqual(self.types_of("Cast", "FP32, INT32"), {"inputs": [["float32", "int32"]], "outputs": [["float32", "int32"]]})
        self.assertEqual(self.types_of("ConstantOfShape", "FP32"), {"outputs": [["float32"]]})
        self.assertEqual(self.types_of("QuantizeLinear", "FP32, FP16"), {"inputs": [["float32", "float16"]]})
        self.assertEqual(self.types_of("DequantizeLinear", "INT8"), {"inputs": [["int8"], None, ["int8"]]})
        self.assertEqual(self.types_of("NonMaxSuppression", "FP32, FP16"), {})
        # An input that may only be a float has the floats; one that may be more has none.
        self.assertEqual(self.types_of("GridSample", "FP32, FP16"), {"inputs": [["float32", "float16"]] * 2})
        self.assertEqual(self.types_of("GridSample", "FP32, INT32"), {"inputs": [["float32", "int32"], ["float32"]]})
        self.assertEqual(self.types_of("Gather", "FP32"), {"inputs": [["float32"]]})

    def test_types_that_do_not_fit_are_left_in_words(self):
        self.assertEqual(self.types_of("NonMaxSuppression", "INT8"), {"unchecked": "types: INT8"})
        self.assertEqual(self.types_of("Loop", "FP32"), {"unchecked": "types: FP32"})
        self.assertEqual(self.types_of("Argmax", "INF64"), {"unchecked": "types: INF64"})
        made = import_text(table("Operator|Types", "Relu|FP32, INF64"))
        self.assertEqual(made.types, ["INF64 (Relu)"])
        self.assertIn("types that are not known: INF64 (Relu)", report_text(made))


CONDITIONS = {
    ("Gemm", "Input B must be constant."): {"constant": {"1?": True}},
    ("Gemm", "Input B must be a compile-time constant"): {"constant": {"1?": True}},
    ("Conv", "Bias if provided must be constant."): {"constant": {"2?": True}},
    ("Slice", "starts/ends/axes/steps must be constant initializers."): {"constant": {"1?": True, "2?": True, "3?": True, "4?": True}},
    ("Clip", "min and max clip values must be an initializer"): {"constant": {"1?": True, "2?": True}},
    ("ReduceMax", "axes must be an initializer"): {"constant": {"1?": True}},
    ("Pad", "axes must be an initializer"): {"constant": {"3?": True}},
    ("DequantizeLinear", "All quantization scales and zero points should be constant."): {"constant": {"1?": True, "2?": True}},
    ("QuantizeLinear", "`y_zero_point` must be 0"): {"values": {"2?": {"each": {"one_of": [0]}}}},
    ("TopK", "`sorted` must be 1. `K` input must be less than 3840."):
        {"attributes": {"sorted": [1]}, "values": {"1?": {"each": {"max": 3839}}}},
    ("LpPool", "`dilations` must be empty or all ones"): {"where": ["all(attr.dilations == 1)"]},
    ("LayerNormalization", "Only the first output `Y` is supported."): {"outputs_used": [0]},
    ("MaxPool", "2D or 3D pooling only. `Indices` output tensor unsupported."): {"shapes": {"0": {"rank": [4, 5]}}, "outputs_used": [0]},
    ("GridSample", "Input must be 4D input."): {"shapes": {"0": {"rank": [4]}}},
    ("Relu", "Input rank up to 5"): {"shapes": {"0": {"rank": {"max": 5}}}},
    ("EyeLike", "`input` must have static dimensions"): {"shapes": {"0": {"static": True}}},
    ("Resize", "Supported resize modes: `nearest`, `linear`."): {"attributes": {"mode": ["nearest", "linear"]}},
    ("Constant", "`sparse_value` and `value_string` attributes are unsupported."):
        {"attributes": {"sparse_value": {"absent": True}, "value_string": {"absent": True}}},
    ("And", "Both inputs must be bool"): {"inputs": {"all": ["bool"]}},
    ("DepthToSpace", "Only DCR mode DepthToSpace is supported."): {"attributes": {"mode": ["DCR"]}},
    ("Softmax", "`axis` must be -1"): {"attributes": {"axis": [-1]}},
    ("Concat", "axis should be less than -1"): {"attributes": {"axis": {"max": -2}}},
    ("Softmax", "Supported axis: -1, 1"): {"attributes": {"axis": [-1, 1]}},
    ("Gemm", "Only support for transA == 0, alpha == 1.5 is implemented."): {"attributes": {"transA": [0], "alpha": [1.5]}},
    ("Conv", "2D or 3D convolutions only"): {"shapes": {"0": {"rank": [4, 5]}}},
    # A line break is a blank.
    ("Conv", "Only 2D<br>Conv is<br />supported."): {"shapes": {"0": {"rank": [4]}}},
    ("Conv", "Only 2D Conv is supported.<br/>Bias if provided must be constant."):
        {"shapes": {"0": {"rank": [4]}}, "constant": {"2?": True}},
    ("Conv", "Only 2D Conv is supported<br/>weights should be constant"): {"shapes": {"0": {"rank": [4]}}, "constant": {"1?": True}},
    ("Gemm", "Input B must be constant<br>unless the batch is 1"): {"unchecked": "Input B must be constant unless the batch is 1"},
    # One condition does not replace another.
    ("Concat", "axis must be 1. axis must be 2. axis must be 1."): {"attributes": {"axis": [1]}, "unchecked": "axis must be 2"},
    ("Relu", "Input must be 4D. Input rank up to 5."): {"shapes": {"0": {"rank": [4]}}, "unchecked": "Input rank up to 5"},
    # What asks nothing.
    ("AveragePool", "3D support can be added if needed."): {},
    ("RandomUniform", "seed value is ignored by TensorRT"): {},
    ("Tile", "repeats may be a constant initializer or a runtime tensor"): {},
    ("MatMul", "Only support for transA == 0, alpha == 1.0 is implemented."): {},
    ("Relu", "None"): {},
}  # fmt: skip
IN_WORDS = [
    ("TopK", "K input must be ~64"), ("LpPool", "p must be > 2"), ("Flatten", "axis must be != 1"), ("Clip", "min must be 1e3"),
    ("Resize", "Supported modes: not cubic"), ("Resize", "Supported modes: nearest linear"), ("TopK", "The value must be 0"),
    ("MaxPool", "Only the first two output tensors supported"), ("Gemm", "Input must be >=2D"), ("Conv", "Only 2D Conv is not supported"),
    ("DepthToSpace", "If mode is CRD the input must have a fixed shape"), ("Add", "Both inputs must be quick"),
    ("ScatterND", "reduction is not supported"), ("Gemm", "Input B must not be constant"), ("TopK", "K must be less than the last dim"),
    ("Conv", "padding_type of SAME_UPPER is not supported"), ("Tile", "repeats may be constant and must be positive"),
    ("Gemm", "Input B must be a compile -time constant"), ("Gemm", "Input B must be a compile2-time constant"),
    ("Add", "No short integers"),
]  # fmt: skip
# For each word of a sentence that is a condition: what becomes of the sentence without the word, and with "quickly" before
# it: = the same condition, u unchecked, o another condition.
NEAR_MISSES = [
    ("Gemm", "Input B must be constant", "=uu=u uuuuuu"),
    ("Slice", "starts and ends should be constant initializers", "o=ou=== uuuuuuuu"),
    ("Conv", "Bias if provided must be constant", "u==u=u uuuuuuu"),
    ("DequantizeLinear", "All quantization scales and zero points should be constant", "==u==u=== uuuuuuuuuu"),
    ("And", "Both inputs must be bool", "uu==u uuuuuu"),
    ("Add", "Only supports cases when both inputs are fp32 or fp16", "====uu=o=o uuuuuuuuuuu"),
    ("DepthToSpace", "Only DCR mode DepthToSpace is supported", "uuu=uu uuuuuuu"),
    ("QuantizeLinear", "y_zero_point must be 0", "uuuu uuuuu"),
    ("TopK", "K input must be less than 3840", "u=u=o=u uuuuuuuu"),
    ("LpPool", "dilations must be empty or all ones", "u=====u uuuuuuuu"),
    ("LayerNormalization", "Only the first output Y is supported", "u=uu=== uuuuuuuu"),
    ("MaxPool", "Indices output tensor unsupported", "uu=u ====="),
    ("Conv", "Only 1D/2D Conv is supported", "uuu== uuuuuu"),
    ("MaxPool", "2D or 3D pooling only", "o=ouu uuuuuu"),
    ("GridSample", "Input must be 4D input", "===u= uuuuuu"),
    ("EyeLike", "input must have static dimensions", "uu=u= uuuuuu"),
    ("Constant", "sparse_value and value_string attributes are unsupported", "o=o==u uuuuuuu"),
    ("Resize", "Supported resize modes: nearest, linear", "u=uoo ===uuu"),
    ("Gemm", "Only support for transA == 0, alpha == 1.0 is implemented", "uuuuuuuuuuu uuuuuuuuuuuu"),
]


class Sentences(unittest.TestCase):
    def test_conditions(self):
        for (op, note), wanted in CONDITIONS.items():
            self.assertEqual(rule_for(op, note), wanted, (op, note))

    def test_what_no_reader_knows_stays_in_words(self):
        for op, note in IN_WORDS:
            self.assertEqual(rule_for(op, note), {"unchecked": note}, (op, note))

    def test_near_misses(self):
        for op, sentence, wanted in NEAR_MISSES:
            right = rule_for(op, sentence)

            def becomes(words, op=op, right=right):
                made = rule_for(op, " ".join(words))
                return "u" if "unchecked" in made else "=" if made == right else "r" if not made else "o"

            words = sentence.split()
            without = "".join(becomes(words[:i] + words[i + 1 :]) for i in range(len(words)))
            more = "".join(becomes([*words[:i], "quickly", *words[i:]]) for i in range(len(words) + 1))
            self.assertEqual(f"{without} {more}", wanted, (op, sentence))

    def test_reasons_are_one_line(self):
        made = rules("Operator|Note", "Relu|Is fast.<br />Is good<br>")[0]
        self.assertEqual((made["why"], made["unchecked"]), ("Is fast; Is good", "Is fast; Is good"))


if __name__ == "__main__":
    CLEAVE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
