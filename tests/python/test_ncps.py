"""tessera.ncps: layers and cells on numpy arrays, against what ncps 1.0.1 and PyTorch made."""

import copy
import json
import pathlib
import pickle

import numpy as np
import pytest
from safetensors_file import read

import tessera
from tessera import ncps
from tessera.ncps import CfC, CfCCell, LTC, LTCCell, WiredCfCCell, wirings

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "ncp"
CASES = sorted(path.stem for path in DATA.glob("*.safetensors"))
RANDOM = np.random.default_rng(7)


def random(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def times(*shape):
    return RANDOM.uniform(0.2, 2, shape).astype(np.float32)


def assert_near(found, wanted, bound=1e-5):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0) <= bound * max(1, np.abs(wanted).max(initial=0))


class Golden:
    def __init__(self, name):
        self.arrays, metadata = read(DATA / f"{name}.safetensors")
        self.config = json.loads(metadata["layer"])
        kind = CfC if self.config["type"] == "CfC" else LTC
        self.model = kind.from_config(self.config)
        self.parameters = {k.removeprefix("parameters."): v for k, v in self.arrays.items() if k.startswith("parameters.")}
        self.gradients = {k.removeprefix("gradients."): v for k, v in self.arrays.items() if k.startswith("gradients.")}
        self.model.load_state_dict(self.parameters)
        self.batched = metadata["batch"] != "0"

    def __getitem__(self, name):
        """An array of the case in the form of the call."""
        array = self.arrays.get(name)
        return array if array is None or self.batched else array[0]

    @property
    def hx(self):
        if self["initial_state"] is None:
            return None
        return (self["initial_state"], self["initial_memory"]) if self.model.use_mixed else self["initial_state"]


@pytest.mark.parametrize("name", CASES)
def test_outputs_states_and_gradients_are_upstreams(name):
    golden = Golden(name)
    model = golden.model
    assert set(model.state_dict()) == set(golden.parameters)
    output, hx = model(golden["input"], golden.hx, golden["timespans"])
    assert output.dtype == np.float32
    assert_near(output, golden["output"])
    assert_near(hx[0] if model.use_mixed else hx, golden["state"])
    d_hx = (golden["d_state"], golden["d_memory"]) if model.use_mixed else golden["d_state"]
    found = model.backward(golden["d_output"], d_hx)
    assert_near(found.input, golden["d_input"])
    for key, gradient in golden.gradients.items():
        assert_near(found.parameters[key], gradient)
    if golden.hx is not None:
        assert_near(found.hx[0] if model.use_mixed else found.hx, golden["d_initial_state"])


def models():
    return [
        CfC(3, 5, backbone_units=[7, 6], seed=1),
        CfC(3, wirings.AutoNCP(10, 2), mixed_memory=True, proj_size=4, seed=2),
        CfC(3, 4, mode="pure", dialect="keras", batch_first=False, seed=3),
        LTC(3, 4, seed=4),
        LTC(3, wirings.NCP(5, 4, 2, 3, 2, 3, 3), solver="rk4", return_sequences=False, seed=5),
        LTC(3, wirings.Random(6, 2, 0.4), implicit_param_constraints=False, seed=6),
    ]


@pytest.mark.parametrize("model", models(), ids=repr)
def test_models_survive_files_pickle_and_configs(model, tmp_path):
    x = random(4, 5, 3)
    output = model(x)[0]
    model.save(tmp_path / "m.safetensors")
    again = ncps.load(tmp_path / "m.safetensors")
    assert type(again) is type(model)
    copies = [again, pickle.loads(pickle.dumps(model)), copy.deepcopy(model), type(model).load(tmp_path / "m.safetensors")]
    other = type(model).from_config(json.loads(json.dumps(model.get_config())))
    other.load_weights(tmp_path / "m.safetensors")
    for made in [*copies, other]:
        np.testing.assert_array_equal(made(x)[0], output)
        assert made.get_config() == model.get_config()


