"""What the devices of a split for several targets hold.

onnx_chain.py calls this for manifests that have "targets". It knows nothing of how cleave counts: sizes are those of
tensors that ONNX Runtime made, lifetimes those of the partitions' own files.
"""

from collections import defaultdict

import onnx

from ort_values import UNOPTIMISED, open_session, output_names, run


def names_read(node):
    """The values that a node reads, also inside of its subgraphs."""
    names, pending = [], [node]
    while pending:
        one = pending.pop()
        names += [name for name in one.input if name]
        graphs = [attribute.g for attribute in one.attribute if attribute.HasField("g")]
        graphs += [graph for attribute in one.attribute for graph in attribute.graphs]
        for graph in graphs:
            names += [value.name for value in graph.output]
            pending += graph.node
    return names


def tensor_bytes(value):
    kept = value.kept
    if kept is None or not kept.is_tensor() or kept.data_type() == "tensor(string)":
        return 0
    return kept.tensor_size_in_bytes()


class PartFile:
    """The file of a partition: its nodes, its constants, and the bytes of each of its values."""

    def __init__(self, folder, part, store):
        model = onnx.load(folder / part["file"], load_external_data=False)
        graph = model.graph
        own = set(part["nodes"])
        constant = {tensor.name for tensor in graph.initializer}
        self.nodes = []
        for node in graph.node:
            if node.name not in own and all(name in constant for name in names_read(node)):
                constant.update(node.output)
            else:
                self.nodes.append(node)
        self.weights = {name for node in self.nodes for name in names_read(node) if name in constant}
        given = {value.name for value in graph.output}
        made = [name for node in graph.node for name in node.output if name and name not in given]
        shown = made + [tensor.name for tensor in graph.initializer]
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in shown if name not in given)
        session = open_session(model.SerializeToString(), UNOPTIMISED, folder)
        values = run(session, store, output_names(session))
        self.outputs = {name: values[name] for name in given}
        self.sizes = {name: tensor_bytes(value) for name, value in values.items()}
        for value in session.get_inputs():
            self.sizes[value.name] = tensor_bytes(store[value.name])


def peaks_by_target(folder, manifest, values, keeps):
    """The most bytes that each target holds at once: the weights of all its partitions, each once, and values. One that
    crosses is held while the partition runs, with residency (`keeps`) from the first partition there that has it to the
    last. Another is held from the node that makes it to the last that reads it."""
    parts = manifest["partitions"]
    store, files = dict(values), []
    for part in parts:
        files.append(PartFile(folder, part, store))
        store.update(files[-1].outputs)
    weights = defaultdict(dict)
    changes = defaultdict(lambda: defaultdict(int))  # by target, by step
    spans, sizes, step = {}, {}, 0
    for number, (part, file) in enumerate(zip(parts, files)):
        target, first, last = part["target"], step, step + len(file.nodes)
        crossing = {value["name"] for value in part["inputs"] + part["outputs"]}
        for name in file.weights - crossing:
            weights[target][name] = file.sizes[name]
        for name in crossing:
            key = (target, name) if keeps else (target, name, number)
            begin = spans.get(key, (first, 0))[0]
            spans[key], sizes[key] = (begin, last), file.sizes.get(name, 0)
        inside = {}
        for place, node in enumerate(file.nodes, first):
            for name in [*node.output, *names_read(node)]:
                if name and name not in crossing and name not in file.weights:
                    inside[name] = (inside.get(name, (place, 0))[0], place + 1)
        for name, span in inside.items():
            spans[(target, name, number)], sizes[(target, name, number)] = span, file.sizes.get(name, 0)
        step = last
    for key, (begin, end) in spans.items():
        changes[key[0]][begin] += sizes[key]
        changes[key[0]][end] -= sizes[key]
    peaks = {}
    for target in {part["target"] for part in parts}:
        held = most = sum(weights[target].values())
        for at in sorted(changes[target]):
            held += changes[target][at]
            most = max(most, held)
        peaks[target] = most
    return peaks
