"""ttnn.conv2d as users call it. Addresses and refusals of many more calls: tests/oracle/conv2d_calls.py."""

import itertools

import numpy as np
import pytest
from convolution import ROUNDING, convolve, relative_error, tolerance

import tessera
from tessera import ttnn

HEIGHT, WIDTH, BLOCK = (getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED") for kind in ("HEIGHT", "WIDTH", "BLOCK"))
EXACT = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True, packer_l1_acc=True)
L1_FULL = ttnn.Conv2dL1FullSliceConfig


@pytest.fixture
def device():
    with ttnn.manage_device(l1_small_size=16384) as device:
        yield device


def used(device):
    return [ttnn.get_memory_view(device, kind).total_bytes_allocated_per_bank for kind in (ttnn.BufferType.L1, ttnn.BufferType.DRAM)]


def rounded(values, dtype=ttnn.bfloat16):
    """As a tensor of that dtype holds them."""
    return ttnn.from_numpy(values, dtype).to_numpy()


def random(*shape, seed=0):
    return rounded(np.random.default_rng(seed).standard_normal(shape, np.float32))


class Case:
    """A convolution with random operands that bfloat16 holds exactly."""

    def __init__(self, device, n, h, w, c, k, kernel=(3, 3), groups=1, bias=True, seed=0, **window):
        self.device, self.window = device, dict(window, groups=groups)
        self.x, self.w = random(n, h, w, c, seed=seed), random(k, c // groups, *kernel, seed=seed + 1)
        self.bias = random(k, seed=seed + 2) if bias else None
        self.sizes = {
            "device": device,
            "in_channels": c,
            "out_channels": k,
            "batch_size": n,
            "input_height": h,
            "input_width": w,
            "kernel_size": kernel,
            **self.window,
        }
        self.expected = convolve(self.x, self.w, self.bias, **self.window)

    def input(self, dtype=ttnn.bfloat16, **place):
        return ttnn.from_numpy(self.x, dtype, device=self.device, **place)

    def operands(self):
        bias = None if self.bias is None else ttnn.from_numpy(self.bias.reshape(1, 1, 1, -1), ttnn.bfloat16)
        return {"weight_tensor": ttnn.from_numpy(self.w, ttnn.bfloat16), "bias_tensor": bias}

    def run(self, x=None, **options):
        defaults = {"compute_config": EXACT, "slice_config": L1_FULL}
        return ttnn.conv2d(input_tensor=self.input() if x is None else x, **(self.operands() | self.sizes | defaults | options))

    def check(self, y, **how):
        assert tuple(y.shape) == (1, 1, int(np.prod(self.expected.shape[:3])), self.expected.shape[3])
        values = y.to_numpy().reshape(self.expected.shape)
        allowed = tolerance(self.x, self.w, self.expected, bias=self.bias, output=y.dtype.name, **how, **self.window)
        worst = np.max(np.abs(values - self.expected) / allowed)
        assert worst <= 1, f"{worst} times what is allowed"


WINDOWS = {
    "3x3": (2, 14, 14, 64, 96, {"padding": (1, 1)}),
    "1x1": (1, 16, 24, 64, 128, {"kernel": (1, 1)}),
    "strided, uneven padding": (1, 16, 25, 32, 64, {"stride": (2, 3), "padding": (0, 1, 2, 1)}),
    "dilated": (1, 9, 33, 40, 72, {"kernel": (3, 5), "dilation": (2, 1), "padding": (2, 3)}),
    "grouped": (1, 12, 12, 64, 64, {"groups": 4, "padding": (1, 1)}),
    "depthwise": (1, 12, 12, 64, 64, {"groups": 64, "padding": (1, 1), "bias": False}),
    "few channels": (1, 30, 31, 3, 32, {"kernel": (7, 7), "stride": (2, 2), "padding": (3, 3)}),
}


@pytest.mark.parametrize("layout", [HEIGHT, WIDTH, BLOCK, None], ids=["height", "width", "block", "auto"])
@pytest.mark.parametrize("window", WINDOWS)
def test_values_are_those_of_a_plain_convolution(window, layout, device):
    *sizes, options = WINDOWS[window]
    case = Case(device, *sizes, **options)
    case.check(case.run(conv_config=ttnn.Conv2dConfig(shard_layout=layout)))


@pytest.mark.parametrize("output", [ttnn.float32, ttnn.bfloat16, ttnn.bfloat8_b])
def test_outputs_are_rounded_to_their_dtype(output, device):
    case = Case(device, 1, 10, 11, 32, 64, padding=(1, 1))
    y = case.run(dtype=output)
    assert y.dtype == output
    case.check(y)


@pytest.mark.parametrize("fidelity", ["LoFi", "HiFi2", "HiFi3", "HiFi4"])
def test_fidelity_drops_products_and_no_more(fidelity, device):
    case = Case(device, 1, 10, 11, 64, 64, padding=(1, 1))
    config = ttnn.init_device_compute_kernel_config(
        device.arch(), math_fidelity=getattr(ttnn.MathFidelity, fidelity), fp32_dest_acc_en=True, packer_l1_acc=True
    )
    y = case.run(compute_config=config)
    case.check(y, fidelity=fidelity)
    if fidelity == "LoFi":  # it does drop some
        assert relative_error(y.to_numpy().reshape(case.expected.shape), case.expected) > 2 * ROUNDING["BFLOAT16"]


def test_without_float32_sums_are_rounded_on_the_way(device):
    case = Case(device, 1, 10, 11, 64, 64, padding=(1, 1))
    exact, short = (case.run(compute_config=ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=on, packer_l1_acc=True)) for on in (True, False))
    errors = [relative_error(y.to_numpy().reshape(case.expected.shape), case.expected) for y in (exact, short)]
    additions = 64 * 9 / 16 * 4  # of 16 products each, in four phases
    assert 2 * errors[0] < errors[1] < 4 * ROUNDING["BFLOAT16"] * np.sqrt(additions)


