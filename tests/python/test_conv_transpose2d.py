import numpy as np
import pytest
from convolution import CUT, ROUNDING, convolve_transposed

import tessera
from tessera import ttnn

EXACT = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True, packer_l1_acc=True)


@pytest.fixture
def device():
    with ttnn.manage_device(l1_small_size=16384) as device:
        yield device


def random(*shape, seed=0):
    return ttnn.from_numpy(np.random.default_rng(seed).standard_normal(shape, np.float32), ttnn.bfloat16).to_numpy()


CASES = {
    "2x2, stride 2": ((1, 8, 10, 32), (32, 64, 2, 2), {"stride": (2, 2)}),
    "3x3, stride 2, padded": ((2, 6, 7, 32), (32, 32, 3, 3), {"stride": (2, 2), "padding": (1, 1), "output_padding": (1, 1)}),
    "4x4, stride 2": ((1, 8, 8, 64), (64, 32, 4, 4), {"stride": (2, 2), "padding": (1, 1)}),
    "stride 1": ((1, 9, 9, 16), (16, 32, 3, 3), {}),
    "uneven stride, dilated": ((1, 5, 6, 32), (32, 32, 3, 2), {"stride": (3, 1), "dilation": (1, 2), "padding": (0, 1)}),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_plain_loops(case, device):
    shape, weights, window = CASES[case]
    x, w, bias = random(*shape), random(*weights, seed=1), random(weights[1], seed=2)
    y, size, prepared = ttnn.conv_transpose2d(
        input_tensor=ttnn.from_numpy(x, ttnn.bfloat16, device=device),
        weight_tensor=ttnn.from_numpy(w, ttnn.bfloat16),
        bias_tensor=ttnn.from_numpy(bias.reshape(1, 1, 1, -1), ttnn.bfloat16),
        device=device,
        in_channels=shape[3],
        out_channels=weights[1],
        batch_size=shape[0],
        input_height=shape[1],
        input_width=shape[2],
        kernel_size=weights[2:],
        compute_config=EXACT,
        return_output_dim=True,
        return_weights_and_bias=True,
        **window,
    )
    wanted = convolve_transposed(x, w, bias, **window)
    assert size == wanted.shape[1:3]
    magnitude = convolve_transposed(np.abs(x), np.abs(w), np.abs(bias), **window)
    allowed = magnitude * ((weights[2] + 1) * CUT + w[:, 0].size * ROUNDING["FLOAT32"]) + 2 * ROUNDING["BFLOAT16"] * np.abs(wanted)
    assert np.all(np.abs(y.to_numpy().reshape(wanted.shape) - wanted) <= allowed)
    assert all(tensor.storage_type() == ttnn.StorageType.DEVICE for tensor in prepared)


def test_shapes_show_what_is_left_out(device):
    x, w = random(1, 8, 10, 32), random(32, 16, 2, 2, seed=1)
    y, size = ttnn.conv_transpose2d(ttnn.from_numpy(x, ttnn.bfloat16, device=device), ttnn.from_numpy(w, ttnn.bfloat16), stride=2, return_output_dim=True)
    assert size == (16, 20)
    assert tuple(y.shape) == (1, 1, 320, 16)


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("read 16 channels in 1 groups, but the input has 32", {"weight_tensor": (16, 32, 2, 2)}),
        ("must be less than the stride 2x2", {"output_padding": (2, 0)}),
        ("output_padding has a height and a width, but 1 values", {"output_padding": [1]}),
        ("mirror_kernel is False", {"mirror_kernel": False}),
        ("takes off more than the window", {"padding": (3, 3)}),
    ],
)
def test_refusals(message, wrong, device):
    arguments = {"weight_tensor": (32, 16, 2, 2), "stride": (2, 2)} | wrong
    arguments["weight_tensor"] = ttnn.from_numpy(random(*arguments["weight_tensor"]), ttnn.bfloat16)
    x = ttnn.from_numpy(random(1, 8, 10, 32), ttnn.bfloat16, device=device)
    before = ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_allocated_per_bank
    with pytest.raises(tessera.Error, match=message):
        ttnn.conv_transpose2d(x, **arguments)
    assert ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_allocated_per_bank == before
