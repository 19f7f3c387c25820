#!/usr/bin/env python3
"""torch's pipeline runtime loads the schedules that cleave writes, and runs one: the gradients are those of the
unsplit module.

usage: schedule_test.py ROOT_OF_THE_PROJECT CLEAVE
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

root, cleave = Path(sys.argv[1]), sys.argv[2]
sys.path[:0] = [str(root / "scripts"), str(Path(__file__).parent)]
import apply_fx  # noqa: E402
import export_fx  # noqa: E402
import torch  # noqa: E402
from torch.distributed.pipelining import schedules  # noqa: E402

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
    command += ["--microbatches", str(MICROBATCHES), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "out"


def actions_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {rank: [schedules._Action.from_str(text) for text in row] for rank, row in enumerate(csv.reader(file))}


def all_are_valid(folder):
    for name, ranks in (("gpipe", 4), ("gpipe", 2), ("1f1b", 4), ("interleaved", 2), ("zero-bubble", 4)):
        out = staged(folder, "--schedule", name, "--ranks", str(ranks))
        stage_ranks = schedules._validate_schedule(actions_of(out / "schedule.csv"), ranks, STAGES, MICROBATCHES)
        assert stage_ranks == {stage: stage % ranks for stage in range(STAGES)}, (name, stage_ranks)
        assert "<svg" in (out / "schedule.html").read_text(encoding="utf-8")


def one_runs(folder):
    """All stages on one rank: what one process can run."""
    import torch.distributed as dist
    from torch.distributed.pipelining.stage import PipelineStage

    out = staged(folder, "--schedule", "gpipe", "--ranks", "1")
    store = dist.FileStore(str(folder / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    module, _ = chain()
    split = apply_fx.split_module(module, apply_fx.read_manifest(out))
    device = torch.device("cpu")
    stages = [
        PipelineStage(child, i, STAGES, device) for i, (_, child) in enumerate(split.named_children())
    ]
    batch, wanted = torch.randn(2 * MICROBATCHES, WIDTH), torch.randn(2 * MICROBATCHES, WIDTH)
    loss = torch.nn.MSELoss()
    runtime = schedules._PipelineScheduleRuntime(stages, MICROBATCHES, loss_fn=loss)
    runtime._load_csv(str(out / "schedule.csv"), format="compute_only")
    runtime.step(batch, target=wanted)
    got = {name: value.grad.clone() for name, value in module.named_parameters()}
    module.zero_grad()
    loss(module(batch), wanted).backward()
    for name, value in module.named_parameters():
        torch.testing.assert_close(got[name], value.grad)
    dist.destroy_process_group()


for case in (all_are_valid, one_runs):
    with tempfile.TemporaryDirectory() as temporary:
        case(Path(temporary))
    print(f"ok  {case.__name__}")
