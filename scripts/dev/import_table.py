#!/usr/bin/env python3
"""Makes a support list of a vendor's table of operators in Markdown, CSV or HTML. For maintainers: the lists that come
with cleave are made so, by make_lists.py.

usage: import_table.py TABLE [-o LIST] [--name NAME] [--section TEXT]

Steps:
1. Read the tables, whatever they are written in, as rows of cells below headings.
2. Find the columns by what is in them: operators by their names, verdicts (yes and no) since most cells are verdicts,
   then by words of the headings: types, opsets, notes.
3. Make a rule of each row: types become types of the inputs that they are about by ONNX's schema, opsets a range, and
   each sentence of a note a condition, or a part of the rule's `unchecked` where no reader knows it.

A row whose verdict, operator or opset is not understood makes no rule, and is printed under "rows not understood", with
its line. What ONNX calls its operators' inputs and attributes, onnx_operators.py knows.

Exit status: 0 the list is made; 2 the arguments are wrong; 3 the file has no table that can be read, or several
accelerators' and --section does not choose.
"""

import argparse
import csv
import html
import io
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from onnx_operators import DTYPES, TYPE_WORDS, Formal, Operator, names_in_small_letters, operators

Rule = dict[str, Any]
OPEN = 1000  # above all opsets


class CannotImport(Exception):
    """The file makes no list; the text says why, and the way out."""


# ---- tables ----


@dataclass
class Row:
    line: int
    cells: list[str]  # plain text; a line break within a cell is "\n"


@dataclass
class Table:
    section: str  # the heading above
    headings: list[str]
    rows: list[Row] = field(default_factory=list)

    def cell(self, row: Row, column: int | None) -> str:
        """The cell in one line."""
        return " ".join(self.lines_of(row, column).split())

    def lines_of(self, row: Row, column: int | None) -> str:
        return row.cells[column] if column is not None and column < len(row.cells) else ""

    def column(self, column: int) -> list[str]:
        """The cells of the column that are not empty."""
        return [text for row in self.rows if (text := self.cell(row, column))]


def without_tags(text: str) -> str:
    """A line break is "\\n", a footnote's mark stands in brackets."""
    text = re.sub(r"<br\s*/?>|</(?:p|li|div)>", "\n", text, flags=re.IGNORECASE)
    text = re.sub(r"<sup\b[^<>]*>(.*?)</sup>", r" (\1)", text, flags=re.IGNORECASE)
    return re.sub(r"</?[a-z][^<>]*>", "", text, flags=re.IGNORECASE)


def plain_text(cell: str) -> str:
    """A cell of Markdown without links, marks of code and tags."""
    text = without_tags(cell)
    made, at = "", 0
    while at < len(text):
        here = text[at]
        if here == "\\" and at + 1 < len(text):
            made += text[at + 1]
            at += 2
        elif text.startswith("**", at):
            at += 2
        elif here == "]" and text.startswith("](", at) and ")" in text[at:]:
            at = text.index(")", at) + 1
        else:
            made += here if here not in "`[]" else ""
            at += 1
    return html.unescape(made).strip()


def heading_of(line: str) -> str:
    found = re.match(r"#+ +(.*)", line)
    return found[1].strip() if found else ""


