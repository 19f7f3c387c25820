#!/usr/bin/env python3
"""torch's pipeline runtime loads the schedules that cleave writes, and runs them, a process for each rank: the
gradients are those of the unsplit module.

usage: schedule_test.py ROOT_OF_THE_PROJECT CLEAVE
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

root, cleave = Path(sys.argv[1]), sys.argv[2]
sys.path[:0] = [str(root / "scripts"), str(Path(__file__).parent)]
import torch
import torch.distributed as dist
from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import PipelineStage

import apply_fx
import export_fx

WIDTH, STAGES, MICROBATCHES = 8, 4, 6


def chain():
    torch.manual_seed(0)
    layers = [layer for _ in range(STAGES) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers), (torch.randn(2, WIDTH),)


def staged(folder, *options):
    """What cleave writes for the chain, a stage for each two layers."""
    module, inputs = chain()
    graph = export_fx.export_graph(export_fx.trace(module), inputs, "chain")
    export_fx.write_graph(graph, folder / "graph.json")
    cuts = [f"--split-at={2 * i}=begin" for i in range(1, STAGES)]
    command = [cleave, "-q", "stage", folder / "graph.json", *cuts, "-o", folder / "out", "--force"]
    command += options
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "out"


def actions_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {rank: [schedules._Action.from_str(text) for text in row] for rank, row in enumerate(csv.reader(file))}


def all_are_valid(folder):
    for name, ranks in (("gpipe", 4), ("gpipe", 2), ("1f1b", 4), ("interleaved", 2), ("zero-bubble", 4)):
        out = staged(folder, "--schedule", f"{name}:microbatches={MICROBATCHES},ranks={ranks}")
        stage_ranks = schedules._validate_schedule(actions_of(out / "schedule.csv"), ranks, STAGES, MICROBATCHES)
        assert stage_ranks == {stage: stage % ranks for stage in range(STAGES)}, (name, stage_ranks)
        page = (out / "schedule.html").read_text(encoding="utf-8")
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        assert [drawing["svg"][:4] for drawing in data["drawings"]] == ["<svg"], data["drawings"]


def train(rank, ranks, out, store):
    """A step of what the CSV gives this rank: the gradients of its stages are those of the unsplit module."""
    dist.init_process_group("gloo", store=dist.FileStore(store, ranks), rank=rank, world_size=ranks)
    module, _ = chain()
    batch, wanted = torch.randn(2 * MICROBATCHES, WIDTH), torch.randn(2 * MICROBATCHES, WIDTH)
    split = apply_fx.split_module(module, apply_fx.read_manifest(out))
    children = dict(enumerate(child for _, child in split.named_children()))
    own = range(rank, STAGES, ranks)
    stages = [PipelineStage(children[i], i, STAGES, torch.device("cpu")) for i in own]
    loss = torch.nn.MSELoss()
    runtime = schedules._PipelineScheduleRuntime(stages, MICROBATCHES, loss_fn=loss)
    runtime._load_csv(str(Path(out) / "schedule.csv"), format="compute_only")
    runtime.step(*([batch] if 0 in own else []), **({"target": wanted} if STAGES - 1 in own else {}))
    dist.destroy_process_group()
    whole, _ = chain()
    loss(whole(batch), wanted).backward()
    pairs = list(zip(module.parameters(), whole.parameters()))
    computed = [(got.grad, expected.grad) for got, expected in pairs if got.grad is not None]
    assert len(computed) == 2 * len(own), (rank, len(computed))
    for got, expected in computed:
        torch.testing.assert_close(got, expected)


RUNS = (("gpipe", 1), ("1f1b", 4), ("interleaved", 2), ("zero-bubble", 4))


def run_rank(rank, folder):
    torch.set_num_threads(1)
    for name, ranks in RUNS:
        if rank < ranks:
            train(rank, ranks, f"{folder}/{name}/out", f"{folder}/{name}/store")


def all_run(folder):
    for name, ranks in RUNS:
        (folder / name).mkdir()
        staged(folder / name, "--schedule", f"{name}:microbatches={MICROBATCHES},ranks={ranks}")
    torch.multiprocessing.spawn(run_rank, (str(folder),), nprocs=max(ranks for _, ranks in RUNS))


if __name__ == "__main__":
    for case in (all_are_valid, all_run):
        with tempfile.TemporaryDirectory() as temporary:
            case(Path(temporary))
        print(f"ok  {case.__name__}")