@pytest.mark.parametrize("activation", ["relu", "silu", "relu6"])
def test_activations_are_fused(activation, device):
    functions = {"relu": lambda v: np.maximum(v, 0), "relu6": lambda v: np.clip(v, 0, 6), "silu": lambda v: v / (1 + np.exp(-v))}
    case = Case(device, 1, 10, 11, 16, 32, padding=(1, 1))
    y = case.run(conv_config=ttnn.Conv2dConfig(activation=activation)).to_numpy().reshape(case.expected.shape)
    allowed = 1.2 * tolerance(case.x, case.w, case.expected, bias=case.bias, **case.window)  # |silu'| < 1.1
    assert np.all(np.abs(y - functions[activation](case.expected)) <= allowed + 2 * ROUNDING["BFLOAT16"] * np.abs(y))


def test_edges_can_be_repeated_instead_of_zeros(device):
    case = Case(device, 1, 10, 11, 16, 32, padding=(1, 1))
    case.expected = convolve(case.x, case.w, case.bias, mode="edge", **case.window)
    y = case.run(conv_config=ttnn.Conv2dConfig(padding_mode=ttnn.PaddingMode.Replicate, shard_layout=HEIGHT))
    values = y.to_numpy().reshape(case.expected.shape)
    assert relative_error(values, case.expected) < 2 * ROUNDING["BFLOAT16"]


@pytest.mark.parametrize(("with_size", "with_weights"), list(itertools.product([False, True], repeat=2)))
def test_what_comes_back(with_size, with_weights, device):
    case = Case(device, 1, 28, 30, 64, 32)
    got = case.run(return_output_dim=with_size, return_weights_and_bias=with_weights)
    if not (with_size or with_weights):
        return case.check(got)
    assert isinstance(got, tuple)
    y, *rest = got
    case.check(y)
    if with_size:
        assert rest.pop(0) == (26, 28)
    if with_weights:
        weight, bias = rest.pop(0)
        assert weight.storage_type() == bias.storage_type() == ttnn.StorageType.DEVICE
        case.check(case.run(weight_tensor=weight, bias_tensor=bias))
    assert not rest
    assert case.run(bias_tensor=None, return_weights_and_bias=True)[1][1] is None


def test_prepared_weights_are_those_that_a_call_would_prepare(device):
    case = Case(device, 2, 14, 14, 64, 96, padding=(1, 1), stride=(1, 1), dilation=(1, 1))
    config = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=BLOCK)
    y, (weight, bias) = case.run(conv_config=config, return_weights_and_bias=True)
    how = dict(case.sizes, input_memory_config=ttnn.DRAM_MEMORY_CONFIG, input_layout=ttnn.ROW_MAJOR_LAYOUT, input_dtype=ttnn.bfloat16)
    how |= {"conv_config": config, "compute_config": EXACT, "slice_config": L1_FULL}
    given = case.operands()
    prepared = ttnn.prepare_conv_weights(weight_tensor=given["weight_tensor"], weights_format="OIHW", has_bias=True, **how)
    row = ttnn.prepare_conv_bias(bias_tensor=given["bias_tensor"], **how)
    for ours, theirs in ((prepared, weight), (row, bias)):
        assert ours.spec == theirs.spec
        np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())
    again = case.run(conv_config=config, weight_tensor=prepared, bias_tensor=row)
    np.testing.assert_array_equal(again.to_numpy(), y.to_numpy())
    with pytest.raises(tessera.Error, match="OIHW, not HWIO"):
        ttnn.prepare_conv_weights(weight_tensor=given["weight_tensor"], weights_format="HWIO", has_bias=True, **how)


