"""Small networks as ONNX files with what `tessera run` wants to know about them: names of classes and preprocessing."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Writer:
    """Nodes one after the other; each method returns the name of its result."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def convolution(self, name, x, layer):
        weight = self.constant(f"{name}.weight", layer.weight)
        bias = self.constant(f"{name}.bias", layer.bias)
        k, p, s = layer.kernel, layer.pad, layer.stride
        y = self.node("Conv", name, [x, weight, bias], kernel_shape=[k, k], pads=[p] * 4, strides=[s, s])
        return self.node("Relu", f"{name}.relu", [y])

    def gemm(self, name, x, weight, bias):
        return self.node("Gemm", name, [x, self.once(f"{name}.weight", weight), self.once(f"{name}.bias", bias)], transB=1)

    def once(self, name, values):
        """A constant that several nodes may read."""
        return name if any(weight.name == name for weight in self.weights) else self.constant(name, values)

    def save(self, path, name, input_shape, outputs, about):
        x = helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["batch", *input_shape])
        y = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", outputs])
        graph = helper.make_graph(self.nodes, name, [x], [y], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        model.producer_name = "tessera networks/training"
        model.doc_string = about.pop("description")
        helper.set_model_props(model, about)
        onnx.checker.check_model(model)
        onnx.save(model, path)
