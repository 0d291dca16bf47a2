"""ttnn.model_preprocessing, over modules that look like PyTorch's; test_ttnn_model_preprocessing needs no PyTorch."""

import numpy
import pytest

from tessera import ttnn
from tessera.ttnn.dot_access import make_dot_access_dict
from tessera.ttnn.model_preprocessing import (
    Conv2dArgs,
    MaxPool2dArgs,
    ParameterDict,
    ParameterList,
    infer_ttnn_module_args,
    make_parameter_dict,
    preprocess_linear_bias,
    preprocess_linear_weight,
    preprocess_model,
    preprocess_model_parameters,
    preprocess_remaining_children_and_parameters,
)

RNG = numpy.random.default_rng(3)


def numbers(*shape):
    """Numbers that bfloat16 holds."""
    return ttnn.to_numpy(ttnn.from_numpy(RNG.normal(size=shape).astype(numpy.float32), ttnn.bfloat16))


class Hook:
    def __init__(self, hooks, function):
        self.hooks, self.function = hooks, function
        hooks.append(function)

    def remove(self):
        self.hooks.remove(self.function)


class Module:
    """As much of torch.nn.Module as is asked for."""

    training = True

    def __init__(self, **members):
        self.hooks = []
        self.members = members
        self.__dict__.update(members)

    def named_children(self):
        return [(name, m) for name, m in self.members.items() if isinstance(m, Module)]

    def children(self):
        return [m for _, m in self.named_children()]

    def modules(self):
        yield self
        for child in self.children():
            yield from child.modules()

    def named_parameters(self):
        for name, value in self.members.items():
            if isinstance(value, numpy.ndarray):
                yield name, value
        for name, child in self.named_children():
            for below, value in child.named_parameters():
                yield f"{name}.{below}", value

    def register_forward_pre_hook(self, function):
        return Hook(self.hooks, function)

    def eval(self):
        self.training = False

    def __call__(self, x):
        for hook in list(self.hooks):
            hook(self, (x,))
        return self.forward(x)


def torch_like(name):
    return type(name, (Module,), {"__module__": f"torch.nn.modules.{name.lower()}", "forward": lambda self, x: x})


Linear, LayerNorm, Embedding, Conv2d, MaxPool2d, ModuleList = map(
    torch_like, ["Linear", "LayerNorm", "Embedding", "Conv2d", "MaxPool2d", "ModuleList"]
)


def conv(inputs, outputs, **more):
    options = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1, "padding_mode": "zeros"} | more
    module = Conv2d(weight=numbers(outputs, inputs, 3, 3), bias=numbers(outputs))
    module.__dict__.update(options, in_channels=inputs, out_channels=outputs, kernel_size=(3, 3))
    return module


class Net(Module):
    def __init__(self):
        super().__init__(
            stem=conv(3, 8, stride=(2, 2)),
            pool=MaxPool2d(),
            blocks=ModuleList(**{"0": Linear(weight=numbers(6, 4), bias=numbers(6)), "1": Linear(weight=numbers(2, 6), bias=None)}),
            norm=LayerNorm(weight=numbers(8), bias=numbers(8)),
            table=Embedding(weight=numbers(10, 4)),
            scale=numbers(5),
        )  # fmt: skip
        self.pool.__dict__.update(kernel_size=2, stride=2, padding=0, dilation=1)

    def forward(self, x):
        return self.pool(self.stem(x)[:, :, ::2, ::2])


def values(tensor):
    return ttnn.to_numpy(tensor)


def test_parameters_are_a_tree_with_the_shapes_of_the_card():
    model = Net()
    parameters = preprocess_model_parameters(initialize_model=lambda: model)
    assert not model.training
    assert isinstance(parameters, ParameterDict) and isinstance(parameters.blocks, ParameterList)
    numpy.testing.assert_array_equal(values(parameters.blocks[0].weight), model.blocks.members["0"].weight.T)
    numpy.testing.assert_array_equal(values(parameters.blocks[0].bias), model.blocks.members["0"].bias.reshape(1, -1))
    assert "bias" not in parameters.blocks[1]
    assert parameters.blocks[0].weight.layout == ttnn.TILE_LAYOUT and parameters.blocks[0].weight.dtype == ttnn.bfloat16
    numpy.testing.assert_array_equal(values(parameters.norm.weight), model.norm.weight.reshape(1, -1))
    numpy.testing.assert_array_equal(values(parameters.table.weight), model.table.weight)
    numpy.testing.assert_array_equal(values(parameters.stem.weight), model.stem.weight)
    assert parameters.stem.weight.layout == ttnn.ROW_MAJOR_LAYOUT
    numpy.testing.assert_array_equal(values(parameters.scale), model.scale)
    assert "pool" not in parameters  # nothing in it
    assert 1 in parameters.blocks and 2 not in parameters.blocks
    text = repr(parameters)
    assert "  blocks: [\n    {\n      weight: ttnn.Tensor(shape=" in text
    with pytest.raises(KeyError):
        _ = parameters.nowhere


