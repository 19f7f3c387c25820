#!/usr/bin/env python3
"""Writes formats/pt2/operators.inc, the table of torch's operators, from the schemas of the installed
torch. Run it once for a release of torch; it takes some minutes, since it also calls the operators.

One line per operator: its name, its arguments, its results, and "r" if it draws random numbers.

    aten.add_.Tensor self!a,other,alpha=1 a
         argument `self` is written (!) and shares memory with results of set `a`; `alpha` has a
         default; the one result is of set `a`
    aten.view.default self:a,size a
         the result is a view (:) of `self`
    aten.dropout.default input?,p,train - r
         the result may be a view (?) of `input`, although the schema does not say so: that was seen in a call

Calls are made with the samples of torch's own operator database, and with arguments made up by type, in four types of
elements, each operator in a process of its own, since some end it. Needs expecttest, which that database imports.

Defaults: none, true, false, numbers (reals with a point), 'text', [1;1].

usage: torch_operators.py [FILE]      default: formats/pt2/operators.inc
"""
import contextlib
import itertools
import logging
import os
import random
import signal
import sys
import warnings
from pathlib import Path

import torch

SPACES = ("aten", "prims", "quantized", "quantized_decomposed", "torchvision", "_c10d_functional")
HEAD = """// Torch's operators, made by scripts/dev/torch_operators.py from torch {version}: do not edit.
"""
DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)
SHAPES = ((3,), (2, 3), (2, 2), (1, 2, 4), (1, 4, 4, 4), (1,), (), (2, 1, 3), (1, 2, 4, 4, 4), (0,))
CALLS = 150  # with made up arguments, of each type of elements
SECONDS = 20  # of one operator
# Operators that end other processes, or wait for them.
UNCALLED = ("_c10d_functional", "quantized")


def default_text(value):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if any(c in text for c in ".en") else text + ".0"
    if isinstance(value, (list, tuple)):
        items = [default_text(item) for item in value]
        return None if None in items else "[" + ";".join(items) + "]"
    text = str(value)
    return f"'{text}'" if text and all(c.isalnum() or c in "_-." for c in text) else None


def alias_text(info):
    return "".join(sorted(name.split("::")[-1] for name in info.before_set)) or "*"


def argument_text(argument, is_seen):
    text = argument.name
    if argument.alias_info is not None:
        text += ("!" if argument.alias_info.is_write else ":") + alias_text(argument.alias_info)
    elif is_seen:
        text += "?"
    if argument.has_default_value():
        default = default_text(argument.default_value)
        if default is not None:
            text += "=" + default
    return text


def operator_of(schema):
    """The callable of the schema; None for what torch.ops does not have."""
    space, _, base = schema.name.partition("::")
    if space not in SPACES:
        return None
    try:
        return getattr(getattr(getattr(torch.ops, space), base), schema.overload_name or "default")
    except (AttributeError, RuntimeError):
        return None


def line_of(schema, operator, seen):
    """`seen`: names of arguments that results were seen to share memory with."""
    space, _, base = schema.name.partition("::")
    overload = schema.overload_name or "default"
    arguments = ",".join(argument_text(a, a.name in seen) for a in schema.arguments) or "-"
    results = ",".join("-" if r.alias_info is None else alias_text(r.alias_info)
                       for r in schema.returns) or "0"
    is_random = torch.Tag.nondeterministic_seeded in operator.tags
    return f"{space}.{base}.{overload} {arguments} {results}" + (" r" if is_random else "")


def storages(value):
    """The storages of the tensors in an argument or a result."""
    if isinstance(value, torch.Tensor):
        with contextlib.suppress(Exception):  # of other layouts
            if value.untyped_storage().data_ptr() != 0:
                yield value.untyped_storage().data_ptr()
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from storages(item)


def shared_arguments(schema, operator, args, kwargs):
    """The names of arguments that results share memory with in this call, where the schema does not state it. Raises what the
    operator raises."""
    named = {argument.name: value for argument, value in zip(schema.arguments, args)} | kwargs
    held = {name: set(storages(value)) for name, value in named.items()}  # some operators change it
    result = operator(*args, **kwargs)
    made = set(storages(result))
    stated = {a.name for a in schema.arguments if a.alias_info is not None}
    return {name for name, kept in held.items() if name not in stated and kept & made}


def tensor(chosen, dtype):
    shape = chosen.choice(SHAPES)
    if chosen.random() < 0.1:
        dtype = chosen.choice((torch.int64, torch.bool, torch.float32))
    return torch.ones(shape, dtype=dtype) if chosen.random() < 0.3 else torch.testing.make_tensor(
        shape, dtype=dtype, device="cpu", low=0, high=2)


