"""The onnx package brings a protobuf and a schema of its own: both must live in one process with ours."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("order", ["onnx, tessera", "tessera, onnx"])
def test_imports_in_either_order(order):
    code = f"import {order}; onnx.ModelProto.FromString(onnx.ModelProto(ir_version=8).SerializeToString())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