def cells_of(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|"))
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return [plain_text(cell) for cell in cells]


def markdown_tables(text: str) -> list[Table]:
    """A row of headings, a row of dashes, rows with bars."""
    tables: list[Table] = []
    previous = heading = ""
    is_inside = False
    for number, line in enumerate(text.splitlines(), 1):
        heading = heading_of(line) or heading
        if not is_inside and "-" in line and "|" in line and not set(line) - set("|-: \t") and "|" in previous:
            tables.append(Table(plain_text(heading), cells_of(previous)))
            is_inside = True
        elif is_inside and "|" in line:
            tables[-1].rows.append(Row(number, cells_of(line)))
        else:
            is_inside = False
        previous = line
    return tables


def html_tables(text: str) -> list[Table]:
    """A cell that spans rows or columns is in each of them. Of tables within tables none is read right."""
    tables: list[Table] = []
    heading = ""
    is_case = re.IGNORECASE | re.DOTALL
    for block in re.finditer(r"<h([1-6])\b.*?</h\1>|<table\b.*?(?:</table|\Z)", text, is_case):
        caption = re.search(r"<caption\b.*?</caption>", block[0], is_case)
        name = " ".join(html.unescape(without_tags(block[0] if block[1] else caption[0] if caption else "")).split())
        if block[1]:
            heading = name
            continue
        rows: list[Row] = []
        spans: dict[int, tuple[int, str]] = {}  # by column: the rows that are left, and the cell
        for row in re.finditer(r"<tr\b.*?(?=<tr\b|\Z)", block[0], is_case):
            cells: list[str] = []
            for cell in [*re.finditer(r"<t[hd]\b([^>]*)>(.*?)(?=<t[hd]\b|</tr|\Z)", row[0], is_case), None]:
                while len(cells) in spans:
                    left, above = spans.pop(len(cells))
                    if left > 1:
                        spans[len(cells)] = left - 1, above
                    cells.append(above)
                if cell is None:
                    break
                lines = without_tags(re.sub(r"\s+", " ", cell[2])).split("\n")
                one = "\n".join(html.unescape(line).strip() for line in lines).strip()
                for _ in range(span_of(cell[1], "col")):
                    if (down := span_of(cell[1], "row")) > 1:
                        spans[len(cells)] = down - 1, one
                    cells.append(one)
            if cells:
                rows.append(Row(text.count("\n", 0, block.start() + row.start()) + 1, cells))
        if rows:
            tables.append(Table(name or heading, rows[0].cells, rows[1:]))
    return tables


def span_of(attributes: str, of: str) -> int:
    found = re.search(rf"{of}span\s*=\s*[\"']?(\d{{1,4}})", attributes, re.IGNORECASE)
    return max(int(found[1]), 1) if found else 1


def csv_tables(text: str) -> list[Table]:
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        rows = [Row(reader.line_num, [one.strip() for one in cells]) for cells in reader if any(cells)]
    except csv.Error as error:
        raise CannotImport(f"line {reader.line_num}: {error}") from error
    return [Table("", rows[0].cells, rows[1:])] if rows else []


def tables_of(text: str, ending: str) -> list[Table]:
    if ending in (".csv", ".tsv"):
        return csv_tables(text)
    # Markdown may have tables in HTML, too.
    return ([] if ending in (".html", ".htm") else markdown_tables(text)) + html_tables(text)


# ---- columns ----

YES = ["y", "yes", "true", "ok", "✓", "✔", "✅", "☑", "○", "◯", "●", "◎", "supported", "fully supported", "full", "npu",
       "対応", "サポート", "支持", "是"]  # fmt: skip
NO = ["n", "no", "x", "×", "✗", "✘", "✕", "❌", "✖", "-", "–", "—", "false", "none", "unsupported", "n/a", "na",
      "cpu", "host", "planned", "todo", "tbd", "wip", "in progress", "future", "removed", "非対応", "未対応",
      "不支持", "否"]  # fmt: skip
NO_BEGINS = ["not supp", "not yet", "not impl", "not avail", "no,", "no (", "no.", "no longer", "cpu only", "cpu (",
             "host only", "host (", "falls back", "fallback", "fall back", "runs on cpu", "on cpu", "on the cpu",
             "planned", "todo", "coming soon", "under dev", "unsupported", "n/a"]  # fmt: skip
PARTLY = ["partial", "partly", "partially", "limited", "conditional", "with restrictions", "△", "▲"]


def verdict_of(cell: str) -> tuple[bool | None, str]:
    """Whether the cell says yes; None: it says neither yes nor no. And the note that follows a yes."""
    text = cell.replace("\ufe0f", "").strip()  # a sign that asks for a coloured mark
    small = text.lower().rstrip(".!")
    if small in YES:
        return True, ""
    if small in NO or small.startswith(tuple(NO_BEGINS)):
        return False, ""
    if small.startswith(tuple(PARTLY)):
        return True, text
    # "Yes, FP16 only", "Y (1)", "✓ 4D"
    for word in sorted(YES, key=len, reverse=True):
        rest = small.removeprefix(word)
        if rest != small and re.match(r"[\s(,;:.*–-]", rest):
            is_elsewhere = re.search(r"\b(cpu|host)\b", rest)  # "Supported on CPU"
            return (None, "") if is_elsewhere else (True, text[len(word) :].strip(" ,;:.-–()"))
    return None, ""


def says_no_in_words(note: str) -> bool:
    """A note that is a verdict: "Not supported", "Falls back to CPU"."""
    return 1 <= len(note.split()) <= 4 and note.lower().startswith(tuple(NO_BEGINS)) and note.lower() != "n/a"


HEADINGS = {
    "note": "note restriction comment limitation constraint remark condition 備考 制限 限制".split(),
    "types": "type precision データ型".split(),
    "opset": "opset version".split(),
    "op": "operator onnx layer 演算子 算子".split(),
    "supported": ["support"],
}


@dataclass
class Columns:
    op: int | None = None
    types: int | None = None
    opset: int | None = None
    notes: list[int] = field(default_factory=list)
    # Those that say whether an operator is supported. More than one: the table is about several accelerators.
    supported: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)  # not read


def is_operator(cell: str) -> bool:
    names = names_of(cell)[0]
    known = names_in_small_letters()
    return bool(names) and all(":" in one or one.lower().removeprefix("ai.onnx.") in known for one in names)


