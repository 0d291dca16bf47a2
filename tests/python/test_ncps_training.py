"""fit() and evaluate() of tessera.ncps."""

import signal
import threading

import numpy as np
import pytest

import tessera
from tessera import mlx_profile
from tessera.ncps import CfC, LTC, wirings

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((40, 9, 3), dtype=np.float32)
TIMES = RANDOM.uniform(0.2, 2, (40, 9)).astype(np.float32)
# Something that can be learnt: a slow sum of the inputs.
Y = np.tanh(np.cumsum(X, axis=1)[..., :2] / 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CfC(3, wirings.AutoNCP(14, 2), seed=1),
        lambda: CfC(3, 12, proj_size=2, mixed_memory=True, seed=1),
        lambda: LTC(3, wirings.AutoNCP(14, 2), seed=1),
        lambda: CfC(3, 12, proj_size=2, batch_first=False, backbone_layers=2, backbone_units=16, backbone_dropout=0.1, seed=1),
    ],
    ids=["wired", "mixed", "ltc", "dropout"],
)
def test_training_lowers_the_loss_and_repeats_to_the_bit(make):
    model, again = make(), make()
    options = {"epochs": 12, "batch_size": 8, "learning_rate": 0.02, "timespans": TIMES, "validation_data": (X, Y, TIMES)}
    before = model.evaluate(X, Y, timespans=TIMES)["loss"]
    history = model.fit(X, Y, **options)
    assert [report["epoch"] for report in history] == list(range(1, 13))
    assert history[-1]["val_loss"] < 0.8 * before
    assert {"loss", "accuracy", "learning_rate", "gradient_norm", "seconds", "samples_per_second", "best"} <= set(history[0])
    again.fit(X, Y, **options)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, again.state_dict()[name])
    found = model.evaluate(X, Y, timespans=TIMES)
    assert found["loss"] == history[-1]["val_loss"]
    axes = (1, 0, 2) if not model.batch_first else (0, 1, 2)
    output = model.eval()(X.transpose(axes), timespans=TIMES.transpose(axes[:2]))[0].transpose(axes)
    # The layer that is trained and the one that runs round differently.
    assert abs(np.mean((output - Y) ** 2) - found["loss"]) < 1e-4 * found["loss"]


def test_frozen_parameters_stay():
    model = CfC(3, wirings.AutoNCP(14, 2), seed=1)
    before = model.state_dict()
    model.fit(X, Y, epochs=1)
    for name, array in model.state_dict().items():
        assert np.array_equal(array, before[name]) == name.endswith("sparsity_mask"), name


def test_classes_at_the_last_step_of_sequences_of_unequal_length():
    lengths = RANDOM.integers(1, 10, 40)
    last = X[np.arange(40), lengths - 1, 0]
    classes = (last > 0).astype(np.int64)
    model = CfC(3, 12, proj_size=2, return_sequences=False, seed=1)
    model.fit(X, classes, lengths=lengths, loss="cross_entropy", epochs=60, batch_size=10, learning_rate=0.01)
    found = model.evaluate(X, classes, lengths=lengths, loss="cross_entropy")
    assert found["accuracy"] > 0.95
    outputs = np.array([model.eval()(X[i, : lengths[i]])[0] for i in range(40)])
    assert np.mean(outputs.argmax(axis=1) == classes) == pytest.approx(found["accuracy"])


def test_stopping_and_keeping_the_best():
    model = CfC(3, 12, proj_size=2, seed=1)
    assert len(model.fit(X, Y, epochs=50, on_epoch=lambda report: report["epoch"] < 3)) == 3
    # A rate that makes things worse after a while; the best epoch is kept.
    history = model.fit(X, Y, epochs=15, learning_rate=0.3, validation_data=(X, Y), keep_best=True)
    assert model.evaluate(X, Y)["loss"] == min(report["val_loss"] for report in history)
    history = model.fit(X, Y, epochs=200, learning_rate=0.5, validation_data=(X, Y), patience=3)
    assert len(history) < 200


