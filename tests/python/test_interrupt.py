"""Ctrl-C inside a call: loops of a model are left soon, with KeyboardInterrupt."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

onnx = pytest.importorskip("onnx")

BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build"))

ENDLESS = """
import numpy, signal, sys, tessera
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
session = tessera.Session(sys.argv[1], loop_limit=10**15)
print("running", flush=True)
try:
    session.run([numpy.float32([1])])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def endless_model(path):
    helper, types = onnx.helper, onnx.TensorProto
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Neg", ["in"], ["out"])], "body",
        [helper.make_tensor_value_info("i", types.INT64, []), helper.make_tensor_value_info("c", types.BOOL, []),
         helper.make_tensor_value_info("in", types.FLOAT, [1])],
        [helper.make_tensor_value_info("go", types.BOOL, []), helper.make_tensor_value_info("out", types.FLOAT, [1])])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["", "", "x"], ["y"], body=body)], "endless",
        [helper.make_tensor_value_info("x", types.FLOAT, [1])], [helper.make_tensor_value_info("y", types.FLOAT, [1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def test_a_loop_is_left_by_ctrl_c(tmp_path):
    endless_model(tmp_path / "m.onnx")
    with subprocess.Popen([sys.executable, "-c", ENDLESS, tmp_path / "m.onnx"], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONPATH": str(BUILD / "python")}) as process:
        try:
            assert process.stdout.readline() == "running\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30)[0] == "interrupted\n"
        finally:
            process.kill()