@pytest.mark.parametrize("batch", [1, 4, 5, 7])
@pytest.mark.parametrize("kind", [CfC, LTC])
def test_timespans_mean_the_same_in_every_form_and_batch(kind, batch):
    model = kind(3, 5, seed=1)  # a batch of 5 is where upstream goes wrong without a word
    x, ts = random(batch, 6, 3), times(batch, 6)
    output = model(x, timespans=ts)[0]
    np.testing.assert_array_equal(model(x, timespans=ts[..., None])[0], output)
    np.testing.assert_array_equal(model(x, timespans=np.repeat(ts[..., None], 5, axis=2))[0], output)
    for b in range(batch):
        np.testing.assert_array_equal(model(x[b], timespans=ts[b])[0], output[b])
    np.testing.assert_array_equal(model(x, timespans=0.5)[0], model(x, timespans=np.full((batch, 6), 0.5))[0])
    np.testing.assert_array_equal(model(x, timespans=1.0)[0], model(x)[0])


def test_units_may_have_times_of_their_own():
    model, x = LTC(3, 5, seed=1), random(2, 4, 3)
    each = times(2, 4, 5)
    each[:, :, 0] = 0  # no time for the first unit
    output, _ = model(x, timespans=each)
    assert np.abs(output[..., 0]).max() == 0  # its state stays as it began
    assert np.abs(output[..., 1:]).min() > 0


def test_state_goes_in_and_out():
    for model in (CfC(3, 4, seed=1), CfC(3, 4, mixed_memory=True, seed=1), LTC(3, wirings.AutoNCP(8, 2), seed=1)):
        x = random(2, 6, 3)
        whole, end = model(x)
        first, hx = model(x[:, :2])
        second, last = model(x[:, 2:], hx)
        np.testing.assert_array_equal(np.concatenate((first, second), axis=1), whole)
        np.testing.assert_array_equal(np.asarray(last), np.asarray(end))


def test_states_of_every_step_can_be_seen():
    model, x = CfC(3, wirings.AutoNCP(10, 2), seed=1), random(2, 5, 3)
    states = model.states(x)
    assert states.shape == (2, 5, 10)
    output, hx = model(x)
    np.testing.assert_array_equal(states[:, -1], hx)
    np.testing.assert_array_equal(states[..., -2:], output)  # motor neurons come last


def test_a_stepper_is_the_sequence_step_by_step():
    for model in models():
        if not model.return_sequences or not model.batch_first:
            continue
        loop, x, ts = model.stepper(), random(6, 3), times(6)
        output, hx = model(x, timespans=ts)
        for t in range(6):
            assert_near(loop(x[t], ts[t]), output[t])
        assert_near(loop.state, hx[0] if model.use_mixed else hx)
        loop.reset()
        assert_near(loop(list(map(float, x[0])), float(ts[0])), output[0])
        with pytest.raises(tessera.InvalidArgument, match="a step of 2 inputs for a layer of 3"):
            loop(x[0, :2])


def test_cells_are_one_step():
    x, h = random(4, 3), random(4, 6)
    cell = CfCCell(3, 6, seed=1)
    assert list(cell.state_dict()) == [
        f"{name}.{kind}" for name in ("backbone.0", "ff1", "ff2", "time_a", "time_b") for kind in ("weight", "bias")
    ]
    model = CfC(cell=cell)
    assert set(model.state_dict()) == {f"rnn_cell.{name}" for name in cell.state_dict()}
    for ts in (0.5, np.full(4, 0.5), np.full((4, 1), 0.5), np.full((4, 6), 0.5)):
        output, state = cell(x, h, ts)
        np.testing.assert_array_equal(output, state)
        np.testing.assert_array_equal(model(x[:, None], h, 0.5)[0][:, 0], output)
    wiring = wirings.AutoNCP(10, 2)
    wired, ltc = WiredCfCCell(3, wiring, seed=1), LTCCell(wiring, seed=2)
    assert wired.layer_sizes == [5, 3, 2]
    assert "layer_0.sparsity_mask" in wired.state_dict()
    state = random(4, 10)
    assert [a.shape for a in wired(x, state, 0.3)] == [(4, 2), (4, 10)]
    assert [a.shape for a in ltc(x, state)] == [(4, 2), (4, 10)]
    assert (ltc.synapse_count, ltc.sensory_synapse_count) == (wiring.synapse_count, wiring.sensory_synapse_count)
    assert ltc.synapse_count != ltc.sensory_synapse_count