def test_the_short_form_reads_shapes(device):
    case = Case(device, 1, 28, 28, 64, 64, bias=False)
    x, weight = case.input(), case.operands()["weight_tensor"]
    short, long = ttnn.conv2d(x, weight), ttnn.conv2d(input_tensor=x, weight_tensor=weight, **case.sizes)
    np.testing.assert_array_equal(short.to_numpy(), long.to_numpy())
    assert short.spec == long.spec
    grouped = ttnn.conv2d(x, ttnn.from_numpy(random(32, 16, 3, 3), ttnn.bfloat16), padding=1, return_output_dim=True)
    assert grouped[1] == (28, 28)
    assert relative_error(grouped[0].to_numpy().reshape(1, 28, 28, 32), convolve(case.x, random(32, 16, 3, 3), padding=(1, 1), groups=4)) < 0.05


def test_the_short_form_runs_on_a_device_without_l1_small():
    with ttnn.manage_device() as device:
        case = Case(device, 1, 28, 28, 64, 64, bias=False)
        before = used(device)
        y = ttnn.conv2d(case.input(), case.operands()["weight_tensor"], config=ttnn.Conv2dConfig(act_block_h_override=32))
        assert tuple(y.shape) == (1, 1, 26 * 26, 64)
        with pytest.raises(tessera.Error, match="L1_SMALL"):
            case.run()
        del y
        assert used(device)[0] == before[0]


def test_types_of_the_guides(device):
    case = Case(device, 1, 16, 16, 32, 32, bias=False, padding=(1, 1))
    config = ttnn.Conv2dConfig(activation_dtype=ttnn.bfloat8_b, weights_dtype=ttnn.bfloat8_b, output_dtype=ttnn.bfloat8_b)
    assert (config.activation_dtype, config.output_dtype) == (ttnn.bfloat8_b, ttnn.bfloat8_b)
    y = case.run(conv_config=config)
    assert y.dtype == ttnn.bfloat8_b
    assert relative_error(y.to_numpy().reshape(case.expected.shape), case.expected) < 4 * ROUNDING["BFLOAT8_B"]
    assert case.run(conv_config=config, dtype=ttnn.bfloat16).dtype == ttnn.bfloat16
    assert config != ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b)


def test_an_input_on_the_host_is_sent_to_the_device(device):
    case = Case(device, 1, 12, 12, 32, 32)
    case.check(case.run(x=ttnn.from_numpy(case.x, ttnn.bfloat16)))
    with pytest.raises(tessera.InvalidArgument, match="no device is given"):
        case.run(x=ttnn.from_numpy(case.x, ttnn.bfloat16), device=None)
    with ttnn.manage_device() as other, pytest.raises(tessera.InvalidArgument, match="another device"):
        case.run(device=other)


def test_refusals_about_memory_name_l1_and_the_numbers(device):
    x = ttnn.empty((1, 480, 640, 64), device=device)
    weight = ttnn.from_numpy(random(32, 64, 3, 3), ttnn.bfloat16)
    config = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b, shard_layout=HEIGHT, act_block_h_override=32)
    before = used(device)
    with pytest.raises(RuntimeError, match="49971200 B L1 buffer") as error:
        ttnn.conv2d(x, weight, padding=1, config=config, slice_config=L1_FULL)
    assert "780800" in str(error.value) and "1376928" in str(error.value)
    y = ttnn.empty((16, 56, 56, 64), device=device)
    config.act_block_h_override = 1600
    with pytest.raises(RuntimeError, match="L1 buffer allocated at 1059328"):
        ttnn.conv2d(y, ttnn.from_numpy(random(64, 64, 3, 3), ttnn.bfloat16), padding=1, config=config, slice_config=L1_FULL)
    del y
    assert used(device) == before