def made_up(type_text, chosen, dtype):
    """A value of that type of a schema. Raises KeyError for types that have none."""
    if type_text.startswith("Optional["):
        return None if chosen.random() < 0.5 else made_up(type_text[9:-1], chosen, dtype)
    if type_text.startswith("List["):
        return [made_up(type_text[5:-1], chosen, dtype) for _ in range(chosen.choice((0, 1, 1, 1, 2, 2, 3)))]
    choices = {
        "Tensor": lambda: tensor(chosen, dtype), "bool": lambda: chosen.random() < 0.5,
        "int": lambda: chosen.choice((0, 0, 1, 1, 2, 3, -1)), "float": lambda: chosen.choice((0.0, 0.5, 1.0)),
        "number": lambda: chosen.choice((0, 1, 1.0)), "str": lambda: chosen.choice(("mean", "constant", "ij", "valid")),
        "Device": lambda: torch.device("cpu"), "ScalarType": lambda: dtype, "Layout": lambda: torch.strided,
        "MemoryFormat": lambda: torch.contiguous_format,
    }
    return choices[type_text]()


def made_calls(schema, chosen, dtype):
    for _ in range(CALLS):
        args, kwargs = [], {}
        for argument in schema.arguments:
            if argument.has_default_value() and chosen.random() < 0.5:
                value = argument.default_value
            else:
                value = made_up(str(argument.real_type).replace("SymInt", "int"), chosen, dtype)
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        yield args, kwargs


def sampled_calls(samples, dtype):
    for info in samples:
        if dtype in info.dtypes:
            for sample in itertools.islice(info.sample_inputs("cpu", dtype), 40):
                yield [sample.input, *sample.args], sample.kwargs


def seen_in_calls(schema, operator, samples):
    """The names of shared_arguments(), as they are seen."""
    for dtype in DTYPES:
        chosen = random.Random(str(dtype))
        for calls in (sampled_calls(samples, dtype), made_calls(schema, chosen, dtype)):
            with contextlib.suppress(Exception):  # of the generator: types that have no values, samples that want a GPU
                for args, kwargs in calls:
                    with contextlib.suppress(Exception), torch.no_grad():
                        yield from shared_arguments(schema, operator, args, kwargs)


def in_own_process(schema, operator, samples):
    """The set of seen_in_calls(), and whether the process came to its end."""
    seen = set()
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for name in seen_in_calls(schema, operator, samples):
            if name not in seen:
                seen.add(name)
                os.write(sink, f"{name}\n".encode())
        os._exit(0)
    os.close(sink)
    with open(source, encoding="utf-8") as read:
        seen = set(read.read().split())
    return seen, os.waitpid(child, 0)[1] == 0


def samples_by_name():
    from torch.testing._internal.common_methods_invocations import op_db

    found = {}
    for info in op_db:
        for name in {info.name.rpartition(".")[2], info.aten_name, *(alias.name for alias in info.aliases)}:
            found.setdefault(name, []).append(info)
    return found


def is_called(schema):
    """Whether the operator takes and makes tensors, and a result has no stated set."""
    space, _, base = schema.name.partition("::")
    takes = any("Tensor" in str(a.type) and a.alias_info is None for a in schema.arguments)
    makes = any("Tensor" in str(r.type) and r.alias_info is None for r in schema.returns)
    return space not in UNCALLED and takes and makes


def main():
    default = Path(__file__).resolve().parents[2] / "formats" / "pt2" / "operators.inc"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    samples = samples_by_name()
    lines, views, ended = set(), 0, []
    for schema in torch._C._jit_get_all_schemas():
        operator = operator_of(schema)
        if operator is None:
            continue
        seen = set()
        if is_called(schema):
            seen, is_whole = in_own_process(schema, operator, samples.get(schema.name.partition("::")[2], []))
            ended += [] if is_whole else [schema.name]
            views += bool(seen)
        lines.add(line_of(schema, operator, seen))
    with path.open("w", encoding="utf-8") as out:
        out.write(HEAD.format(version=torch.__version__.partition("+")[0]))
        for line in sorted(lines, key=lambda text: text.split(" ")[0]):
            out.write(f'"{line}"sv,\n')
    print(f"{len(lines)} operators in {path}, {views} whose results may be views, unstated; not called to the end: {ended}")


if __name__ == "__main__":
    main()