def test_the_cell_of_a_model_computes_its_step():
    x = random(4, 3)
    for model in models():
        if model.use_mixed or getattr(model, "proj_size", None):
            continue
        state = random(4, model.state_size)
        sequence = x[:, None] if model.batch_first else x[None]
        assert_near(model.rnn_cell(x, state)[1], model(sequence, state)[1], 1e-6)


def test_a_cell_takes_a_mask():
    mask = RANDOM.integers(0, 2, (3 + 4, 4))
    cell = CfCCell(3, 4, backbone_layers=0, sparsity_mask=mask, seed=1)
    np.testing.assert_array_equal(cell.state_dict()["sparsity_mask"], mask.T)
    p, x, h = cell.state_dict(), random(2, 3), random(2, 4)
    z = np.concatenate((x, h), axis=1)
    head = {n: z @ (p[f"{n}.weight"] * (mask.T if n[0] == "f" else 1)).T + p[f"{n}.bias"] for n in ("ff1", "ff2", "time_a", "time_b")}
    gate = 1 / (1 + np.exp(-(head["time_a"] * 0.7 + head["time_b"])))
    assert_near(cell(x, h, 0.7)[0], np.tanh(head["ff1"]) * (1 - gate) + gate * np.tanh(head["ff2"]))
    with pytest.raises(tessera.InvalidArgument, match=r"mask is \[4, 7\], but 3 inputs and 4 units need \[7, 4\]"):
        CfCCell(3, 4, backbone_layers=0, sparsity_mask=mask.T)


def test_a_cell_over_a_wiring_as_guides_for_mlx_write_it():
    wiring = wirings.AutoNCP(16, 4)
    wiring.build(8)
    model = CfC(cell=CfCCell(wiring=wiring, backbone_units=[64, 32], backbone_layers=2))
    assert (model.input_size, model.state_size, model.output_size) == (8, 16, 4)
    assert model.get_config()["dialect"] == "mlx"
    assert model.get_config()["backbone_units"] == [64, 32]
    assert model(random(2, 3, 8))[0].shape == (2, 3, 4)


def test_keras_and_mlx_weights():
    x, ts = random(2, 4, 3), times(2, 4)
    for dialect in ("keras", "mlx"):
        for units in (5, wirings.AutoNCP(10, 2)):
            model = CfC(3, units, dialect=dialect, seed=1)
            there = model.export_parameters(dialect)
            if dialect == "keras" and units == 5:
                assert there["backbone0/kernel"].shape == (8, 128)
            other = CfC(3, units, dialect=dialect, seed=2)
            other.load_state_dict({f"a/b/{name}:0" if dialect == "keras" else name: v for name, v in there.items()}, dialect=dialect)
            np.testing.assert_array_equal(other(x, timespans=ts)[0], model(x, timespans=ts)[0])
    # Into the other sign of time: time_a changes its own.
    torch, keras = CfC(3, 5, seed=1), CfC(3, 5, dialect="keras", seed=2)
    keras.load_state_dict(torch.state_dict())
    keras.load_state_dict(torch.export_parameters("keras"), dialect="keras")
    np.testing.assert_array_equal(keras.state_dict()["rnn_cell.time_a.bias"], -torch.state_dict()["rnn_cell.time_a.bias"])
    np.testing.assert_array_equal(keras.state_dict()["rnn_cell.ff1.weight"], torch.state_dict()["rnn_cell.ff1.weight"])


