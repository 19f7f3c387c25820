"""The models behind samples/*.json: small, of real shape, with random weights.

Each entry of MODELS is a function that returns (module, inputs), as export_fx.py wants it.
"""

import math

import torch
from torch import nn


class EncoderLayer(nn.Module):
    """One pre-norm transformer layer, with the batch and sequence sizes read from the tensor."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.head_width = width // heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU()
        self.contract = nn.Linear(4 * width, width)

    def attention(self, x, padding):
        batch, length = x.size(0), x.size(1)
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        query = query.view(batch, length, self.heads, self.head_width).transpose(1, 2)
        key = key.view(batch, length, self.heads, self.head_width).transpose(1, 2)
        value = value.view(batch, length, self.heads, self.head_width).transpose(1, 2)
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.head_width)
        scores = scores.masked_fill(padding, -1e4)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))

    def forward(self, x, padding):
        x = x + self.attention(self.norm1(x), padding)
        return x + self.contract(self.gelu(self.expand(self.norm2(x))))


class TransformerEncoder(nn.Module):
    """Token and position embedding, two layers, a classifier on the first token."""

    def __init__(self, vocabulary=1000, width=64, heads=4, length=32, layers=2, classes=10):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(1, length, width))
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, ids):
        padding = ids.eq(0).unsqueeze(1).unsqueeze(2)
        x = self.tokens(ids) + self.positions
        for layer in self.layers:
            x = layer(x, padding)
        return self.classifier(self.norm(x)[:, 0])


class Dlrm(nn.Module):
    """A recommendation model in the manner of DLRM.

    Sizes, ints and tuples flow between the tensor operators, which is what makes it hard to split.
    """

    def __init__(self, dense=13, tables=6, rows=1000, width=16):
        super().__init__()
        self.bottom = nn.Sequential(
            nn.Linear(dense, 64), nn.ReLU(), nn.Linear(64, 2 * width), nn.ReLU()
        )
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        pairs = (tables + 1) * (tables + 1)
        self.squeeze = nn.Linear(pairs, 32)
        self.top = nn.Sequential(nn.Linear(width + 32, 64), nn.ReLU(), nn.Linear(64, 1))
        self.bias = nn.Parameter(torch.zeros(1))
        self.width = width

    def forward(self, dense, sparse):
        left, right = self.bottom(dense).chunk(2, dim=1)
        gated = left * torch.sigmoid(right)
        pooled = [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        features = torch.cat([gated, *pooled], dim=1)
        vectors = features.view(features.shape[0], -1, self.width)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))
        batch, rows = dots.size(0), dots.size(1)
        interactions = torch.relu(self.squeeze(dots.reshape(batch, rows * rows)))
        hidden = self.top(torch.cat([gated, interactions], dim=1))
        return {"score": torch.sigmoid(hidden + self.bias), "logit": hidden}


def transformer_encoder():
    ids = torch.arange(2 * 32).reshape(2, 32) % 1000
    return TransformerEncoder(), (ids,)


def dlrm():
    dense = torch.linspace(0, 1, 128 * 13).reshape(128, 13)
    sparse = torch.arange(128 * 6 * 4).reshape(128, 6, 4) % 1000
    return Dlrm(), (dense, sparse)


def resnet18():
    return torchvision_model("resnet18", (1, 3, 224, 224))


MODELS = {"dlrm": dlrm, "resnet18": resnet18, "transformer_encoder": transformer_encoder}
IMAGE_MODELS = {"resnet18"}


def torchvision_model(name, shape):
    """A torchvision classifier and one image. LookupError says what is missing."""
    try:
        import torchvision.models
    except ImportError as missing:
        raise LookupError(f"torchvision is not installed ({missing})") from missing
    maker = getattr(torchvision.models, name, None)
    if maker is None or not name.islower() or not callable(maker):
        raise LookupError(f'torchvision has no model "{name}" either')
    return maker(weights=None), (torch.zeros(shape),)


def names():
    return sorted(MODELS)