def columns_of(table: Table) -> Columns:
    columns = Columns()
    small = [heading.lower() for heading in table.headings]

    def share(column: int, holds: Any) -> float:
        cells = table.column(column)
        return sum(map(bool, map(holds, cells))) / len(cells) if cells else 0

    def has(column: int, kind: str) -> bool:
        return any(word in small[column] for word in HEADINGS[kind])

    places = range(len(small))
    is_verdicts = [share(i, lambda cell: verdict_of(cell)[0] is not None) > 0.5 for i in places]
    shares = [0 if is_verdicts[i] else share(i, is_operator) for i in places]
    likely = [i for i in places if shares[i] >= 0.5]
    # Of several columns with names of operators, the one that is called so.
    columns.op = next((i for i in likely if has(i, "op") or small[i] in ("op", "ops")), None)
    if columns.op is None and likely:
        columns.op = max(likely, key=lambda i: shares[i])
    for i in places:
        if i == columns.op:
            continue
        if has(i, "note"):
            columns.notes.append(i)
        elif has(i, "types") and columns.types is None:
            columns.types = i
        elif has(i, "opset") and columns.opset is None:
            columns.opset = i
        elif columns.op is None and (has(i, "op") or small[i] in ("op", "ops")) and not is_verdicts[i]:
            columns.op = i
        elif has(i, "supported") or is_verdicts[i]:
            columns.supported.append(i)
        else:
            columns.other.append(i)
    # Beside a column of verdicts, one of prose about support is a note.
    if any(is_verdicts[i] for i in columns.supported):
        columns.notes += [i for i in columns.supported if not is_verdicts[i]]
        columns.supported = [i for i in columns.supported if is_verdicts[i]]
    return columns


def choose(tables: list[Table], section: str) -> list[tuple[Table, Columns]]:
    """The tables of operators that the text chooses, by the heading above them or that of a column of verdicts."""
    wanted = section.lower()
    found = [(table, columns) for table in tables if (columns := columns_of(table)).op is not None]
    if not found:
        raise CannotImport("no table with a column of operators")

    def with_text(table: Table, columns: Columns) -> list[int]:
        return [i for i in columns.supported if wanted in table.headings[i].lower()]

    chosen = [one for one in found if wanted in one[0].section.lower() or with_text(*one)]
    if not chosen:
        refuse_choice(section, [name for table, columns in found for name in choices_of(table, columns)])
    by_operator: dict[str, int] = {}
    for number, (table, columns) in enumerate(chosen):
        for row in table.rows:
            name = table.cell(row, columns.op)
            if name and by_operator.setdefault(name, number) != number:
                refuse_choice(section, [one.section or ", ".join(one.headings) for one, _ in chosen])
    for table, columns in chosen:
        if len(columns.supported) > 1:
            exact = [i for i in columns.supported if table.headings[i].lower() == wanted]
            columns.supported = exact or (with_text(table, columns) if wanted else []) or columns.supported
        if len(columns.supported) > 1:
            refuse_choice(section, [table.headings[i] for i in columns.supported])
    return chosen


def choices_of(table: Table, columns: Columns) -> list[str]:
    return [table.headings[i] for i in columns.supported] if len(columns.supported) > 1 else [table.section]


def refuse_choice(section: str, names: list[str]) -> NoReturn:
    listed = ", ".join(f'"{name}"' for name in dict.fromkeys(names))
    if section:
        raise CannotImport(f'no heading, or several, with "{section}": there are {listed}')
    raise CannotImport(f"about several accelerators: choose one with --section {listed}")


# ---- opsets ----


def opsets_of(cell: str, operator: Operator | None, heading: str) -> list[tuple[int, int]] | None:
    """The opsets of models that `9`, `9-20`, `7+`, `6 - *` and `1, 6, 13` are: [] for none, None: not understood. Where all
    numbers are versions of the operator, they bound its version; but a range below "opset" is one of opsets."""
    small = cell.lower().strip()
    if small in ("", "*", "all", "any", "all versions", "all opsets"):
        return [(1, OPEN)]
    if verdict_of(small)[0] is False:
        return []
    text = re.sub(r"\b(opset|opsets|version|versions|v|ver)\b\.?", " ", small)
    ranges = []
    for part in re.split(r"[,;/&]|\band\b(?!\s+(?:later|above|newer|up))|(?<=\d)\s+(?=\d)", text):
        part = part.strip()
        if found := re.fullmatch(r"v?(\d+)", part):
            low, high = int(found[1]), int(found[1])
        elif found := re.fullmatch(r"v?(\d+)\s*(?:-|–|—|~|\.\.+|to|through|until)\s*v?(\d+|\*|latest|newest)", part):
            low, high = int(found[1]), int(found[2]) if found[2].isdigit() else OPEN
        elif found := re.fullmatch(r"(?:>=|≥|from|since)\s*(\d+)|(\d+)\s*(?:\+|-|and (?:later|above|newer|up))", part):
            low, high = int(found[1] or found[2]), OPEN
        elif found := re.fullmatch(r"(?:<=|≤|up to|until)\s*(\d+)", part):
            low, high = 1, int(found[1])
        elif part:
            return None
        else:
            continue
        if not 1 <= low <= high:
            return None
        ranges.append((low, high))
    heads = heading.lower()
    is_one = len(ranges) == 1
    if is_one and ranges[0][0] == ranges[0][1] and ("since" in heads or "minimum" in heads):
        return [(ranges[0][0], OPEN)]
    is_range_of_opsets = "opset" in heads and is_one and ranges[0][0] != ranges[0][1]
    numbers = {number for one in ranges for number in one if number != OPEN}
    if operator is not None and numbers <= set(operator.since) and not is_range_of_opsets:
        ranges = [(low, end_of_version(operator, high)) for low, high in ranges]
    return joined(ranges) or None