def test_stacks_and_both_directions():
    first, second = CfC(3, wirings.AutoNCP(10, 4), seed=1), LTC(4, 6, seed=2)
    x, ts = random(2, 5, 3), times(2, 5)
    output, states = ncps.Stacked(first, second)(x, timespans=ts)
    np.testing.assert_array_equal(output, second(first(x, timespans=ts)[0], timespans=ts)[0])
    assert len(states) == 2
    with pytest.raises(tessera.InvalidArgument, match="layer 0 has 4 outputs, but layer 1 has 3 inputs"):
        ncps.Stacked(first, CfC(3, 4))
    back = CfC(3, 7, seed=3)
    both, (one, other) = ncps.Bidirectional(first, back)(x, timespans=ts)
    np.testing.assert_array_equal(both[..., :4], first(x, timespans=ts)[0])
    np.testing.assert_array_equal(both[..., 4:], back(x[:, ::-1], timespans=ts[:, ::-1])[0][:, ::-1])
    np.testing.assert_array_equal(both[:, 0, 4:], other)
    alone, _ = ncps.Bidirectional(first, back)(x[0], timespans=ts[0])
    np.testing.assert_array_equal(alone, both[0])


def test_dropout_only_in_training():
    model = CfC(3, 4, backbone_units=16, backbone_layers=3, backbone_dropout=0.5, seed=1)
    x = random(2, 4, 3)
    assert model.training
    assert not np.array_equal(model(x)[0], model(x)[0])
    output = model(x, training=False)[0]
    np.testing.assert_array_equal(model.eval()(x)[0], output)
    np.testing.assert_array_equal(model(x)[0], output)
    assert not np.array_equal(model(x, training=True)[0], output)


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_gradients_of_losses_are_differences_of_losses(loss):
    model = CfC(3, 4, backbone_units=5, seed=1)
    x = random(2, 4, 3)
    target = random(2, 4, 4) if loss == "mse" else RANDOM.integers(0, 4, (2, 4))
    found = model.loss_gradient(x, target, loss=loss)
    np.testing.assert_array_equal(found.output, model(x)[0])
    parameters = model.state_dict()
    step = np.float32(2.0**-8)
    for name, gradient in found.gradients.parameters.items():
        index = np.unravel_index(RANDOM.integers(gradient.size), gradient.shape)
        value = []
        for sign in (1, -1):
            changed = {**parameters, name: parameters[name].copy()}
            changed[name][index] += sign * step
            model.load_state_dict(changed)
            value.append(model.loss_gradient(x, target, loss=loss).loss)
        # Curvature times the square of the step, and roundings of outputs of float32 over the step.
        allowed = step**2 + 16 * np.finfo(np.float32).eps / step
        assert abs((value[0] - value[1]) / (2 * step) - gradient[index]) < allowed
    with pytest.raises(tessera.InvalidArgument, match="there is no loss 'mae'"):
        model.loss_gradient(x, target, loss="mae")


def test_seeds():
    ncps.manual_seed(3)
    one = CfC(3, 4).state_dict()
    ncps.manual_seed(3)
    two, three = CfC(3, 4).state_dict(), CfC(3, 4).state_dict()
    name = "rnn_cell.ff1.weight"
    np.testing.assert_array_equal(one[name], two[name])
    assert not np.array_equal(two[name], three[name])


def test_parameter_counts_are_upstreams():
    assert CfC(20, 50).parameter_count() == 34888
    assert (LTC(20, 50).parameter_count(), LTC(20, 50).parameter_count(trainable=False)) == (14290, 17790)
    assert CfC(64, 256, backbone_units=256, backbone_layers=2).parameter_count() == 411136
    wiring = wirings.NCP(12, 6, 1, 6, 4, 4, 6)
    assert [CfC(32, wiring).parameter_count(t) for t in (True, False)] == [2648, 3291]


def test_constraints_of_an_explicit_ltc():
    model = LTC(2, 3, implicit_param_constraints=False, seed=1)
    values = model.state_dict()
    values["rnn_cell.w"][:] = -1
    values["rnn_cell.vleak"][:] = -1
    model.load_state_dict(values)
    model.rnn_cell.apply_weight_constraints()
    assert model.state_dict()["rnn_cell.w"].max() == 0
    assert model.state_dict()["rnn_cell.vleak"].max() == -1


def test_arrays_of_other_kinds_are_taken():
    class OnlyDlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    model, x = CfC(3, 4, seed=1), random(2, 4, 3)
    output = model(x)[0]
    for other in (OnlyDlpack(x), x.astype(np.float64), np.asfortranarray(x), x.tolist()):
        np.testing.assert_array_equal(model(other)[0], output)
    half = x.astype(np.float16)
    np.testing.assert_array_equal(model(half)[0], model(half.astype(np.float32))[0])
    model.load_state_dict({name: OnlyDlpack(v) for name, v in model.state_dict().items()})