WRONG = {
    "in_channels is 32, but the input has 64": {"in_channels": 32},
    "out_channels is 16, but the weight has 64": {"out_channels": 16},
    "input_width is 8, but the input has 28": {"input_width": 8},
    "kernel_size is 5x5": {"kernel_size": (5, 5)},
    "kernel_size has a height and a width, but 3 values": {"kernel_size": (3, 3, 3)},
    "3 groups do not divide 64": {"groups": 3},
    "groups is 0": {"groups": 0},
    "stride is 0": {"stride": (0, 1)},
    "dilation is -1": {"dilation": -1},
    "padding is -2": {"padding": (-2, 0)},
    "3 values were given": {"padding": (1, 1, 1)},
    "window that reaches over 61x3 pixels does not fit in 28x28": {"dilation": (30, 1)},
    "config is another name of conv_config": {"config": ttnn.Conv2dConfig(), "conv_config": ttnn.Conv2dConfig()},
}


@pytest.mark.parametrize("message", WRONG)
def test_arguments_that_disagree_are_refused(message, device):
    case = Case(device, 1, 28, 28, 64, 64)
    x = case.input()
    before = used(device)
    with pytest.raises(tessera.InvalidArgument, match=message):
        case.run(x=x, **WRONG[message])
    assert used(device) == before


def test_no_arguments_crash(device):
    """Random ones, most of them wrong: a result of the right shape, or an Error that leaves the device as it was."""
    random = np.random.default_rng(7)

    def pick(usual, *odd):
        return usual if random.random() < 0.75 else odd[random.integers(len(odd))]

    results = refusals = 0
    for _ in range(150):
        n, h, w, c, k = pick(1, 2, 3), pick(12, 1, 5, 33), pick(14, 1, 2, 31), pick(32, 1, 3, 48, 64), pick(32, 1, 5, 65)
        kernel = pick((3, 3), (1, 1), (5, 2), (0, 1), (14, 14))
        groups = pick(1, 2, 3, 0, c)
        x = ttnn.empty((n, h, w, c), pick(ttnn.bfloat16, ttnn.float32, ttnn.uint16), device=device)
        weight = ttnn.from_numpy(np.ones((k, max(c // max(groups, 1), 1), max(kernel[0], 1), kernel[1]), np.float32), pick(ttnn.bfloat16, ttnn.float32, ttnn.int32))
        before = used(device)
        options = {
            "stride": pick((1, 1), (2, 2), (0, 0), (3, 1), (40, 1)),
            "padding": pick((1, 1), (0, 0), (0, 1, 2, 3), (7, 7), (-1, 1)),
            "dilation": pick((1, 1), (2, 1), (9, 9)),
            "conv_config": pick(None, *(ttnn.Conv2dConfig(shard_layout=layout) for layout in (HEIGHT, WIDTH, BLOCK))),
            "dtype": pick(None, ttnn.bfloat8_b, ttnn.float32, ttnn.uint32),
        }
        if random.random() < 0.5:
            options |= {"groups": groups, "kernel_size": kernel, "in_channels": c}
        try:
            y, (height, width) = ttnn.conv2d(x, weight, return_output_dim=True, **options)
        except tessera.Error as error:
            refusals += 1
            assert str(error)
            assert used(device) == before, (options, x.shape, weight.shape)
            continue
        results += 1
        assert tuple(y.shape) == (1, 1, n * height * width, k)
        y.deallocate(True)
    assert results > 15 and refusals > 15, (results, refusals)


@pytest.mark.parametrize("wrong", [{"input_tensor": 3}, {"weight_tensor": np.ones((1, 1, 1, 1))}, {"kernel_size": "3x3"}, {"conv_config": 5}, {"pading": 1}])
def test_types_that_are_wrong_are_type_errors(wrong, device):
    case = Case(device, 1, 12, 12, 32, 32)
    with pytest.raises(TypeError):
        ttnn.conv2d(**({"input_tensor": case.input()} | case.operands() | case.sizes | wrong))


def test_slice_configs_and_compute_configs_are_values():
    config = ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=4)
    assert config == ttnn.Op2DSliceConfig(slice_type=ttnn.Op2DDRAMSliceHeight, num_slices=4) != L1_FULL
    assert repr(config) == "Op2DSliceConfig(slice_type=SliceType::DRAM_HEIGHT,num_slices=4)"
    assert ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceWidth).num_slices == 0
    compute = ttnn.init_device_compute_kernel_config(ttnn.Arch.BLACKHOLE, packer_l1_acc=True)
    assert compute.math_fidelity == ttnn.MathFidelity.LoFi and compute.packer_l1_acc
    assert ttnn.init_device_compute_kernel_config(ttnn.Arch.BLACKHOLE, EXACT) == EXACT == ttnn.BlackholeComputeKernelConfig(
        math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True, packer_l1_acc=True
    )
    assert ttnn.get_conv_output_dim(28, 3) == 26
    assert ttnn.get_conv_output_dim(28, 3, stride=2, pad=1, dilation=2) == 13
