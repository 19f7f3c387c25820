"""What `cleave run` and `cleave verify` say, whatever runtime ran: rows of what was run, what is wrong with them, and the
conclusion, which comes first. It needs no package.

    row = Row("root.onnx", source="root.onnx")
    row.fault(DIFFERS, 'output "y": 3 of 10 numbers differ, by 0.1 at most')
    Report([row], outputs=1).lines()
"""

from dataclasses import asdict, dataclass, field

from guard import counted, listed, shown

# Kinds of faults, the worst first.
DIFFERS, MANIFEST, INVALID, NOT_RUN = "differs", "not as the manifest says", "not valid", "not run"
KINDS = (DIFFERS, MANIFEST, INVALID, NOT_RUN)
COLUMNS = {"what": "what", "on": "on", "checker": "checker", "ran": "ran", "equal": "equal", "largest": "largest difference",
           "time": "time"}  # fmt: skip
RIGHT = ("largest", "time")


@dataclass
class Row:
    """A file or a chain that was run. `source`: what the conclusion calls it, where its outputs are compared."""

    what: str
    source: str = ""
    on: str = ""
    checker: str = ""
    ran: str = ""
    equal: str = ""
    largest: str = ""
    time: str = ""
    compared: int = 0
    how: str = ""  # how the outputs agree, where they are not the same bits
    random: list = field(default_factory=list)  # outputs that are not compared
    untested: list = field(default_factory=list)  # and those that zeros would pass
    faults: list = field(default_factory=list)  # pairs of a kind and a text
    remarks: list = field(default_factory=list)

    def fault(self, kind, text):
        self.faults.append((kind, text))


@dataclass
class Report:
    rows: list
    outputs: int = 0  # of the model
    ran: str = ""  # what `run` says it ran; "" where the purpose is to compare
    calls: int = 1
    each: str = "call"  # or "step"
    why_alone: str = ""  # why it is compared with nothing
    facts: list = field(default_factory=list)  # pairs of a name and a text
    notes: list = field(default_factory=list)
    asked: int = 0  # calls that were asked for, where fewer were made

    @staticmethod
    def of(content):
        """From what asdict() made of one."""
        return Report(**{**content, "rows": [Row(**row) for row in content["rows"]]})

    def content(self):
        return asdict(self)

    def all_faults(self):
        return [(kind, row.what, text) for row in self.rows for kind, text in row.faults]

    @property
    def passed(self):
        return not self.all_faults()

    @property
    def status(self):
        return 0 if self.passed else 1

    def conclusion(self):
        if not self.passed:
            kind = min((kind for kind, *_ in self.all_faults()), key=KINDS.index)
            wrong = list(dict.fromkeys(what for own, what, _ in self.all_faults() if own == kind))
            return f"{kind}: {joined(wrong if len(wrong) < 4 else [*wrong[:3], f'{len(wrong) - 3} more'])}"
        sources = [row for row in self.rows if row.source]
        random = sorted({name for row in sources for name in row.random})
        untested = sorted({name for row in sources for name in row.untested})
        left_out = []
        for names, why in ((random, "random"), (untested, "all within the tolerance of 0")):
            if names:
                left_out.append(f"not compared: {counted(len(names), 'output')} of {self.outputs}, {why}: {listed(names)}")
        left_out += [f"NOT RUN: {row.source}" for row in sources if row.ran == "no"]
        ways: dict[str, list[str]] = {}  # by how exact
        for row in sources:
            if row.ran != "no" and row.source not in ways.setdefault(row.how or "bit for bit", []):
                ways[row.how or "bit for bit"].append(row.source)
        compared = self.outputs - len(random) - len(untested)
        calls = f", {counted(self.calls, self.each)}" if self.calls > 1 else ""
        if self.asked:
            calls = f", {self.calls} of {counted(self.asked, self.each)}"
        ran = f"{self.ran}{calls}"
        if self.ran and not sources:
            return f"not compared: {self.why_alone}; {ran}"
        how = "; ".join(f"{how}, from {joined(names)}" for how, names in ways.items())
        what = f"equal: {counted(compared, 'output')}, {how}" if compared else "nothing was compared: no output is left"
        text = "; ".join([*left_out, what])  # what was not compared comes first
        return f"{ran}; {text}" if self.ran else f"{text}{calls}"

    def lines(self):
        """Lines for a terminal, without its orders."""
        facts = [[shown(name), shown(text)] for name, text in self.facts]
        named = [column for column in COLUMNS if any(getattr(row, column) for row in self.rows)]
        table = [[COLUMNS[column] for column in named]] if self.rows else []
        table += [[shown(getattr(row, column)) or "-" for column in named] for row in self.rows]
        faults = [f"fault: {what}: {text}" for _, what, text in self.all_faults()]
        marked = [f"note: {row.what}: {text}" for row in self.rows for text in row.remarks]
        marked += [f"note: {text}" for text in self.notes]
        blocks = [faults, aligned(facts), aligned(table, {named.index(one) for one in RIGHT if one in named}), marked]
        lines = [self.conclusion()]
        for block in blocks:
            lines += ["", *block] if block else []
        return [shown(line) for line in lines]


def joined(names):
    """a, b and c"""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def aligned(rows, right=()):
    """Rows of texts as lines; `right`: numbers of columns that end at the same place."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.rjust(width) if i in right else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]  # fmt: skip


def size_text(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def time_text(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
