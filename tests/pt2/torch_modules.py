"""Modules for the tests of export_fx.py and apply_fx.py; each function returns (module, inputs)."""

import torch


class Regions(torch.nn.Module):
    """Autocast, no-grad, a dict for a result, a buffer that is not saved, sizes in lists."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("offset", torch.full((4,), 0.5))
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)

    def forward(self, x):
        with torch.no_grad():
            y = self.layer(x) + self.offset
        with torch.autocast("cpu", dtype=torch.bfloat16):
            values, _ = self.layer(y).topk(2)
        wide = torch.cat([values.float() * self.scale[:2], torch.zeros(x.shape[0], 2)], 1)
        return {"wide": wide.reshape(x.shape[0] * 4, -1), "sizes": (x.shape[0] + 1,)}


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class TiedWithLoss(torch.nn.Module):
    """An embedding that is the last layer's weight, too, a skip connection, a loss."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(100, 32)
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(2))
        self.last = torch.nn.Linear(32, 100, bias=False)
        self.last.weight = self.embed.weight

    def forward(self, tokens, labels):
        first = hidden = self.embed(tokens)
        for block in self.blocks:
            hidden = torch.relu(block(hidden))
        logits = self.last(hidden + first)
        return {"logits": logits, "loss": ((logits - labels) ** 2).mean()}


def regions():
    """As an exported program's module, with a free first dim."""
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    shapes = {"x": {0: torch.export.Dim("rows", min=2)}}
    return torch.export.export(Regions(), (x,), dynamic_shapes=shapes).module(), (x,)


def regions_program():
    """As an exported program, which brings its inputs along."""
    torch.manual_seed(0)
    return torch.export.export(Regions(), (torch.randn(3, 4),)), ()


def branch():
    x = torch.ones(3)
    return torch.export.export(Branch(), (x,)), (x,)


def tied():
    torch.manual_seed(0)
    return TiedWithLoss(), (torch.randint(0, 100, (4, 16)), torch.randn(4, 16, 100))


def tied_program():
    module, inputs = tied()
    return torch.export.export(module, inputs), inputs
