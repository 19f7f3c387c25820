"""Real architectures for chains_test.py, with random weights, small if their classes allow it.

Each entry of ARCHITECTURES is a function that returns (module, args, kwargs, dynamic_shapes). Those of
torchvision and transformers need the package.
"""

import torch
from torch import nn
from torch.nn import functional

ARCHITECTURES = {}


def architecture(function):
    ARCHITECTURES[function.__name__] = function
    return function


def image(side=64, count=1):
    return (torch.randn(count, 3, side, side),)


def tokens(length=7, words=48):
    return torch.randint(0, words, (2, length))


# ---- torchvision ---------------------------------------------------------------------------------

try:
    import torchvision

    TORCHVISION: tuple[str, ...] = (
        "resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "efficientnet_b0", "swin_t",
        "densenet121", "convnext_tiny", "googlenet", "regnet_y_400mf", "mnasnet0_5",
    )  # fmt: skip
except ImportError:
    TORCHVISION = ()


def of_torchvision(name):
    def make():
        extra = {"init_weights": False} if name == "googlenet" else {}
        return getattr(torchvision.models, name)(weights=None, **extra).eval(), image(), {}, None

    return make


for _name in TORCHVISION:
    ARCHITECTURES[_name] = of_torchvision(_name)

if TORCHVISION:

    @architecture
    def deeplabv3_mobilenet():
        maker = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large
        return maker(weights=None, weights_backbone=None, aux_loss=True).eval(), image(), {}, None

    @architecture
    def small_vision_transformer():
        maker = torchvision.models.VisionTransformer
        module = maker(image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=24, mlp_dim=48)
        return module.eval(), image(16, 2), {}, {"x": {0: torch.export.Dim("n", min=2)}}


# ---- transformers --------------------------------------------------------------------------------

try:
    import transformers
except ImportError:
    transformers = None

if transformers:

    @architecture
    def bert():
        config = transformers.BertConfig(
            vocab_size=48, hidden_size=24, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=40, max_position_embeddings=24,
        )  # fmt: skip
        mask = torch.ones(2, 7, dtype=torch.long)
        return transformers.BertModel(config).eval(), (tokens(),), {"attention_mask": mask}, None

    @architecture
    def gpt2():
        config = transformers.GPT2Config(vocab_size=48, n_positions=24, n_embd=24, n_layer=2, n_head=2, use_cache=False)
        return transformers.GPT2LMHeadModel(config).eval(), (), {"input_ids": tokens()}, None

    @architecture
    def t5():
        config = transformers.T5Config(
            vocab_size=48, d_model=24, d_kv=12, d_ff=40, num_layers=2, num_heads=2, use_cache=False
        )
        words = {"input_ids": tokens(), "decoder_input_ids": tokens(5)}
        return transformers.T5Model(config).eval(), (), words, None

    @architecture
    def llama():
        config = transformers.LlamaConfig(
            vocab_size=48, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=24, use_cache=False,
        )  # fmt: skip
        return transformers.LlamaForCausalLM(config).eval(), (), {"input_ids": tokens()}, None

    @architecture
    def vit():
        config = transformers.ViTConfig(
            hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
            image_size=16, patch_size=4,
        )  # fmt: skip
        return transformers.ViTModel(config).eval(), image(16), {}, None

    @architecture
    def distilbert():
        config = transformers.DistilBertConfig(
            vocab_size=48, dim=24, n_layers=2, n_heads=2, hidden_dim=40, max_position_embeddings=24
        )
        return transformers.DistilBertForSequenceClassification(config).eval(), (tokens(),), {}, None


# ---- written here --------------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(48, 12)
        self.long = nn.LSTM(12, 10, num_layers=2, batch_first=True, bidirectional=True)
        self.gated = nn.GRU(20, 8, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, ids):
        steps, (hidden, _) = self.long(self.words(ids))
        steps, last = self.gated(steps)
        return self.out(steps[:, -1]), hidden, last


@architecture
def recurrent():
    return Recurrent().eval(), (tokens(),), {}, None


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 6, 3, padding=1)
        self.norm = nn.GroupNorm(3, 6)
        self.second = nn.Conv2d(6, 12, 3, padding=1)
        self.up = nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.out = nn.Conv2d(12, 2, 1)

    def forward(self, x):
        fine = functional.silu(self.norm(self.first(x)))
        coarse = functional.leaky_relu(self.second(functional.max_pool2d(fine, 2)))
        joined = self.out(torch.cat([self.up(coarse), fine], 1))
        large = functional.interpolate(joined, scale_factor=2.0, mode="bilinear")
        return large, large.argmax(1)


