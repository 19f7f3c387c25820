#!/usr/bin/env python3
"""Tests cleave.torch: a module is split in one call, and the split computes the same bits.

usage: torch_module_test.py PROJECT_FOLDER CLEAVE      exit status 1 when a test fails, 77 without torch
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

if len(sys.argv) != 3:
    sys.exit(__doc__)
PROJECT = Path(sys.argv[1]).resolve()
os.environ["CLEAVE_PROGRAM"] = os.path.abspath(sys.argv[2])
sys.path.insert(0, str(PROJECT / "scripts" / "python"))
try:
    import torch
except ImportError:
    print("skipped: needs torch")
    sys.exit(77)

import cleave.torch

LIST = {"format": "cleave.support", "version": 1, "name": "npu", "allow": ["aten.linear", "aten.relu"]}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

    def forward(self, x, scale=None):
        hidden = torch.relu(self.first(x))
        return {"logits": self.last(torch.sort(hidden).values * scale), "hidden": hidden}


def check_module():
    model, x, scale = Net().eval(), torch.randn(3, 4), torch.tensor(2.0)
    split = cleave.torch.split(model, (x,), {"scale": scale}, support=LIST)
    names = [name for name, _ in split.named_children()]
    assert names == ["_run_on_acc_0", "_run_on_cpu_1", "_run_on_acc_2"], names
    assert [part.name for part in split.report.partitions] == names
    made, wanted = split(x, scale=scale), model(x, scale=scale)
    assert list(made) == ["logits", "hidden"] and all(torch.equal(made[key], wanted[key]) for key in wanted)
    try:
        split(x)
    except TypeError as error:
        assert "exported for other arguments" in str(error)
    else:
        raise AssertionError("it takes other arguments")
    part = split.get_submodule("_run_on_acc_2")
    assert isinstance(part, torch.nn.Module)


def check_program_and_folder():
    program = torch.export.export(Net().eval(), (torch.randn(3, 4),), {"scale": torch.tensor(1.0)})
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("inline", "external"):
            out = Path(folder) / weights
            cleave.torch.split(program, support=LIST, output=out, weights=weights)
            assert (out / "_run_on_acc_0.pt2").is_file()
            done = subprocess.run([sys.executable, "-m", "cleave", "run", str(out)], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(PROJECT / "scripts/python")}, check=False)  # fmt: skip
            assert done.returncode == 0 and "; equal: 2 outputs, bit for bit" in done.stdout, done.stdout + done.stderr
        done = subprocess.run([sys.executable, "-m", "cleave.torch", "walk"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PROJECT / "scripts/python")}, check=False)  # fmt: skip
        assert done.returncode == 1 and "apply|export|capture" in done.stderr, done.stderr


class Stacked(torch.nn.Module):
    """Each layer's cache is a view of one buffer, which is read after all of them were written."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.register_buffer("stack", torch.zeros(3, 2, 4))
        for i in range(3):
            self.register_buffer(f"cache{i}", self.stack[i])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            getattr(self, f"cache{i}").mul_(0.5).add_(x)
        return x, self.stack.sum()


def check_views_of_one_buffer():
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(torch.export.export(Stacked().eval().requires_grad_(False), (torch.randn(2, 4),)), f"{folder}/stacked.pt2")
        whole = torch.export.load(f"{folder}/stacked.pt2").module()
        split = cleave.torch.split(torch.export.load(f"{folder}/stacked.pt2"), support=LIST)
        assert len(split.report.partitions) > 1
        for _ in range(3):
            x = torch.randn(2, 4)
            with torch.no_grad():
                made, wanted = split(x), whole(x)
            assert all(torch.equal(a, b) for a, b in zip(made, wanted)), (made, wanted)


class TwoNames(torch.nn.Module):
    """A buffer that is a plain attribute, too, which the program writes, or only reads."""

    def __init__(self, is_written):
        super().__init__()
        self.register_buffer("sum", torch.zeros(4, 8))
        self.same = self.sum
        self.is_written = is_written

    def forward(self, x):
        y = x + self.same
        if self.is_written:
            torch.atleast_1d(self.sum).add_(x)
        return y, self.same * 2, self.sum.clone()


def check_one_tensor_of_two_names():
    x, listed = torch.randn(4, 8), {**LIST, "allow": ["aten.add", "aten.mul"]}
    program = torch.export.export(TwoNames(True), (x,))
    with tempfile.TemporaryDirectory() as folder:
        support = Path(folder) / "list.txt"
        support.write_text("torch.ops.aten.mul.Tensor\n", encoding="utf-8")
        for refused, names in (
            (lambda: cleave.torch.split(TwoNames(True), (x,), support=listed), '"sum" and "same" are one tensor'),
            (lambda: cleave.torch.split(program, support=listed), "are one tensor, which the program writes"),
            (lambda: cleave.split(program, support, Path(folder) / "out"), '"sum" and "lifted_tensor_0"'),
        ):
            try:
                refused()
            except ValueError as error:
                assert names in str(error), error
            else:
                raise AssertionError(f"it is split, although {names}")
        cleave.split(torch.export.export(TwoNames(False), (x,)), support, Path(folder) / "out")
    made, wanted = cleave.torch.split(TwoNames(False), (x,), support=listed)(x), TwoNames(False)(x)
    assert all(map(torch.equal, made, wanted))


class TwoAttributes(torch.nn.Module):
    """Plain attributes that are one tensor, and a view of it; the archive keeps that."""

    def __init__(self):
        super().__init__()
        self.one = torch.ones(4, 8)
        self.two, self.upper = self.one, self.one[:2]

    def forward(self, x):
        y = x * self.one
        self.two.add_(x)
        self.upper.add_(1)
        return y, self.one * 2, self.upper * 2


def check_two_attributes():
    x = torch.randn(4, 8)
    whole = torch.export.export(TwoAttributes(), (x,)).module()
    split = cleave.torch.split(TwoAttributes(), (x,), support={**LIST, "allow": ["aten.mul"]})
    for _ in range(2):
        made, wanted = split(x), whole(x)
        assert all(map(torch.equal, made, wanted)), (made, wanted)


check_one_tensor_of_two_names()
check_two_attributes()
check_module()
check_program_and_folder()
check_views_of_one_buffer()
print("passed   a module is split in one call, a program too, and commands run")
