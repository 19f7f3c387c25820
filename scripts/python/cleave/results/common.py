"""What is the same in several reports, as dataclasses. Made by make_results.py from the schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class State:
    input: str
    # null: no output changes the input.
    output: str | None
    kind: Literal["replaced", "grows", "appended", "constant"]
    # On which the output is longer, or has what is new alone.
    axis: int | None = None
    # That writes the output.
    partition: str | None = None
    # On which it is kept: of that partition.
    device: str | None = None
    # Of what one step hands to the next; null: unknown.
    bytes: int | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> State:
        return cls(
            input=data["input"],
            output=data["output"],
            kind=data["kind"],
            axis=data.get("axis"),
            partition=data.get("partition"),
            device=data.get("device"),
            bytes=data["bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class Share:
    acc: float
    total: float
    # 1 where the total is 0.
    ratio: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Share:
        return cls(
            acc=data["acc"],
            total=data["total"],
            ratio=data["ratio"],
        )


@dataclass(frozen=True, kw_only=True)
class CoverageFlops:
    """Of nodes whose FLOPs are known."""

    acc: float
    total: float
    # 1 where the total is 0; null where most FLOPs are not known.
    ratio: float | None
    # Op types without known FLOPs.
    unknown_ops: int
    unknown_nodes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CoverageFlops:
        return cls(
            acc=data["acc"],
            total=data["total"],
            ratio=data["ratio"],
            unknown_ops=data["unknown_ops"],
            unknown_nodes=data["unknown_nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class OpenDim:
    first: int
    step: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> OpenDim:
        return cls(
            first=data["first"],
            step=data["step"],
        )


@dataclass(frozen=True, kw_only=True)
class OpenNumber:
    # Terms like 12*N*H; null: no polynomial of degree 3 at most.
    expression: str | None
    # At the first sizes.
    at_first: float
    # Something in it is not known at any size, and left out.
    is_partial: bool

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> OpenNumber:
        return cls(
            expression=data["expression"],
            at_first=data["at_first"],
            is_partial=data["is_partial"],
        )


@dataclass(frozen=True, kw_only=True)
class Value:
    name: str
    type: Literal["tensor", "tuple", "list", "scalar", "sequence", "map", "optional", "none", "unknown"]
    # null: not known.
    dtype: str | None
    # null: not a tensor, or of unknown rank. Of a dim: a size, a symbol, or null.
    shape: list[int | str | None] | None
    # null: not a tensor, or unknown.
    bytes: int | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Value:
        return cls(
            name=data["name"],
            type=data["type"],
            dtype=data["dtype"],
            shape=data["shape"],
            bytes=data["bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class ChainOrder:
    name: str
    file: str
    # Its name in a bundle: of the model, or of the signature.
    model: str | None = None
    inputs: list[str]
    outputs: list[str]
    writes_inputs: list[str]
    repeated: list[str]
    # TensorFlow Lite: those that the partition keeps itself.
    variables: list[str] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ChainOrder:
        return cls(
            name=data["name"],
            file=data["file"],
            model=data.get("model"),
            inputs=data["inputs"],
            outputs=data["outputs"],
            writes_inputs=data["writes_inputs"],
            repeated=data["repeated"],
            variables=data.get("variables"),
        )


@dataclass(frozen=True, kw_only=True)
class ChainInit:
    """TensorFlow Lite: the file whose outputs are the first values of the state."""

    file: str
    # Its signature in a bundle.
    model: str | None = None
    outputs: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ChainInit:
        return cls(
            file=data["file"],
            model=data.get("model"),
            outputs=data["outputs"],
        )


@dataclass(frozen=True, kw_only=True)
class Chain:
    """How to call the partitions of a torch.export program or a TensorFlow Lite model one after the other."""

    order: list[ChainOrder]
    inputs: list[str | None]
    outputs: list[str | dict[str, Any]]
    state: list[dict[str, Any]]
    mutations: list[dict[str, Any]]
    # TensorFlow Lite: the file whose outputs are the first values of the state.
    init: ChainInit | None = None
    # TensorFlow Lite: the names that the model's signature gives its inputs and outputs.
    signature: dict[str, Any] | None = None
    # TensorFlow Lite: values whose sizes may change.
    open: list[str] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Chain:
        return cls(
            order=[ChainOrder.from_json(item) for item in data["order"]],
            inputs=data["inputs"],
            outputs=data["outputs"],
            state=data["state"],
            mutations=data["mutations"],
            init=(ChainInit.from_json(data["init"])) if "init" in data else None,
            signature=data.get("signature"),
            open=data.get("open"),
        )


@dataclass(frozen=True, kw_only=True)
class File:
    name: str
    bytes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> File:
        return cls(
            name=data["name"],
            bytes=data["bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class Shares:
    nodes: float
    # null: no node's FLOPs are known.
    flops: float | None
    parameter_bytes: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Shares:
        return cls(
            nodes=data["nodes"],
            flops=data["flops"],
            parameter_bytes=data["parameter_bytes"],
        )
