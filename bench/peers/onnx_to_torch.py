"""The networks that are compared, as a torch module: reads the operators that they have, and folds batch norms into the
convolutions before them, as one would for inference."""

import numpy
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def padding(a, rank=2):
    """Both sides alike, as a list; a ValueError otherwise."""
    pads = list(a.get("pads", [0] * 2 * rank))
    if a.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID") or pads[:rank] != pads[rank:]:
        raise ValueError(f"padding {pads} is not the same on both sides")
    return pads[:rank]


class Layer(torch.nn.Module):
    """One node: `apply` gets the values of its inputs, its weights among them as parameters."""

    def __init__(self, node, weights, apply):
        super().__init__()
        self.inputs = [name for name in node.input if name and name not in weights]
        self.outputs = list(node.output)
        self.apply_node = apply
        self.names = []
        for i, name in enumerate(n for n in node.input if n in weights):
            self.register_parameter(f"w{i}", torch.nn.Parameter(torch.tensor(weights[name]), requires_grad=False))
            self.names.append(f"w{i}")

    def forward(self, *values):
        return self.apply_node(*values, *(getattr(self, name) for name in self.names))


def convolution(a, transposed):
    strides, dilations, groups = list(a.get("strides", [1, 1])), list(a.get("dilations", [1, 1])), a.get("group", 1)
    pads = padding(a)

    def apply(x, w, b=None):
        if transposed:
            return functional.conv_transpose2d(x, w, b, strides, pads, 0, groups, dilations)
        return functional.conv2d(x, w, b, strides, pads, dilations, groups)

    return apply


def apply_of(node, weights):
    """What the node does, and which of its inputs are no parameters but part of that."""
    a, kind = attributes(node), node.op_type
    given = [weights.get(name) for name in node.input]
    if kind in ("Conv", "ConvTranspose"):
        return convolution(a, kind == "ConvTranspose"), []
    if kind == "Clip":
        low, high = float(given[1]), float(given[2])
        return (functional.relu6 if (low, high) == (0, 6) else lambda x: torch.clamp(x, low, high)), node.input[1:]
    if kind == "Resize":
        factors = [float(f) for f in given[2][2:]]
        if a.get("mode", b"nearest") != b"nearest":
            raise ValueError("only nearest neighbours are resized")
        return (lambda x: functional.interpolate(x, scale_factor=factors)), node.input[1:]
    if kind == "Split":
        axis = a.get("axis", 0)
        parts = len(node.output)
        if len(given) > 1 and given[1] is not None:
            sizes = [int(size) for size in given[1]]
            return (lambda x: torch.split(x, sizes, axis)), node.input[1:]
        return (lambda x: torch.chunk(x, parts, axis)), node.input[1:]
    if kind == "MaxPool":
        kernel, strides, pads = a["kernel_shape"], a.get("strides", [1, 1]), padding(a)
        return (lambda x: functional.max_pool2d(x, kernel, strides, pads, ceil_mode=bool(a.get("ceil_mode", 0)))), []
    if kind == "Gemm":
        if a.get("alpha", 1.0) != 1 or a.get("beta", 1.0) != 1 or a.get("transA", 0) or not a.get("transB", 0):
            raise ValueError("only x * w' + b is a layer")
        return functional.linear, []
    simple = {
        "Relu": functional.relu,
        "Sigmoid": torch.sigmoid,
        "Add": torch.add,
        "Mul": torch.mul,
        "GlobalAveragePool": lambda x: functional.adaptive_avg_pool2d(x, 1),
        "Flatten": lambda x: torch.flatten(x, a.get("axis", 1)),
        "Concat": lambda *parts: torch.cat(parts, a["axis"]),
    }
    if kind not in simple:
        raise ValueError(f"operator {kind} is not translated")
    return simple[kind], []


def fold_batch_norms(graph, weights):
    """Nodes without the batch norms that follow convolutions; those convolutions have other weights then."""
    uses = {}
    for node in graph.node:
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    made = {}
    nodes = []
    for node in graph.node:
        before = made.get(node.input[0])
        if node.op_type == "BatchNormalization" and before is not None and uses[node.input[0]] == 1:
            scale, bias, mean, variance = (weights[name].astype(numpy.float64) for name in node.input[1:5])
            factor = scale / numpy.sqrt(variance + attributes(node).get("epsilon", 1e-5))
            w = weights[before.input[1]]
            b = weights[before.input[2]] if len(before.input) > 2 else numpy.zeros(len(factor))
            w_name, b_name = node.output[0] + "/w", node.output[0] + "/b"
            weights[w_name] = (w * factor.reshape(-1, 1, 1, 1)).astype(numpy.float32)
            weights[b_name] = ((b - mean) * factor + bias).astype(numpy.float32)
            x = before.input[0]
            del before.input[:]
            before.input.extend([x, w_name, b_name])
            before.output[0] = node.output[0]
            made[node.output[0]] = before
            continue
        nodes.append(node)
        if node.op_type == "Conv":
            made[node.output[0]] = node
    return nodes


class Network(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        graph = onnx.load(path).graph
        weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.input, self.outputs = graph.input[0].name, [o.name for o in graph.output]
        layers, silu = [], {}
        nodes = fold_batch_norms(graph, weights)
        for node in nodes:
            apply, fixed = apply_of(node, weights)
            parameters = {name: array for name, array in weights.items() if name in node.input and name not in fixed}
            layer = Layer(node, parameters, apply)
            layer.inputs = [name for name in layer.inputs if name not in fixed]
            # x * sigmoid(x) is one function for torch.
            if node.op_type == "Sigmoid":
                silu[node.output[0]] = (node.input[0], layer)
            if node.op_type == "Mul" and len(layer.inputs) == 2:
                x, s = layer.inputs
                if s in silu and silu[s][0] == x and sum(s in n.input for n in nodes) == 1:
                    layers.remove(silu[s][1])
                    layer.inputs, layer.apply_node = [x], functional.silu
            layers.append(layer)
        self.layers = torch.nn.ModuleList(layers)
        last = {name: i for i, layer in enumerate(layers) for name in layer.inputs}
        self.done = [[n for n, at in last.items() if at == i and n not in self.outputs] for i in range(len(layers))]

    def forward(self, x):
        values = {self.input: x}
        for layer, done in zip(self.layers, self.done):
            results = layer(*(values[name] for name in layer.inputs))
            for name in done:  # memory goes back as soon as nobody reads it any more
                del values[name]
            if len(layer.outputs) == 1:
                results = (results,)
            values.update(zip(layer.outputs, results))
        return [values[name] for name in self.outputs]