@pytest.fixture
def keyboard():
    """Interrupts come through, even where whoever started the tests has them ignored (as shells do in the background)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_keyboard_stops_training_and_what_was_learnt_is_kept(keyboard):
    model = CfC(3, 12, proj_size=2, seed=1)
    before = model.state_dict()
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, epochs=10**6, batch_size=1)
    assert any(not np.array_equal(array, before[name]) for name, array in model.state_dict().items())


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    file = tmp_path / "run.safetensors"
    options = {"batch_size": 8, "learning_rate": 0.02, "validation_data": (X, Y)}
    make = lambda: CfC(3, 12, proj_size=2, backbone_layers=2, backbone_dropout=0.2, seed=1)  # noqa: E731
    whole, parts = make(), make()
    whole.fit(X, Y, epochs=6, **options)
    parts.fit(X, Y, epochs=6, checkpoint=file, on_epoch=lambda report: report["epoch"] < 2, **options)
    other = make()  # where its parameters begin does not matter
    history = other.fit(X, Y, epochs=6, checkpoint=file, **options)
    assert [report["epoch"] for report in history] == [3, 4, 5, 6]
    for name, array in whole.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], array)
    assert other.fit(X, Y, epochs=6, checkpoint=file, **options) == []
    with pytest.raises(tessera.InvalidArgument, match='was made with .*"learning_rate":0.02.* trained with .*"learning_rate":0.1'):
        make().fit(X, Y, epochs=6, checkpoint=file, **{**options, "learning_rate": 0.1})
    with pytest.raises(tessera.InvalidArgument, match='is of .*"units":12.*not of .*"units":11'):
        CfC(3, 11, proj_size=2).fit(X, Y, epochs=6, checkpoint=file, **options)


def test_one_time_for_all_is_that_time_for_each():
    one, each = CfC(3, 5, proj_size=2, seed=1), CfC(3, 5, proj_size=2, seed=1)
    one.fit(X, Y, epochs=1, timespans=0.5)
    each.fit(X, Y, epochs=1, timespans=np.full((40, 9), 0.5))
    np.testing.assert_array_equal(one(X)[0], each(X)[0])


def test_mistakes_are_named():
    model = CfC(3, 5, proj_size=2)
    before = model.state_dict()
    for call, text in (
        (lambda: model.fit(X, Y[..., 0]), "the target has 360 values, 40 samples x 2 targets make 80"),
        (lambda: model.fit(X, Y[:, 0, 0]), r"the targets are \[40\]: with loss 'mse' \[samples, outputs\]"),
        (lambda: model.fit(X[0], Y), r"the inputs are \[9, 3\]: \[samples, steps, inputs\]"),
        (lambda: model.fit(X[..., :2], Y), "the data has 2 inputs, the layer 3"),
        (lambda: model.fit(X, Y, optimizer="adan"), "'optimizer' is 'adan'"),
        (lambda: model.fit(X, Y, learning=1), "no field 'learning'"),
        (lambda: model.fit(X, Y, validation_data=(X,)), "validation_data has 1 items"),
        (lambda: model.fit(X, np.full((40,), 7), loss="cross_entropy"), "target 0 is 7: no class from 0 to 1"),
    ):
        with pytest.raises(tessera.Error, match=text):
            call()
    bad = X.copy()
    bad[3, 2, 1] = np.nan
    with pytest.raises(tessera.Error, match="(?i)nan|finite"):
        model.fit(bad, Y)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("device", ["apple_m1", "apple_m1_max", "host"])
def test_fit_takes_what_configure_training_returns(device):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5, 3)).astype(np.float32), rng.normal(size=(40, 5, 4)).astype(np.float32)
    layer = CfC(3, 4, backbone_layers=3, backbone_units=8)
    before = layer.state_dict()
    settings = mlx_profile.configure_training(device)
    history = layer.fit(x, y, epochs=2, **settings)
    assert len(history) == 2
    after = layer.state_dict()
    assert list(after) == list(before) and layer.get_config()["backbone_dropout"] == 0
    assert all(not np.array_equal(after[name], before[name]) for name in after)
    # The same as a layer that was made with this dropout.
    other = CfC(3, 4, backbone_layers=3, backbone_units=8, backbone_dropout=settings.pop("backbone_dropout"))
    other.load_state_dict(dict(zip(other.state_dict(), before.values(), strict=True)))
    other.fit(x, y, epochs=2, **settings)
    for one, two in zip(after.values(), other.state_dict().values(), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("model", [CfC(3, wirings.AutoNCP(12, 4)), LTC(3, wirings.AutoNCP(12, 4)), LTC(3, 4, solver="rk4")], ids=repr)
@pytest.mark.parametrize("device", ["apple_m4_max", "host"])
def test_fit_takes_what_configure_training_returns_for_a_model(model, device):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 3, 3)).astype(np.float32), rng.normal(size=(8, 3, 4)).astype(np.float32)
    assert len(model.fit(x, y, epochs=1, **mlx_profile.configure_training(device, model))) == 1


def test_settings_that_contradict_are_refused():
    x, y = np.zeros((4, 2, 3), np.float32), np.zeros((4, 2, 4), np.float32)
    layer = CfC(3, 4)
    for said, options in {
        "parameter_type='float16': parameters are float32": {"parameter_type": "float16"},
        "compute_type='float8'": {"compute_type": "float8"},
        "say different things": {"compute_type": "float16", "precision": "bf16"},
        "loss_scaling=False": {"compute_type": "float16", "loss_scaling": False},
        "loss_scaling=True": {"loss_scaling": True},
    }.items():
        with pytest.raises(tessera.Error, match=said):
            layer.fit(x, y, **options)
    with pytest.raises(tessera.Error, match="no backbone to drop from"):
        LTC(3, 4).fit(x, y, backbone_dropout=0.1)
