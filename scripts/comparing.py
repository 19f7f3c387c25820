"""Compares values that two runs made, whatever runtime made them. It needs numpy.

What is compared is the content of a value: of a tensor ("tensor(float)", its shape, its bytes); of a sequence a list of
contents; of anything else the value as Python has it. A content that is the same is the same bit for bit, NaN with NaN.
"""

from dataclasses import dataclass
from zipfile import ZipFile

import numpy as np

from guard import CannotRun, inputs_of_run, listed, new_file
from reports import DIFFERS, NOT_RUN

# ONNX Runtime's names of element types, for the types that numpy has.
NUMPY_TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bool": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
}
READ_TYPES = {**NUMPY_TYPES, "complex64": np.complex64, "complex128": np.complex128}


def content_of_array(array):
    """Of a numpy array of numbers."""
    kind = {"float32": "float", "float64": "double"}.get(array.dtype.name, array.dtype.name)
    return f"tensor({kind})", array.shape, array.tobytes()


def is_tensor(content):
    return isinstance(content, tuple) and len(content) == 3


def array_of(content):
    """The numbers of a tensor as numpy has them; None for types that it has not, and for what is no tensor."""
    if not is_tensor(content) or not isinstance(content[2], bytes):
        return None
    name = content[0][len("tensor(") : -1]
    if name == "bfloat16":
        wide = np.frombuffer(content[2], np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).reshape(content[1])
    return np.frombuffer(content[2], READ_TYPES[name]).reshape(content[1]) if name in READ_TYPES else None


def arrays_of(content):
    """Of the tensors of a content: those that array_of() has."""
    if isinstance(content, list):
        return [array for item in content for array in arrays_of(item)]
    array = array_of(content)
    return [] if array is None else [array]


def leaves_of(content):
    return [leaf for item in content for leaf in leaves_of(item)] if isinstance(content, list) else [content]


def type_text(content):
    """float[2, 3]"""
    if isinstance(content, list):
        return f"a sequence of {len(content)}"
    if not is_tensor(content):
        return type(content).__name__
    return f"{content[0][len('tensor(') : -1]}{list(content[1])}"


@dataclass(frozen=True)
class Tolerance:
    """How far two numbers may be apart: at most atol + rtol * |the original's|; whole numbers at most atol. `rounding`: of a
    device, of numbers near 1. Then atol is that share of the largest number where that is below 1, but no less than the
    rounding, and an output of which all is within atol of 0 is not tested: zeros would pass."""

    rtol: float = 0.0
    atol: float = 0.0
    rounding: float | None = None

    def of(self, wanted):
        """(rtol, atol) for this array."""
        if wanted.dtype.kind not in "fc":
            return 0.0, np.floor(self.atol)
        if self.rounding is None:
            return self.rtol, self.atol
        return self.rtol, min(self.atol, max(self.atol * largest_of(wanted), self.rounding))

    def is_tested(self, content):
        if self.rounding is None:
            return True
        arrays = arrays_of(content)
        return not arrays or any(one.dtype.kind not in "fc" or largest_of(one) > self.of(one)[1] for one in arrays)

    def text(self):
        return f"rtol {self.rtol:g}, atol {self.atol:g}" + (" of the largest number" if self.rounding else "")


EXACT = Tolerance()


def chosen(options, otherwise=EXACT):
    """The tolerance of a command line; `otherwise` where it has none."""
    if not options.tolerance:
        return otherwise
    return Tolerance(**options.tolerance, rounding=otherwise.rounding if otherwise else None)


def wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def largest_of(array):
    return float(np.max(np.abs(wide(array)), initial=0.0, where=np.isfinite(array)))


@dataclass
class Gap:
    """How two contents differ. `largest`: None where no number says it."""

    is_allowed: bool
    text: str
    largest: float | None = None


def gap(wanted, made, tolerance=EXACT):
    """The Gap of two contents that are not the same."""
    ours, theirs = arrays_of(wanted), arrays_of(made)
    if type_text(wanted) != type_text(made) or [(a.dtype, a.shape) for a in ours] != [(a.dtype, a.shape) for a in theirs]:
        return Gap(False, f"{type_text(made)}, and must be {type_text(wanted)}")
    if not ours or len(ours) < len(leaves_of(wanted)):
        return Gap(False, "another value")
    beyond = count = 0
    most = size = 0.0
    for a, b in zip(ours, theirs):
        rtol, atol = tolerance.of(a)
        a, b = wide(a), wide(b)
        with np.errstate(invalid="ignore"):
            apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        apart = np.where(np.isnan(apart), np.inf, apart)
        with np.errstate(invalid="ignore"):
            bound = atol + rtol * np.where(np.isfinite(a), np.abs(a), 0.0)
        beyond += int((apart > bound).sum())
        count += int((apart != 0).sum())
        most, size = max(most, float(apart.max(initial=0.0))), max(size, largest_of(a))
    total = sum(one.size for one in ours)
    if not count:
        return Gap(tolerance != EXACT, "differs in its bits alone: zeros of another sign, or other NaN", 0.0)
    text = f"{count} of {total} numbers differ, by {most:.3g} at most; the largest is {size:.3g}"
    if beyond and tolerance != EXACT:
        text += f"; {beyond} are beyond {tolerance.text()}"
    return Gap(tolerance != EXACT and beyond == 0, text, most)


def compare(row, wanted, made, tolerance=EXACT, is_random=lambda name: False):
    """Fills in the row: contents by the name of the output. `made` need not hold every output."""
    names = [name for name in wanted if name in made]
    equal, most = 0, [0.0]
    for name in names:
        is_tested = tolerance.is_tested(wanted[name])
        if not is_tested:
            row.untested.append(name)
        if wanted[name] == made[name]:
            equal += 1
            continue
        if is_random(name):
            row.random.append(name)
            row.remarks.append(f'output "{name}" is random: not compared')
            continue
        found = gap(wanted[name], made[name], tolerance)
        most.append(found.largest)
        if found.is_allowed:
            equal += 1
            row.how = f"within {tolerance.text()}"
            row.remarks.append(f'output "{name}": {found.text}')
        else:
            row.fault(DIFFERS, f'output "{name}": {found.text}')
    row.compared = len(names) - len(row.random)
    row.equal = f"{equal} of {row.compared}"
    row.largest = "?" if None in most else f"{max(most):.3g}" if row.compared else ""
    if row.untested and len(row.untested) == row.compared and not row.faults:
        row.fault(NOT_RUN, f"no output was tested: all of {listed(row.untested)} is within the tolerance of 0: give inputs of which the "
                  "model makes larger numbers (--inputs)")  # fmt: skip


def write_outputs(options, contents):
    """Writes --outputs: a .npz file of the arrays by the names of the outputs, items of a sequence as NAME.0, NAME.1."""
    arrays = {}
    for name, content in contents.items():
        items = {f"{name}.{i}": one for i, one in enumerate(content)} if isinstance(content, list) else {name: content}
        for own, one in items.items():
            is_text = is_tensor(one) and not isinstance(one[2], bytes)
            array = np.array(one[2], dtype=np.str_).reshape(one[1]) if is_text else array_of(one)
            if array is None:
                raise CannotRun(f'output "{own}" is {type_text(one)}, which a .npz file cannot hold: leave --outputs out')
            arrays[own] = array
    with new_file(options.outputs, options.force, inputs_of_run(options)) as out, ZipFile(out, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as one:
                np.lib.format.write_array(one, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
