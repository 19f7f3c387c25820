"""cleave.inspect, version 1, as dataclasses. Made by make_results.py from inspect.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import OpenDim, OpenNumber, State

InspectOpenDim = OpenDim
InspectOpenNumber = OpenNumber
InspectState = State


@dataclass(frozen=True, kw_only=True)
class InspectOpenSizes:
    """How the work depends on open dims; null: on none, or it is not known."""

    # Open dims of the inputs, with the first size that was tried and the step to the others; 0: only that size fits the
    # model.
    dims: dict[str, InspectOpenDim]
    # Expressions hold at the sizes of the steps only: strides round.
    is_for_steps: bool
    flops: InspectOpenNumber

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InspectOpenSizes:
        return cls(
            dims={key: InspectOpenDim.from_json(item) for key, item in data["dims"].items()},
            is_for_steps=data["is_for_steps"],
            flops=InspectOpenNumber.from_json(data["flops"]),
        )


@dataclass(frozen=True, kw_only=True)
class InspectOpset:
    # The default domain is empty.
    domain: str
    version: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InspectOpset:
        return cls(
            domain=data["domain"],
            version=data["version"],
        )


@dataclass(frozen=True, kw_only=True)
class InspectInput:
    name: str
    # As in texts: float32[N, 3, 224, 224]; ? is a size that is not known.
    type: str
    # Of an output that is the next value of a state; null: it is none.
    note: str | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InspectInput:
        return cls(
            name=data["name"],
            type=data["type"],
            note=data["note"],
        )


@dataclass(frozen=True, kw_only=True)
class InspectOutput:
    name: str
    # As in texts: float32[N, 3, 224, 224]; ? is a size that is not known.
    type: str
    # Of an output that is the next value of a state; null: it is none.
    note: str | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InspectOutput:
        return cls(
            name=data["name"],
            type=data["type"],
            note=data["note"],
        )


@dataclass(frozen=True, kw_only=True)
class InspectOp:
    op: str
    nodes: int
    # null: not known.
    flops: float | None
    # Element types of the tensors that the nodes make.
    makes: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InspectOp:
        return cls(
            op=data["op"],
            nodes=data["nodes"],
            flops=data["flops"],
            makes=data["makes"],
        )


@dataclass(frozen=True, kw_only=True)
class InspectList:
    name: str
    # That it accepts.
    nodes: int
    # Of these, by rules that leave a vendor's condition unchecked.
    unchecked: int
    # null: not known.
    flops_share: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InspectList:
        return cls(
            name=data["name"],
            nodes=data["nodes"],
            unchecked=data["unchecked"],
            flops_share=data["flops_share"],
        )


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """What a model is made of: `inspect --json`."""

    format: Literal["cleave.inspect"]
    version: int
    model: str
    nodes: int
    # null: those of a node are not known.
    flops: float | None
    # How the work depends on open dims; null: on none, or it is not known.
    open_sizes: InspectOpenSizes | None
    nodes_of_unknown_flops: int
    tensors_of_unknown_shape: int
    parameters: int
    # Each parameter once; null: one is of unknown size.
    parameter_bytes: int | None
    opsets: list[InspectOpset]
    inputs: list[InspectInput]
    outputs: list[InspectOutput]
    # What one step of the model hands to the next.
    state: list[InspectState] | None = None
    # The most FLOPs first, then the most nodes.
    ops: list[InspectOp]
    # What lists that are known by name accept, at the first sizes of `open_sizes`.
    lists: list[InspectList]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Inspect:
        return cls(
            format=data["format"],
            version=data["version"],
            model=data["model"],
            nodes=data["nodes"],
            flops=data["flops"],
            open_sizes=None if data["open_sizes"] is None else InspectOpenSizes.from_json(data["open_sizes"]),
            nodes_of_unknown_flops=data["nodes_of_unknown_flops"],
            tensors_of_unknown_shape=data["tensors_of_unknown_shape"],
            parameters=data["parameters"],
            parameter_bytes=data["parameter_bytes"],
            opsets=[InspectOpset.from_json(item) for item in data["opsets"]],
            inputs=[InspectInput.from_json(item) for item in data["inputs"]],
            outputs=[InspectOutput.from_json(item) for item in data["outputs"]],
            state=([InspectState.from_json(item) for item in data["state"]]) if "state" in data else None,
            ops=[InspectOp.from_json(item) for item in data["ops"]],
            lists=[InspectList.from_json(item) for item in data["lists"]],
        )