def end_of_version(operator: Operator, version: int) -> int:
    """The last opset that has this version of the operator."""
    return next((since - 1 for since in operator.since if since > version), OPEN)


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if made and low <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(made[-1][1], high)
        else:
            made.append((low, high))
    return made


def opsets_in_prose(text: str) -> tuple[int, int] | None:
    """`... opset 9 to opset 20` above or below the tables holds for all rules that state none."""
    found = re.search(r"\bopset\s+(\d+)\s+to\s+(?:opset\s+)(\d+)", text, re.IGNORECASE)
    return (int(found[1]), int(found[2])) if found else None


# ---- types ----


FLOATS = {"float32", "float16", "float64", "bfloat16"}


def in_order(types: set[str]) -> list[str]:
    return sorted(types, key=DTYPES.index)


def add_types(types: set[str], operator: Operator | None, rule: Rule) -> bool:
    """Adds the types to the inputs of one type variable, their floats to other inputs that may be nothing else (the grid of
    GridSample), and the types to an output whose type no input has (as in Cast). False when they do not agree with ONNX's
    schema."""
    if operator is None or not operator.outputs:
        rule["inputs"] = [in_order(types)]
        return True

    def is_narrowed(formal: Formal) -> bool:
        """ONNX allows several types there, and the vendor supports some of them."""
        return len(formal.types) != 1 and bool(formal.types & types)

    output = operator.outputs[0]
    of_inputs = {one.variable for one in operator.inputs}
    wanted = output.variable if output.variable in of_inputs and is_narrowed(output) else ""
    wanted = wanted or next((one.variable for one in operator.inputs if is_narrowed(one)), "")
    positions: list[list[str] | None] = []
    for one in operator.inputs:
        is_wanted = wanted != "" and one.variable == wanted
        if is_wanted and one.is_variadic:
            if positions:
                return False
            rule["inputs"] = {"all": in_order(types)}
            return True
        is_float = is_narrowed(one) and one.types <= FLOATS
        positions.append(in_order(types) if is_wanted else in_order(types & FLOATS) if is_float else None)
    while positions and positions[-1] is None:
        positions.pop()
    if positions:
        rule["inputs"] = positions
    is_own = output.variable not in of_inputs and is_narrowed(output)
    if is_own:
        rule["outputs"] = [in_order(types)]
    # Where all types are fixed, the table has to have the first input's.
    fixed = (operator.inputs or operator.outputs)[0].types
    return is_own or bool(positions) or bool(fixed & types)


# ---- sentences of notes ----
#
# Each reader knows one form of sentence, and takes none that has another word than the form's and names of the
# operator's inputs and attributes.

NEGATIONS = {"not", "unsupported", "cannot", "no", "except", "if", "when", "unless"}
WORD = re.compile(r"(?<!\w)-\d\w*|\w+", re.ASCII)


class Sentence:
    def __init__(self, text: str, operator: Operator) -> None:
        self.text, self.operator = text, operator
        self.words = WORD.findall(text)
        self.small = [word.lower() for word in self.words]

    def has(self, *words: str) -> bool:
        return any(word in self.small for word in words)

    def is_negated(self) -> bool:
        return self.has(*NEGATIONS)

    def has_only(self, known: str) -> bool:
        """Only names and the words that the reader knows."""
        words = {self.operator.name.rpartition(":")[2].lower(), *known.split()}
        return all(small in words or self.operator.input_named(word) is not None or word in self.operator.attributes
                   for word, small in zip(self.words, self.small))  # fmt: skip

    def before_verb(self) -> int:
        return min(self.small.index(verb) if verb in self.small else len(self.small) for verb in ("must", "should"))

    def inputs(self, before: int) -> list[int]:
        found = []
        for i, word in enumerate(self.words[:before]):
            # In `Input B` the name is B: "input" itself can only be a name if no other word follows.
            if self.small[i] == "input" and i + 1 < before:
                continue
            found.append(self.operator.input_named(word))
        return [one for one in dict.fromkeys(found) if one is not None]

    def attributes(self, before: int | None = None) -> list[str]:
        return [word for word in self.words[:before] if word in self.operator.attributes]

    def ranks(self) -> list[int]:
        return [int(word[0]) for word in self.small if re.fullmatch("[1-9]d", word)]


def has_strange_character(text: str) -> bool:
    """A sentence with other characters, such as those of "> 2", "!= 1" and "~64", says what no reader knows."""
    known = re.sub(r"(?<=[A-Za-z_])-(?=[A-Za-z_])|(?<!\w)-(?=\d)|[\w \t,/`'\".:;()]", "", text, flags=re.ASCII)
    return known != ""


def number_of(word: str) -> int | None:
    if word in ("zero", "one"):
        return ["zero", "one"].index(word)
    return int(word) if re.fullmatch(r"-?\d+", word) else None


