"""tessera.mlx: the array functions of guides, and compile()."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tessera
import tessera.mlx as mx
from tessera.ncps import CfC, wirings


def test_arrays_are_numpys_in_float32():
    x = mx.array([[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(x, mx.array) and isinstance(x, np.ndarray)
    assert x.dtype == np.float32 and x.shape == (2, 2)
    assert mx.array([1, 2]).dtype == np.int32
    assert mx.array(np.arange(3)).dtype == np.int64  # says what it is
    assert mx.array([1, 2], dtype=mx.float16).dtype == np.float16
    for made in (mx.zeros((2, 3)), mx.ones(4), mx.full((2,), 0.5), mx.zeros_like(x), mx.linspace(0, 1, 5), mx.tanh(x), mx.sigmoid(x)):
        assert isinstance(made, mx.array) and made.dtype == np.float32
    assert mx.arange(3).dtype == np.int32
    np.testing.assert_allclose(mx.sigmoid(x), 1 / (1 + np.exp(-x)), rtol=1e-6)
    assert mx.allclose(x, x) and mx.array_equal(mx.stack([x, x])[1], x)
    mx.eval(x, [x])


def test_random_numbers_follow_from_the_seed():
    mx.random.seed(3)
    one = mx.random.normal((1000,), loc=2.0, scale=0.5)
    mx.random.seed(3)
    np.testing.assert_array_equal(mx.random.normal((1000,), loc=2.0, scale=0.5), one)
    assert abs(one.mean() - 2) < 5 * 0.5 / np.sqrt(1000)
    key = mx.random.key(5)
    np.testing.assert_array_equal(mx.random.uniform(shape=(4,), key=key), mx.random.uniform(shape=(4,), key=key))
    assert mx.random.randint(0, 3, (50,)).max() == 2


def test_contiguous_copies_only_what_is_not():
    x = mx.random.normal((4, 6))
    assert np.shares_memory(mx.contiguous(x), x)
    turned = mx.ascontiguousarray(x.T)
    assert turned.flags.c_contiguous and not np.shares_memory(turned, x)
    np.testing.assert_array_equal(turned, x.T)


def test_concatenate_joins_what_models_return():
    model = CfC(3, wirings.AutoNCP(8, 2), seed=1)
    x = mx.random.normal((7, 4, 3))
    parts = [model(x[i : i + 3]) for i in range(0, 7, 3)]
    output, state = mx.concatenate(parts, axis=0)
    whole, end = model(x)
    np.testing.assert_array_equal(output, whole)
    np.testing.assert_array_equal(state, end)
    with pytest.raises(tessera.InvalidArgument, match="nothing to concatenate"):
        mx.concatenate([])


def test_compiled_functions_give_the_same_with_a_plan_for_each_shape_and_flag():
    model = CfC(3, 4, backbone_units=8, backbone_layers=2, backbone_dropout=0.5, seed=1)

    @mx.compile(static_argnums=(1,))
    def forward(x, training=False):
        """Of the model."""
        return model(x, training=training)

    assert forward.__doc__ == "Of the model."
    x = mx.random.normal((2, 5, 3))
    for _ in range(3):
        np.testing.assert_array_equal(forward(x, False)[0], model(x, training=False)[0])
    np.testing.assert_array_equal(forward(x)[0], forward(x, training=False)[0])
    assert len(forward.plans) == 1 and forward.calls == 5
    assert not np.array_equal(forward(x, True)[0], forward(x, False)[0])
    forward(x[:1])
    assert len(forward.plans) == 3
    plan = forward.plans[0]
    assert plan.values == (("training", False),)
    assert plan.steps == (f"CfC {model._layer.kernel} [2, 5, 3] -> [2, 5, 4]",)
    assert forward.plans[1].steps[0].startswith("CfC reference")  # dropout


def test_compile_in_its_other_forms():
    double = mx.compile(lambda x: 2 * x)
    np.testing.assert_array_equal(double(mx.ones(3)), np.full(3, 2))
    total = mx.compile(lambda parts, options: mx.concatenate(parts).sum(), static_argnames="options")
    assert total((mx.ones(2), mx.ones(3)), "a") == 5
    assert total.plans[0].arrays == (((2,), "float32"), ((3,), "float32"))
    with pytest.raises(tessera.InvalidArgument, match="static argument 'options'.*is a list"):
        total((mx.ones(2),), [1])
    with pytest.raises(tessera.InvalidArgument, match="it has 1 arguments"):
        mx.compile(lambda x: x, static_argnums=(1,))
    with pytest.raises(tessera.InvalidArgument, match="no argument 'y'"):
        mx.compile(lambda x: x, static_argnames=("y",))


@pytest.mark.skipif(bool(importlib.util.find_spec("ncps") or importlib.util.find_spec("mlx")), reason="the real ones are here")
def test_programs_for_ncps_and_mlx_run_under_compat(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import mlx.core as mx\n"
        "from ncps.torch import CfC\n"
        "from ncps.wirings import AutoNCP\n"
        "import ncps.wirings, tessera.ncps\n"
        "assert ncps.wirings is tessera.ncps.wirings\n"
        "print(CfC(3, AutoNCP(8, 2))(mx.zeros((2, 4, 3)))[0].shape)\n"
    )
    folder = str(pathlib.Path(tessera.__file__).parents[1])
    done = subprocess.run([sys.executable, "-m", "tessera.compat", script], env={"PYTHONPATH": folder}, capture_output=True, text=True, check=False)
    assert done.stdout == "(2, 4, 2)\n", done.stderr