def test_tensors_go_to_the_device():
    with ttnn.manage_device(0) as device:
        parameters = preprocess_model_parameters(initialize_model=Net, device=device)
        assert ttnn.is_tensor_storage_on_device(parameters.blocks[1].weight)
        assert ttnn.is_tensor_storage_on_device(parameters.scale)


def test_some_modules_stay_what_they_are():
    model = Net()
    seen = []

    def wanted(module, name):
        seen.append(name)
        return name != "stem"

    parameters = preprocess_model_parameters(initialize_model=lambda: model, convert_to_ttnn=wanted, prefix="net")
    assert set(seen) >= {"net", "net.stem", "net.norm", "net.blocks.0"}
    assert isinstance(parameters.stem.weight, ttnn.Tensor)  # its name is net.stem
    parameters = preprocess_model_parameters(initialize_model=lambda: model, convert_to_ttnn=wanted)
    assert parameters.stem.weight is model.stem.weight


def test_custom_preprocessors_make_what_they_know():
    def custom(module, name, convert_to_ttnn):
        if name == "norm":
            return {"both": ttnn.from_numpy(module.weight, ttnn.float32)}
        if name == "":
            made = {"own": {"deep": 7}}
            return preprocess_remaining_children_and_parameters(
                module, name, convert_to_ttnn, lambda m, n: None, make_parameter_dict(made), None,
                already_preprocessed_children=["table", "norm"],
            )  # fmt: skip
        return None

    parameters = preprocess_model_parameters(initialize_model=Net, custom_preprocessor=custom)
    assert parameters.own.deep == 7 and "table" not in parameters
    assert isinstance(parameters.scale, ttnn.Tensor) and isinstance(parameters.stem.bias, ttnn.Tensor)
    with pytest.raises(RuntimeError, match="at least two parameters"):
        preprocess_model_parameters(initialize_model=Net, custom_preprocessor=lambda module: None)
    with pytest.raises(RuntimeError, match="Unsupported parameter: extra"):
        preprocess_model_parameters(initialize_model=Net, custom_preprocessor=lambda module, name, extra: None)


def test_arguments_of_modules_are_found_by_running_them():
    model = Net()
    run = lambda m: m(numpy.zeros((4, 3, 32, 48), numpy.float32))  # noqa: E731
    args = infer_ttnn_module_args(model=model, run_model=run, device="a device")
    assert isinstance(args.stem, Conv2dArgs) and isinstance(args.pool, MaxPool2dArgs)
    assert (args.stem.batch_size, args.stem.input_height, args.stem.input_width) == (4, 32, 48)
    assert (args.stem.in_channels, args.stem.out_channels, args.stem.stride) == (3, 8, (2, 2))
    assert args.stem.device == "a device" and args.stem.math_fidelity == ttnn.MathFidelity.HiFi4
    assert (args.pool.input_channels, args.pool.input_height, args.pool.kernel_size) == (3, 16, 2)
    assert not any(module.hooks for module in model.modules())
    assert infer_ttnn_module_args(model=model, run_model=None, device=None) is None
    parameters = preprocess_model(initialize_model=lambda: model, run_model=run)
    assert parameters.stem.ttnn_module_args.input_width == 48
    assert "device" not in parameters.stem.ttnn_module_args


def test_the_config_says_what_is_not_there():
    assert ttnn.CONFIG.enable_model_cache is False
    with ttnn.manage_config("tmp_dir", "/tmp/elsewhere"):
        assert str(ttnn.CONFIG.tmp_dir) == "/tmp/elsewhere"
    assert str(ttnn.CONFIG.tmp_dir) == "/tmp/ttnn"
    with pytest.raises(ttnn.Error if hasattr(ttnn, "Error") else Exception, match="enable_comparison_mode .* is not there yet"):
        ttnn.CONFIG.enable_comparison_mode = True
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ttnn.CONFIG.nonsense = 1
    with pytest.raises(TypeError, match="enable_logging is a bool"):
        ttnn.CONFIG.enable_logging = 3
    assert ttnn.CONFIG.report_path is None
    with ttnn.manage_config("report_name", "a"):
        assert str(ttnn.CONFIG.report_path) == "generated/ttnn/reports/a"


def test_single_weights():
    weight, bias = numbers(6, 4), numbers(6)
    assert values(preprocess_linear_weight(weight, dtype=ttnn.bfloat16)).shape == (4, 6)
    row = preprocess_linear_bias(bias, dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT)
    assert row.layout == ttnn.ROW_MAJOR_LAYOUT and values(row).shape == (1, 6)


def test_dot_access():
    tree = make_dot_access_dict({"a": {"b": 1}, 2: 3})
    assert tree.a.b == 1 and tree[2] == 3
    del tree.a
    assert "a" not in tree