def add_to(rule: Rule, key: str, more: Rule) -> bool:
    """False where the rule asks something else of the same, which would be lost."""
    there = rule.setdefault(key, {})
    if any(there.get(name, value) != value for name, value in more.items()):
        return False
    there.update(more)
    return True


def read_constants(it: Sentence, rule: Rule) -> bool:
    """starts/ends/axes/steps must be constant initializers"""
    if not it.has("constant", "initializer", "initializers") or not it.has("must", "should"):
        return False
    if not it.has_only("if provided must should be a an constant initializer initializers and or the tensor input inputs "
                       "build time constants compile values"):  # fmt: skip
        return False
    inputs = it.inputs(it.before_verb())
    return bool(inputs) and add_to(rule, "constant", {f"{one}?": True for one in inputs})


def read_quantization(it: Sentence, rule: Rule) -> bool:
    """All quantization scales and zero points should be constant"""
    if not it.has("scales") or not it.has("points") or it.is_negated():
        return False
    if not it.has_only("all quantization scales and zero points should must be constant"):
        return False
    found = [i for i, one in enumerate(it.operator.inputs) if one.name.endswith(("scale", "zero_point"))]
    return bool(found) and add_to(rule, "constant", {f"{one}?": True for one in found})


def read_types(it: Sentence, rule: Rule) -> bool:
    """Only supports cases when both inputs are fp32"""
    if not it.has("both", "all") or not it.has("inputs") or "inputs" in rule or not it.operator.inputs:
        return False
    types = {TYPE_WORDS[word] for word in it.small if word in TYPE_WORDS}
    others = set("both all inputs must be are only supports cases when or and".split())
    if not types or any(word not in TYPE_WORDS and word not in others for word in it.small):
        return False
    rule["inputs"] = {"all": in_order(types)}
    return True


def read_only_mode(it: Sentence, rule: Rule) -> bool:
    """Only DCR mode DepthToSpace is supported"""
    small = it.small
    is_form = len(small) in (5, 6) and small[0] == "only" and small[2] == "mode" and small[-2:] == ["is", "supported"]
    return is_form and "mode" in it.operator.attributes and add_to(rule, "attributes", {"mode": [it.words[1]]})


def read_number(it: Sentence, rule: Rule) -> bool:
    """`sorted` must be 1, K input must be less than 3840"""
    if not it.has("must", "should") or len(it.small) < 4:
        return False
    number = number_of(it.small[-1])
    if number is None or not it.has_only(f"must should be less than input attribute value the {it.small[-1]}"):
        return False
    attributes, inputs = it.attributes(it.before_verb()), it.inputs(it.before_verb())
    is_less = it.has("less")
    if len(attributes) == 1 and not inputs:
        return add_to(rule, "attributes", {attributes[0]: {"max": number - 1} if is_less else [number]})
    wanted = {"max": number - 1} if is_less else {"one_of": [number]}
    return len(inputs) == 1 and add_to(rule, "values", {f"{inputs[0]}?": {"each": wanted}})


def read_all_ones(it: Sentence, rule: Rule) -> bool:
    """`dilations` must be empty or all ones"""
    names = it.attributes()
    if len(names) != 1 or not it.has("ones") or not it.has_only("must should be empty or all ones"):
        return False
    rule.setdefault("where", []).append(f"all(attr.{names[0]} == 1)")
    return True


def read_outputs(it: Sentence, rule: Rule) -> bool:
    """Only the first output Y is supported, `Indices` output tensor unsupported"""
    names = [one.name for one in it.operator.outputs]
    if not it.has("output") or not names:
        return False
    is_first = it.has("first") and it.has("only") and not it.is_negated()
    is_known = is_first and it.has_only(f"only the first output tensor is supported can be used {names[0]}")
    is_second = len(names) == 2 and len(it.small) <= 5 and it.has("unsupported") and not it.has("not")
    if not is_known and not (is_second and it.has(names[1])):
        return False
    rule["outputs_used"] = [0]
    return True


def read_spatial_rank(it: Sentence, rule: Rule) -> bool:
    """Only 1D/2D Conv is supported, 2D or 3D pooling only"""
    if not it.has("only") or not it.has("conv", "pool", "pooling", "convolution", "convolutions"):
        return False
    known = "only 1d 2d 3d or and conv pool pooling convolution convolutions is are supported currently"
    ranks = it.ranks()
    return it.has_only(known) and bool(ranks) and add_shape(rule, 0, {"rank": [one + 2 for one in ranks]})


def add_shape(rule: Rule, of: int, more: Rule) -> bool:
    return add_to(rule.setdefault("shapes", {}), str(of), more)


def read_rank(it: Sentence, rule: Rule) -> bool:
    """Input must be 4D input, Input rank up to 5"""
    if not it.has("input", "inputs") or it.is_negated():
        return False
    most = number_of(it.small[-1])
    if it.has("rank") and it.has("up") and most is not None:
        return len(it.small) <= 6 and add_shape(rule, 0, {"rank": {"max": most}})
    if not it.has_only("input must should be a only is supported 1d 2d 3d 4d 5d or and tensor"):
        return False
    return bool(it.ranks()) and add_shape(rule, 0, {"rank": it.ranks()})


