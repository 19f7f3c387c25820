"""cleave.lowering, version 1, as dataclasses. Made by make_results.py from lowering.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class LoweringBound:
    """What the model was given before it was split; compiled partitions hold for these."""

    # --dim
    dims: dict[str, int]
    # --input-shape; below 0: left open.
    shapes: dict[str, list[int]]
    # --set-input
    values: dict[str, str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringBound:
        return cls(
            dims=data["dims"],
            shapes=data["shapes"],
            values=data["values"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringBackend:
    name: str
    identity: str
    # The one of several targets that it compiles for.
    target: str | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringBackend:
        return cls(
            name=data["name"],
            identity=data["identity"],
            target=data.get("target"),
        )


@dataclass(frozen=True, kw_only=True)
class LoweringTarget:
    name: str
    partitions: int
    nodes: int
    # By each of its backends.
    partitions_lowered: int
    nodes_lowered: int
    # False: it has no backend.
    compiled: bool

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringTarget:
        return cls(
            name=data["name"],
            partitions=data["partitions"],
            nodes=data["nodes"],
            partitions_lowered=data["partitions_lowered"],
            nodes_lowered=data["nodes_lowered"],
            compiled=data["compiled"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringReferenceSize:
    input: str
    axis: int
    size: int
    why: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringReferenceSize:
        return cls(
            input=data["input"],
            axis=data["axis"],
            size=data["size"],
            why=data["why"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringPartLeft:
    node: str
    # The backend's name for it, or for the part of it that is left.
    op: str
    # Empty when the backend does not say.
    why: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringPartLeft:
        return cls(
            node=data["node"],
            op=data["op"],
            why=data["why"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringPartValue:
    output: str
    largest_difference: float
    # Of the reference.
    largest_value: float
    # Of the difference, as a share of the reference's.
    rms: float
    # False: all that is wanted is within the tolerance of 0.
    tested: bool

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringPartValue:
        return cls(
            output=data["output"],
            largest_difference=data["largest_difference"],
            largest_value=data["largest_value"],
            rms=data["rms"],
            tested=data["tested"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringPartRemediesPinned:
    input: str
    # In the model, as `float32[N, 3]`.
    type: str
    # That it was pinned to.
    shape: list[int]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringPartRemediesPinned:
        return cls(
            input=data["input"],
            type=data["type"],
            shape=data["shape"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringPartRemedies:
    pinned_inputs: int
    # Of the pinned: inputs whose shape depends on data.
    pinned_to_data: int
    frozen_inputs: int
    # null: the model's.
    opset: int | None
    # Refused as it is; compiles when the model gets sizes such as `size_options`.
    needs_sizes: bool
    # The shapes that the reference saw of values inside, and of bodies, are written into the part.
    stated_inside: bool
    pinned: list[LoweringPartRemediesPinned]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringPartRemedies:
        return cls(
            pinned_inputs=data["pinned_inputs"],
            pinned_to_data=data["pinned_to_data"],
            frozen_inputs=data["frozen_inputs"],
            opset=data["opset"],
            needs_sizes=data["needs_sizes"],
            stated_inside=data["stated_inside"],
            pinned=[LoweringPartRemediesPinned.from_json(item) for item in data["pinned"]],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringPartArtefact:
    file: str
    # main: the file to load; data: one that it refers to.
    role: str
    bytes: int
    sha256: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringPartArtefact:
        return cls(
            file=data["file"],
            role=data["role"],
            bytes=data["bytes"],
            sha256=data["sha256"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringPart:
    name: str
    backend: str
    nodes: int
    lowered: bool
    verdict: Literal["lowered", "nothing to lower", "partly lowered", "refused", "no output", "crashed", "timed out", "out of memory", "too large", "wrong values", "lower precision", "order of ties", "one quantisation step", "not run", "flaky", "lost", "no room", "driver"]
    # The signal or exit status; of a worker, the stage as it names it.
    detail: str
    stage: Literal["check", "compile", "run"]
    seconds: float
    # null: not known.
    artefact_bytes: int | None
    cached: bool
    # The backend's message.
    message: str
    # How an earlier try failed, when this is the answer to a repeat.
    before: str
    # Of the piece, the backend and its version: the key of the cache.
    hash: str
    # Of a partition that is partly lowered: the nodes that the backend leaves out, as it calls them. Of one that is
    # refused: nodes that the backend names, where it does.
    left: list[LoweringPartLeft]
    # Outputs of floats that were compared with the reference's.
    values: list[LoweringPartValue]
    remedies: LoweringPartRemedies
    # Index of the first finding of it; null: there is none.
    finding: int | None
    # Files in the output folder that the backend made of the part; with -o, of lowered parts only.
    artefacts: list[LoweringPartArtefact] | None = None
    # Why there are none; null: there are.
    artefact_why: str | None = None
    # Of the main file, in its order.
    artefact_inputs: list[str] | None = None
    artefact_outputs: list[str] | None = None
    # What they were made for, as the worker says it: soc_model, precision, sdk, ...
    target: dict[str, str] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringPart:
        return cls(
            name=data["name"],
            backend=data["backend"],
            nodes=data["nodes"],
            lowered=data["lowered"],
            verdict=data["verdict"],
            detail=data["detail"],
            stage=data["stage"],
            seconds=data["seconds"],
            artefact_bytes=data["artefact_bytes"],
            cached=data["cached"],
            message=data["message"],
            before=data["before"],
            hash=data["hash"],
            left=[LoweringPartLeft.from_json(item) for item in data["left"]],
            values=[LoweringPartValue.from_json(item) for item in data["values"]],
            remedies=LoweringPartRemedies.from_json(data["remedies"]),
            finding=data["finding"],
            artefacts=([LoweringPartArtefact.from_json(item) for item in data["artefacts"]]) if "artefacts" in data else None,
            artefact_why=data.get("artefact_why"),
            artefact_inputs=data.get("artefact_inputs"),
            artefact_outputs=data.get("artefact_outputs"),
            target=data.get("target"),
        )


@dataclass(frozen=True, kw_only=True)
class LoweringFinding:
    round: int
    part: str
    backend: str
    kind: Literal["culprit", "together", "remedy", "flaky", "unexplained", "left out", "size"]
    # null: values are not what is wrong.
    values: Literal["culprit", "lower precision", "order of ties", "one quantisation step", "rounding decides an order", "errors add up", "together", "not finite", "unresolved"] | None
    culprit: str
    nodes: list[str]
    nodes_within: int
    minimal: bool
    # For the kind size: pieces of so many nodes pass. null: it is another.
    max_nodes: int | None
    # The first cut that could not be run, and why; null: there was none.
    blocked: str | None
    signature: str
    message: str
    # Of the backend, for the search up to here.
    runs: int
    # null: none was learned.
    rule: str | None
    # How many kinds of node the rule is made of; null: there is none.
    cases: int | None
    # Beside lowering.json; null where it was not written.
    folder: str | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringFinding:
        return cls(
            round=data["round"],
            part=data["part"],
            backend=data["backend"],
            kind=data["kind"],
            values=data["values"],
            culprit=data["culprit"],
            nodes=data["nodes"],
            nodes_within=data["nodes_within"],
            minimal=data["minimal"],
            max_nodes=data["max_nodes"],
            blocked=data["blocked"],
            signature=data["signature"],
            message=data["message"],
            runs=data["runs"],
            rule=data["rule"],
            cases=data["cases"],
            folder=data["folder"],
        )


@dataclass(frozen=True, kw_only=True)
class LoweringLearned:
    # The one of several targets that it holds for.
    target: str | None = None
    op: str
    domain: str
    name: str
    why: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoweringLearned:
        return cls(
            target=data.get("target"),
            op=data["op"],
            domain=data["domain"],
            name=data["name"],
            why=data["why"],
        )


@dataclass(frozen=True, kw_only=True)
class Lowering:
    """The output of `lower --json`, and lowering.json of `lower -o`. Partitions are those of the last round."""

    format: Literal["cleave.lowering"]
    version: int
    # Every accelerator partition of the last round is lowered by every backend.
    clean: bool
    # Of the model.
    nodes: int
    nodes_lowered: int
    rounds: int
    # Number of runs of a backend, including searches.
    compiler_runs: int
    # Verdicts that were known.
    cache_hits: int
    # Rules that were learned.
    rules: int
    # Stopped because in each round the readers of the last culprit fail.
    eroding: bool
    seconds: float
    # Spent waiting for backends and the reference, by all jobs.
    backend_seconds: float
    # Compilers at once: above 1, they slow each other down.
    jobs: int
    model: str
    # What the model was given before it was split; compiled partitions hold for these.
    bound: LoweringBound
    backends: list[LoweringBackend]
    # Several targets: what each has in the last round. Left out where there is one.
    targets: list[LoweringTarget] | None = None
    # null: none was used.
    reference: str | None
    # Why the reference that is the default was not used.
    reference_note: str
    # Sizes that the reference took for open dims of the model's inputs.
    reference_sizes: list[LoweringReferenceSize]
    # 0: values were not compared.
    samples_compared: int
    seed: int
    parts: list[LoweringPart]
    findings: list[LoweringFinding]
    learned: list[LoweringLearned]
    # A limit that was learned, for the list; null: none was.
    max_nodes: int | None
    # All limits of whole partitions that were learned, by their names in the list: max_parameter_bytes and so on.
    limits: dict[str, int]
    # Sizes of the open inputs with which partitions compiled: those of the reference's run, else assumed ones.
    size_options: list[str]
    # Writes the partitions with the shapes that were pinned; null when no shape was, or no command can.
    split_command: str | None
    # What to do next, in words.
    advice: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Lowering:
        return cls(
            format=data["format"],
            version=data["version"],
            clean=data["clean"],
            nodes=data["nodes"],
            nodes_lowered=data["nodes_lowered"],
            rounds=data["rounds"],
            compiler_runs=data["compiler_runs"],
            cache_hits=data["cache_hits"],
            rules=data["rules"],
            eroding=data["eroding"],
            seconds=data["seconds"],
            backend_seconds=data["backend_seconds"],
            jobs=data["jobs"],
            model=data["model"],
            bound=LoweringBound.from_json(data["bound"]),
            backends=[LoweringBackend.from_json(item) for item in data["backends"]],
            targets=([LoweringTarget.from_json(item) for item in data["targets"]]) if "targets" in data else None,
            reference=data["reference"],
            reference_note=data["reference_note"],
            reference_sizes=[LoweringReferenceSize.from_json(item) for item in data["reference_sizes"]],
            samples_compared=data["samples_compared"],
            seed=data["seed"],
            parts=[LoweringPart.from_json(item) for item in data["parts"]],
            findings=[LoweringFinding.from_json(item) for item in data["findings"]],
            learned=[LoweringLearned.from_json(item) for item in data["learned"]],
            max_nodes=data["max_nodes"],
            limits=data["limits"],
            size_options=data["size_options"],
            split_command=data["split_command"],
            advice=data["advice"],
        )
