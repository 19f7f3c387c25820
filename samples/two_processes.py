#!/usr/bin/env python3
"""Trains a model in two processes, a stage in each, and compares the gradients with those of one process.

usage: two_processes.py        needs torch 2.9 and cleave's wheel

The model is exported for one microbatch; `cleave.stage` cuts it in two. Each process loads one stage, and torch's own
schedule sends what crosses.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

import cleave

MICROBATCHES = 4


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def data():
    torch.manual_seed(1)
    return torch.randn(8, 8), torch.randn(8, 4)


def loss(output, target):
    # A stage returns a tuple. To learn shapes, torch calls this with the tensor in it.
    return nn.functional.mse_loss(output[0] if isinstance(output, tuple) else output, target)


def train(rank, folder, files):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=len(files))
    stage = PipelineStage(torch.export.load(files[rank]).module(), rank, len(files), torch.device("cpu"))
    schedule = ScheduleGPipe(stage, MICROBATCHES, loss_fn=loss)
    x, target = data()
    schedule.step(*([x] if rank == 0 else []), **({"target": target} if rank == len(files) - 1 else {}))

    whole = model()
    for part_x, part_target in zip(x.chunk(MICROBATCHES), target.chunk(MICROBATCHES)):
        (loss(whole(part_x), part_target) / MICROBATCHES).backward()
    wanted = dict(whole.named_parameters())  # a stage's parameters have the names that they have in the model
    made = dict(stage.submod.named_parameters())
    equal = all(torch.allclose(made[name].grad, wanted[name].grad) for name in made)
    print(f"rank {rank}: {len(made)} gradients {'are equal' if made and equal else 'DIFFER'}", flush=True)
    dist.destroy_process_group()
    sys.exit(0 if made and equal else 1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        x, _ = data()
        program = torch.export.export(model(), (x.chunk(MICROBATCHES)[0],))
        stages = cleave.stage(program, 2, output=Path(folder) / "stages")
        files = [f"{folder}/stages/{stage.file}" for stage in stages.stages]
        torch.multiprocessing.spawn(train, args=(folder, files), nprocs=len(files))


if __name__ == "__main__":
    main()
