"""Kernels of operators that are called take as long as the command line predicts for them."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

from tessera import ttnn

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build")) / "tessera"
SHARDING = {
    "HEIGHT": ttnn.TensorMemoryLayout.HEIGHT_SHARDED,
    "BLOCK": ttnn.TensorMemoryLayout.BLOCK_SHARDED,
}


def tuned(*words):
    if not COMMAND.exists():
        pytest.skip(f"{COMMAND} has not been built")
    command = [COMMAND, "tune", "conv2d", "--format", "json", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    return row


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("sharding", SHARDING)
def test_a_convolution_takes_as_long_as_tune_predicts(sharding, kernel):
    # fmt: off
    row = tuned("--device", "wormhole_n150", "--height", 32, "--in-channels", 64, "--out-channels", 96, "--kernel", kernel,
                "--sharding", sharding, "--act-block-h", 0, "--double-buffer", "both", "--fidelity", "LoFi",
                "--l1-small", 16384)
    # fmt: on
    assert row["verdict"] == "yes"
    with ttnn.manage_device(l1_small_size=16384) as device:
        x = ttnn.from_numpy(np.zeros((1, 1, 32 * 32, 64), np.float32), ttnn.bfloat16, device=device)
        ttnn.conv2d(
            input_tensor=x,
            weight_tensor=ttnn.from_numpy(np.zeros((96, 64, kernel, kernel), np.float32), ttnn.bfloat16),
            bias_tensor=ttnn.from_numpy(np.zeros((1, 1, 1, 96), np.float32), ttnn.bfloat16),
            device=device,
            in_channels=64,
            out_channels=96,
            batch_size=1,
            input_height=32,
            input_width=32,
            kernel_size=(kernel, kernel),
            stride=(1, 1),
            padding=(kernel // 2, kernel // 2),
            conv_config=ttnn.Conv2dConfig(
                weights_dtype=ttnn.bfloat8_b,
                shard_layout=SHARDING[sharding],
                enable_act_double_buffer=True,
                enable_weights_double_buffer=True,
            ),
            compute_config=ttnn.WormholeComputeKernelConfig(
                math_fidelity=ttnn.MathFidelity.LoFi, fp32_dest_acc_en=False, packer_l1_acc=False
            ),
            slice_config=ttnn.Conv2dL1FullSliceConfig,
        )
        taken = ttnn.device.simulated_device_time(device)
        programs = [row for row in ttnn.transfers(device) if "kernel_ns" in row]
    assert taken * 1e9 == pytest.approx(row["predicted_ns"], rel=1e-9)
    assert sum(each["kernel_ns"] for each in programs) == pytest.approx(row["predicted_ns"], rel=1e-9)
    assert {each["basis"] for each in programs} <= {"fitted", "scaled"}


def test_a_longer_product_takes_longer_and_a_replay_as_long():
    times = []
    for k in (256, 4096):
        with ttnn.manage_device(trace_region_size=1 << 20, values=False) as device:
            a = ttnn.from_numpy(np.zeros((1, 1, 512, k), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
            b = ttnn.from_numpy(np.zeros((1, 1, k, 512), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
            y = ttnn.matmul(a, b)
            times.append(ttnn.device.simulated_device_time(device))
            ttnn.deallocate(y)
            trace = ttnn.begin_trace_capture(device, cq_id=0)
            y = ttnn.matmul(a, b)
            ttnn.end_trace_capture(device, trace, cq_id=0)
            ttnn.execute_trace(device, trace, cq_id=0, blocking=True)
            assert ttnn.device.simulated_device_time(device) == pytest.approx(2 * times[-1])
    assert times[1] > 4 * times[0]