def test_torch_tensors_are_taken():
    torch = pytest.importorskip("torch")
    model, x = CfC(3, 4, seed=1), random(2, 4, 3)
    tensors = {name: torch.nn.Parameter(torch.from_numpy(v)) for name, v in model.state_dict().items()}
    other = CfC(3, 4, seed=2)
    other.load_state_dict(tensors)
    np.testing.assert_array_equal(other(torch.from_numpy(x))[0], model(x)[0])


def error(call, *arguments, **options):
    with pytest.raises(tessera.InvalidArgument) as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_mistakes_are_named_with_their_values():
    model, x = CfC(3, 4, seed=1), random(2, 5, 3)
    assert "the input is [2, 5, 4], but the layer has 3 inputs" in error(model, random(2, 5, 4))
    assert "the initial state is [3, 4], but should be [2, 4]" in error(model, x, np.zeros((3, 4)))
    assert "timespans are [5, 2]: a number, [2, 5], [2, 5, 1] or [2, 5, 4] is expected" in error(model, x, None, times(5, 2))
    bad = times(2, 5)
    bad[1, 2] = np.nan
    assert "timespan 7 is nan" in error(model, x, None, bad)
    mixed = CfC(3, 4, mixed_memory=True)
    assert "a pair (state, memory), not one array of [2, 4]" in error(mixed, x, np.zeros((2, 4)))
    assert "there is no backbone, but backbone_units is 5" in error(CfC, 3, wirings.AutoNCP(8, 2), backbone_units=5)
    assert "backbone_units has 2 widths [4, 4], but backbone_layers is 3" in error(CfC, 3, 4, backbone_units=[4, 4], backbone_layers=3)
    assert "needs input_size" in error(CfC, None, 4)
    with pytest.raises(tessera.Error, match="did you mean 'pure'"):
        CfC(3, 4, mode="prue")
    with pytest.raises(tessera.Error, match="'solver' is 'euler': it can be semi_implicit, explicit, rk4"):
        LTC(3, 4, solver="euler")
    assert "(batch, inputs), not [2, 5, 3]" in error(CfCCell(3, 4), x, np.zeros((2, 4)))
    assert "wirings.FullyConnected(4)" in error(LTCCell, 4)
    model.eval()
    assert "in training mode" in error(model.backward, np.zeros((2, 5, 4)))
    model.train()(x)
    assert "the gradient of the output is [2, 5, 3], but should be [2, 5, 4]" in error(model.backward, np.zeros((2, 5, 3)))
    assert "there is no dialect 'tf'" in error(model.export_parameters, "tf")


def test_wrong_weights_are_named_all_at_once_and_change_nothing():
    model = CfC(2, 3, backbone_units=4, seed=1)
    before = model.state_dict()
    given = dict(before)
    del given["rnn_cell.ff1.bias"]
    given["rnn_cell.ff1.bais"] = np.zeros(3)
    given["rnn_cell.ff2.weight"] = np.zeros((4, 3))
    given["rnn_cell.ff2.bias"] = np.array([0, np.inf, 0])
    text = error(model.load_state_dict, given)
    assert "'rnn_cell.ff1.bias' [3] is missing" in text
    assert "'rnn_cell.ff1.bais' [3] is not known; did you mean 'rnn_cell.ff1.bias'?" in text
    assert "'rnn_cell.ff2.weight' is [4, 3], not [3, 4]" in text
    assert "'rnn_cell.ff2.bias' has inf at position 1" in text
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    loose = {name: before[name] for name in list(before)[1:]} | {"extra": np.zeros(1)}
    result = model.load_state_dict(loose, strict=False)
    assert result.missing_keys == ["rnn_cell.backbone.0.weight"]
    assert result.unexpected_keys == ["extra"]
    model.load_state_dict({f"rnn.{name}": v for name, v in before.items()} | {"head.weight": np.zeros(1)}, prefix="rnn.")
