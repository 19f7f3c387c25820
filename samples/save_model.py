"""Saves a small PyTorch model as model.pt2, for cleave to split: see README.md here."""

import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 30 * 30, 10)).eval()
x = torch.randn(1, 3, 32, 32)
torch.export.save(torch.export.export(model, (x,)), "model.pt2")