def read_static(it: Sentence, rule: Rule) -> bool:
    """`input` must have static dimensions"""
    if not it.has("static") or not it.has_only("must have static dimensions shape a input be"):
        return False
    inputs = it.inputs(it.small.index("must") if it.has("must") else len(it.small))
    return len(inputs) == 1 and add_shape(rule, inputs[0], {"static": True})


def read_unsupported(it: Sentence, rule: Rule) -> bool:
    """`sparse_value`, `value_string` attributes are unsupported. Only for attributes without a default: a node may state
    another one with its default value."""
    names = it.attributes()
    if not names or not it.has("unsupported", "not") or set(names) & it.operator.with_default:
        return False
    if not it.has_only("and attribute attributes are is not supported unsupported"):
        return False
    return add_to(rule, "attributes", {name: {"absent": True} for name in names})


def attribute_like(label: Sentence) -> str:
    """The attribute whose name shares most words with a label such as "nearest modes"."""
    best, best_score = "", 0
    for name in label.operator.attributes:
        score = sum(10 if label.has(part, part + "s") else -1 for part in name.split("_"))
        if score > best_score:
            best, best_score = name, score
    return best


def items_of(text: str) -> list[str]:
    """The items of `a, b and c`, of one or more words each."""
    parts = re.split(r"[,;/]|\s(?:and|or)(?=\s|$)|^\s*(?:and|or)\s", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def read_list(it: Sentence, rule: Rule) -> bool:
    """Supported resize modes: nearest, linear"""
    before, colon, after = it.text.partition(":")
    label = Sentence(before, it.operator)
    if not colon or not label.has("supported") or label.is_negated() or len(label.small) > 5:
        return False
    name = attribute_like(label)
    accepted: list[int | str] = []
    for item in items_of(after):
        words = Sentence(item, it.operator)
        if len(words.words) != 1 or words.is_negated():
            return False
        number = number_of(words.small[0])
        accepted.append(words.words[0] if number is None else number)
    return name != "" and bool(accepted) and add_to(rule, "attributes", {name: accepted})


def asked_values(text: str) -> dict[str, int | float]:
    """`Only support for transA == 0, alpha == 1.0 and beta == 1.0 is currently implemented`; empty for any other text."""
    found = re.fullmatch(r"Only support for (.*?) is (?:currently )?implemented", text)
    values: dict[str, int | float] = {}
    for item in items_of(found[1]) if found else []:
        pair = re.fullmatch(r"(\w+) == (-?\d+(?:\.\d+)?)", item)
        if not pair:
            return {}
        number = float(pair[2])
        values[pair[1]] = int(number) if number.is_integer() else number
    return values


READERS = [read_list, read_constants, read_quantization, read_types, read_only_mode, read_number,
           read_all_ones, read_outputs, read_spatial_rank, read_rank, read_static, read_unsupported]  # fmt: skip


def add_condition(text: str, operator: Operator, rule: Rule) -> bool:
    """Adds what the sentence asks to the rule; False when that cannot be told."""
    values = asked_values(text)
    if values and set(values) <= set(operator.attributes):
        return add_to(rule, "attributes", {name: [value] for name, value in values.items()})
    if not WORD.search(text) or len(text) > 1000 or has_strange_character(text):
        return False
    it = Sentence(text, operator)
    return any(read(it, rule) for read in READERS)


def asks_nothing(text: str, operator: Operator | None) -> bool:
    """A sentence that asks nothing of a node: what could be added, what the vendor ignores, where an operator comes from,
    what may be, and values of attributes that the operator does not have."""
    if text.lower() in ("-", "–", "—", "none", "n/a", "no restriction", "no restrictions", "no limitations"):
        return True
    if text.endswith("can be added if needed") or text.startswith(("Produced by ", "Decomposed into ")):
        return True
    small = [word.lower() for word in WORD.findall(text)]
    is_asked = bool(set(small) & (NEGATIONS | {"must", "should"}))
    if not is_asked and "only" not in small and " is ignored by " in text:
        return True
    if operator is None:
        return False
    if len(small) > 3 and small[1:3] == ["may", "be"] and operator.input_named(small[0]) is not None and not is_asked:
        return True
    values = asked_values(text)
    return bool(values) and not any(name in operator.attributes or operator.input_named(name) is not None for name in values)


def sentences_of(note: str, is_known: Any) -> list[str]:
    """Full stops end a sentence. A line break is a blank, and ends one only before a capital or a line that is known by
    itself, where the lines around it are not known as one sentence."""
    sentences: list[str] = []
    for stopped in re.split(r"\.(?=[ \n]|$)", note):
        lines = [one for line in stopped.split("\n") if (one := " ".join(line.split()).strip(". "))]
        while lines:
            ends = [n for n in range(1, len(lines)) if not lines[n][0].islower() or is_known(lines[n])] + [len(lines)]
            count = next((n for n in reversed(ends) if is_known(" ".join(lines[:n]))), ends[0])
            sentences.append(" ".join(lines[:count]))
            del lines[:count]
    return sentences


# ---- rows ----


def names_of(cell: str) -> tuple[list[str], str]:
    """`Conv`, `ai.onnx:Conv`, `com.microsoft::Gelu`, `Max, Min`, `Max / Min`; and what stands in brackets or with a star
    behind them."""
    before, bracket, after = re.sub(r"^\*(.*[^*])\*$", r"\1", cell).partition("(")
    note = after.strip().rstrip(")") if bracket else ""
    if "*" in before:
        note = f"{note}; footnote *" if note else "footnote *"
    names = re.findall(r"[^\s,/*)]+", before)
    # So many words are prose and not names of operators.
    return (names if len(names) <= 8 else []), note


def domain_and_op(name: str) -> tuple[str, str]:
    """`Conv` and `ai.onnx:Conv` have the domain "", as has `ai.onnx.Conv`, a slip of tables."""
    domain, _, op = name.rpartition(":")
    domain = domain.rstrip(":")
    return ("", op.removeprefix("ai.onnx.")) if domain in ("", "ai.onnx") else (domain, op)


@dataclass
class Import:
    """The rules, and what became of the rows. No note is dropped: what is no condition is `unchecked` in its rule."""

    rules: list[Rule] = field(default_factory=list)
    rows: int = 0
    unsupported_rows: int = 0
    sentences: int = 0
    conditions: int = 0
    remarks: int = 0
    unchecked: dict[str, list[str]] = field(default_factory=dict)  # the operators of each sentence
    renamed: list[str] = field(default_factory=list)  # "Argmax is ArgMax"
    unknown: list[str] = field(default_factory=list)  # names that ONNX does not have
    types: list[str] = field(default_factory=list)  # "INF64 (Conv)": words that name no type
    not_read: list[str] = field(default_factory=list)  # headings of columns
    not_understood: list[str] = field(default_factory=list)  # rows


class Importer:
    def __init__(self, text: str) -> None:
        self.made = Import()
        self.opsets = opsets_in_prose(text)

    def run(self, chosen: list[tuple[Table, Columns]]) -> Import:
        for self.table, self.columns in chosen:
            self.made.not_read += [self.table.headings[i] for i in self.columns.other]
            for row in self.table.rows:
                self.read_row(row)
        return self.made

    def read_row(self, row: Row) -> None:
        cell = self.table.cell(row, self.columns.op)
        names, bracket = names_of(cell)
        if not any(row.cells):
            return None
        self.made.rows += 1
        if not names:
            return self.leave_out(row, f'"{cell}" names no operator')
        is_yes, note = True, ""
        if self.columns.supported:
            said = self.table.cell(row, self.columns.supported[0])
            is_yes, note = verdict_of(said)
            if is_yes is None:
                return self.leave_out(row, f'{cell}: "{said}" is neither yes nor no')
        else:
            # A column that is not read may be the one that says no.
            for i in self.columns.other:
                if verdict_of(said := self.table.cell(row, i))[0] is False:
                    return self.leave_out(row, f'{cell}: "{said}" below "{self.table.headings[i]}", which is not read')
        if is_yes and not any(says_no_in_words(self.table.cell(row, i)) for i in self.columns.notes):
            for name in names:
                self.add_rules(name, row, [note, bracket])
        else:
            self.made.unsupported_rows += 1

    def leave_out(self, row: Row, why: str) -> None:
        self.made.not_understood.append(f"line {row.line}: {why}")

    def add_rules(self, name: str, row: Row, notes: list[str]) -> None:
        domain, op = domain_and_op(name)
        if not op:
            return self.leave_out(row, f'"{name}" names no operator')
        op, operator = self.look_up(domain, op)
        opset_cell = self.table.cell(row, self.columns.opset)
        heading = self.table.headings[self.columns.opset] if self.columns.opset is not None else ""
        opsets = opsets_of(opset_cell, operator, heading)
        if opsets is None:
            return self.leave_out(row, f'{name}: "{opset_cell}" is no range of opsets')
        if not opsets:
            self.made.unsupported_rows += 1
            return None
        if opsets == [(1, OPEN)] and self.opsets and not domain:
            opsets = [self.opsets]
        rule: Rule = {"op": op}
        if domain:
            rule["domain"] = domain
        self.add_row_types(self.table.cell(row, self.columns.types), operator, rule)
        self.add_notes(row, notes, operator, rule)
        for opset in opsets:
            stated = {} if opset == (1, OPEN) else {"opset": list(opset)}
            self.made.rules.append(in_field_order(rule | stated))

    def look_up(self, domain: str, op: str) -> tuple[str, Operator | None]:
        """The operator's name as ONNX spells it."""
        if domain not in ("", "ai.onnx.ml"):
            return op, None
        prefix = f"{domain}:" if domain else ""
        known = names_in_small_letters().get((prefix + op).lower())
        if known is None:
            add_once(self.made.unknown, op)
            return op, None
        spelled = known.removeprefix(prefix)
        if spelled != op:
            add_once(self.made.renamed, f"{op} is {spelled}")
        return spelled, operators()[known]

    def add_row_types(self, cell: str, operator: Operator | None, rule: Rule) -> None:
        types: set[str] = set()
        for word in re.findall(r"\w+", cell, re.ASCII):
            if known := TYPE_WORDS.get(word.lower()):
                types.add(known)
            else:
                add_once(self.made.types, f"{word} ({rule['op']})")
        if not (types and add_types(types, operator, rule)) and cell:
            self.add_unchecked(f"types: {cell}", rule)

    def add_notes(self, row: Row, notes: list[str], operator: Operator | None, rule: Rule) -> None:
        def is_known(text: str) -> bool:
            return asks_nothing(text, operator) or (operator is not None and add_condition(text, operator, {}))

        whys = []
        for note in [*notes, *(self.table.lines_of(row, i) for i in self.columns.notes)]:
            sentences = sentences_of(note, is_known)
            whys.append("; ".join(sentences) if "\n" in note else note.strip())
            for sentence in sentences:
                self.add_sentence(sentence, operator, rule)
        if why := "; ".join(one for one in whys if one):
            rule["why"] = why

    def add_sentence(self, text: str, operator: Operator | None, rule: Rule) -> None:
        self.made.sentences += 1
        if operator is not None and add_condition(text, operator, rule):
            self.made.conditions += 1
        elif asks_nothing(text, operator):
            self.made.remarks += 1
        else:
            self.add_unchecked(text, rule)

    def add_unchecked(self, text: str, rule: Rule) -> None:
        rule["unchecked"] = f"{rule['unchecked']}; {text}" if "unchecked" in rule else text
        add_once(self.made.unchecked.setdefault(text, []), rule["op"])


def add_once(to: list[str], text: str) -> None:
    if text not in to:
        to.append(text)


FIELDS = ["op", "domain", "opset", "inputs", "outputs", "attributes", "shapes", "constant", "values", "outputs_used",
          "where", "why", "unchecked"]  # fmt: skip


def in_field_order(rule: Rule) -> Rule:
    return {key: rule[key] for key in FIELDS if key in rule}


# ---- what is written ----


def list_text(name: str, source: str, rules: list[Rule], deny: Sequence[Rule] = (), **more: Any) -> str:
    head = {"format": "cleave.support", "version": 1, "name": name, "source": source, **more}
    fields = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    for key, entries in (("allow", rules), ("deny", deny)):
        if entries or key == "allow":
            lines = ",\n  ".join(json.dumps(rule, ensure_ascii=False) for rule in entries)
            fields.append(f' "{key}": [\n  {lines}\n ]')
    return "{\n" + ",\n".join(fields) + "\n}\n"


def report_text(made: Import) -> str:
    def counted(number: int, what: str) -> str:
        return f"{number} {what}{'' if number == 1 else 's'}"

    text = f"{counted(len(made.rules), 'rule')} from {counted(made.rows, 'row')}"
    if made.unsupported_rows:
        text += f", {made.unsupported_rows} of which say that it is not supported"
    text += "\n"
    if made.sentences:
        left = made.sentences - made.conditions - made.remarks
        text += f"{counted(made.sentences, 'sentence')} of notes: {made.conditions} became conditions, {left} are unchecked"
        text += f", {made.remarks} ask nothing\n" if made.remarks else "\n"
    for sentence, ops in made.unchecked.items():
        text += f"  {sentence} ({len(ops)} operators)\n" if len(ops) > 4 else f"  {', '.join(ops)}: {sentence}\n"
    if made.not_understood:
        text += "rows not understood, which make no rule:\n" + "".join(f"  {row}\n" for row in made.not_understood)
    for label, names in (("by ONNX's names", made.renamed), ("names that ONNX does not have", made.unknown),
                         ("types that are not known", made.types),
                         ("columns that were not read", list(dict.fromkeys(made.not_read)))):  # fmt: skip
        if names:
            text += f"{label}: {', '.join(names)}\n"
    return text


def import_text(text: str, ending: str = ".md", section: str = "") -> Import:
    """What the tables of the text say; raises CannotImport."""
    made = Importer(text).run(choose(tables_of(text, ending), section))
    if not made.rows:
        raise CannotImport("no row with an operator")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("table", type=Path, metavar="TABLE")
    parser.add_argument("-o", "--output", type=Path, metavar="LIST", help="without it the list is printed")
    parser.add_argument("--name", help="of the list; without it that of the file")
    parser.add_argument("--section", default="", metavar="TEXT",
                        help="of several accelerators' tables or columns, those whose heading has the text")  # fmt: skip
    options = parser.parse_args()
    try:
        made = import_text(options.table.read_text(encoding="utf-8-sig"), options.table.suffix.lower(), options.section)
    except (OSError, UnicodeDecodeError, CannotImport) as error:
        print(f"{options.table}: {error}", file=sys.stderr)
        sys.exit(3)
    if not made.rules:
        print(f"{options.table}: no row makes a rule: {report_text(made)}", end="", file=sys.stderr)
        sys.exit(3)
    text = list_text(options.name or options.table.stem, str(options.table), made.rules)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    print(report_text(made), end="", file=sys.stdout if options.output else sys.stderr)


if __name__ == "__main__":
    main()