@architecture
def unet():
    return Unet().eval(), (torch.randn(1, 1, 16, 16),), {}, None


class Experts(nn.Module):
    """Each token goes to the two experts that a gate names, weighted."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.gate = nn.Linear(8, 4)
        self.expand = nn.Parameter(torch.randn(4, 8, 16) * 0.1)
        self.contract = nn.Parameter(torch.randn(4, 16, 8) * 0.1)

    def forward(self, x):
        normal = self.norm(x)
        weights, chosen = torch.softmax(self.gate(normal), -1).topk(2, -1)
        share = (functional.one_hot(chosen, 4).to(x.dtype) * weights.unsqueeze(-1)).sum(1)
        each = functional.silu(torch.einsum("td,edh->teh", normal, self.expand))
        return x + (torch.einsum("teh,ehd->ted", each, self.contract) * share.unsqueeze(-1)).sum(1)


@architecture
def mixture_of_experts():
    return Experts().eval(), (torch.randn(5, 8),), {}, {"x": {0: torch.export.Dim("tokens", min=2)}}


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 8), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(40, 8, mode="sum") for _ in range(3))
        self.top = nn.Sequential(nn.Linear(14, 12), nn.ReLU(), nn.Linear(12, 1), nn.Sigmoid())

    def forward(self, dense, ids):
        dense = self.dense(dense)
        looked_up = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        features = torch.stack([dense, *looked_up], 1)
        pairs = torch.bmm(features, features.transpose(1, 2))
        rows, columns = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([dense, pairs[:, rows, columns]], 1))


@architecture
def recommender():
    return Recommender().eval(), (torch.randn(4, 6), torch.randint(0, 40, (4, 3, 5))), {}, None


@architecture
def transformer_encoder():
    layer = nn.TransformerEncoderLayer(24, 2, 40, batch_first=True)
    module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return module.eval(), (torch.randn(2, 6, 24),), {}, None


class FreeSizes(nn.Module):
    """Batch and length are free; sizes go into shapes, a mask and a factor."""

    def __init__(self):
        super().__init__()
        self.key = nn.Linear(8, 12)
        self.value = nn.Linear(8, 12)

    def forward(self, x):
        batch, length, _ = x.shape
        key = self.key(x).reshape(batch * length, 12).relu().view(batch, length, 12)
        mask = torch.ones(length, length).tril().log()
        mixed = torch.softmax(key @ key.transpose(1, 2) / length**0.5 + mask, -1) @ self.value(x)
        return mixed.sum(1) + torch.arange(batch, dtype=x.dtype).unsqueeze(1), batch * length


@architecture
def free_sizes():
    shapes = {"x": {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=2)}}
    return FreeSizes(), (torch.randn(3, 5, 8),), {}, shapes


class RoundedSizes(nn.Module):
    """Sizes that are halved, twice, squared, and counted for new tensors."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.second = nn.Conv2d(4, 4, 3, stride=2)

    def forward(self, x):
        half = self.first(x).relu()
        quarter = self.second(half).relu()
        rows = x.sum((0, 1, 3))
        square = (rows.unsqueeze(0) * rows.unsqueeze(1)).reshape(-1).cos()
        return quarter.tanh(), square.sum(), x.new_zeros(x.shape[2] // 3 + 1).cos() + 1


@architecture
def rounded_sizes():
    return RoundedSizes(), (torch.randn(1, 3, 17, 16),), {}, {"x": {2: torch.export.Dim("side", min=9, max=64)}}


class Normalised(nn.Module):
    """In training: running averages are written in place, and so are activations."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3)
        self.norm = nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 6, 3, padding=1)
        self.last = nn.BatchNorm2d(6)

    def forward(self, x):
        x = functional.relu(self.norm(self.first(x)), inplace=True)
        return functional.relu(self.last(self.second(x)) + x).mean((2, 3))


@architecture
def batch_norm_in_training():
    return Normalised().train(), image(12, 2), {}, None
