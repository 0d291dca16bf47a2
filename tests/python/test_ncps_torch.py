"""tessera.ncps.torch: modules that autograd, optimisers and compilers of PyTorch take. Wants PyTorch: make test-torch."""

import copy
import io
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch brings it")

import tessera  # noqa: E402
from tessera import ncps  # noqa: E402
from tessera.ncps import wirings  # noqa: E402
from tessera.ncps.torch import LTC, CfC, CfCCell, LTCCell, WiredCfCCell  # noqa: E402

FLOAT = np.finfo(np.float32).eps

# Every form of a layer, by (class, arguments).
LAYERS = {
    "cfc": (CfC, (5, 7), {}),
    "pure": (CfC, (5, 7), {"mode": "pure", "backbone_layers": 2, "backbone_units": 9}),
    "no_gate": (CfC, (5, 7), {"mode": "no_gate", "backbone_layers": 0, "batch_first": False}),
    "mixed": (CfC, (5, 7), {"mixed_memory": True, "proj_size": 3, "activation": "silu"}),
    "wired": (CfC, (5, wirings.AutoNCP(12, 3)), {"proj_size": 2}),
    "last": (CfC, (5, wirings.NCP(5, 4, 2, 3, 2, 3, 3)), {"return_sequences": False, "mixed_memory": True}),
    "ltc": (LTC, (5, 6), {}),
    "ltc_wired": (LTC, (5, wirings.AutoNCP(12, 3)), {"batch_first": False, "implicit_param_constraints": False}),
    "ltc_mixed": (LTC, (5, 6), {"mixed_memory": True, "input_mapping": "linear", "output_mapping": None}),
}


def make(name, seed=0):
    cls, arguments, options = LAYERS[name]
    torch.manual_seed(seed)
    return cls(*copy.deepcopy(arguments), **options)


def sequence(layer, batch=4, steps=6, dtype=torch.float32, seed=1):
    """Input, state and timespans of a call, which want gradients."""
    random = torch.Generator().manual_seed(seed)
    lead = (batch, steps) if layer.batch_first else (steps, batch)
    x = torch.randn(*lead, 5, generator=random, dtype=dtype).requires_grad_()
    states = [torch.randn(batch, layer.state_size, generator=random, dtype=dtype).requires_grad_() for _ in range(2)]
    times = (torch.rand(*lead, generator=random, dtype=dtype) + 0.5).requires_grad_()
    return x, tuple(states) if layer.use_mixed else states[0], times


def tensors_of(hx):
    return list(hx) if isinstance(hx, tuple) else [hx]


def loss_of(layer, x, hx, times):
    output, new = layer(x, hx, times)
    return output.square().sum() + sum(each.sin().sum() for each in tensors_of(new))


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_are_those_of_the_layers_on_numpy(name):
    layer = make(name)
    x, hx, times = sequence(layer)
    config = json.loads(layer._kernel.description)
    other = (ncps.CfC if isinstance(layer, CfC) else ncps.LTC).from_config(config)
    other.load_state_dict({key: value.detach().numpy() for key, value in layer.state_dict().items()})
    given = tuple(each.detach() for each in hx) if layer.use_mixed else hx.detach()
    wanted, wanted_hx = other(x.detach(), given, times.detach())
    for grad in (True, False):  # the kernel in training, and the other
        with torch.set_grad_enabled(grad):
            output, new = layer(x, hx, times)
        assert output.requires_grad is grad
        np.testing.assert_allclose(output.detach(), wanted, atol=200 * FLOAT)
        for found, each in zip(tensors_of(new), tensors_of(wanted_hx), strict=True):
            np.testing.assert_allclose(found.detach(), each, atol=200 * FLOAT)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_exact_in_float64(name):
    layer = make(name).double()
    x, hx, times = sequence(layer, batch=2, steps=3, dtype=torch.float64)
    trained = [each for each in layer.parameters() if each.requires_grad]

    def function(x, times, *rest):
        states = rest[: len(tensors_of(hx))]
        return loss_of(layer, x, states if layer.use_mixed else states[0], times)

    # By differences, to all that a call is given and to the parameters.
    assert torch.autograd.gradcheck(function, (x, times, *tensors_of(hx), *trained), fast_mode=True)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_in_float32_are_those_in_float64(name):
    layer = make(name)
    wide = copy.deepcopy(layer).double()
    given = sequence(layer)
    wanted = sequence(wide, dtype=torch.float64)
    with torch.no_grad():
        for a, b in zip(flat(wanted), flat(given), strict=True):
            a.copy_(b)
    loss_of(layer, *given).backward()
    loss_of(wide, *wanted).backward()
    pairs = [*zip(flat(given), flat(wanted), strict=True), *zip(layer.parameters(), wide.parameters(), strict=True)]
    for found, exact in pairs:
        if not found.requires_grad:
            assert found.grad is None
            continue
        scale = max(1.0, float(exact.grad.abs().max()))
        np.testing.assert_allclose(found.grad, exact.grad, atol=2000 * FLOAT * scale, rtol=0)


def flat(call):
    x, hx, times = call
    return [x, *tensors_of(hx), times]


@pytest.mark.parametrize("width", [None, 1, "units"])
def test_timespans_of_every_form_have_gradients(width):
    layer = make("cfc").double()
    x, hx, times = sequence(layer, dtype=torch.float64)
    if width is None:
        times = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    else:
        times = times.detach()[..., None].repeat(1, 1, 7 if width == "units" else 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: loss_of(layer, x, hx, t), (times,))
    one, _ = layer(x, timespans=0.7)
    np.testing.assert_array_equal(one.detach(), layer(x, timespans=torch.full((4, 6), 0.7, dtype=torch.float64))[0].detach())


def test_a_sequence_alone_has_no_batch():
    for name in LAYERS:
        layer = make(name).eval()
        x, hx, times = sequence(layer, batch=1)
        axis = 0 if layer.batch_first else 1
        states = [each.squeeze(0) for each in tensors_of(hx)]
        alone, new = layer(x.squeeze(axis), tuple(states) if layer.use_mixed else states[0], times.squeeze(axis))
        output, wanted = layer(x, hx, times)
        assert torch.equal(alone, output.squeeze(axis if layer.return_sequences else 0))
        for found, each in zip(tensors_of(new), tensors_of(wanted), strict=True):
            assert torch.equal(found, each.squeeze(0))


def test_cells_step_as_their_layers_do():
    for name in ("cfc", "pure", "wired", "ltc", "ltc_wired"):
        layer = make(name)
        x, hx, times = sequence(layer)
        cell = layer.rnn_cell
        assert isinstance(cell, (CfCCell, WiredCfCCell, LTCCell))
        state, outputs = hx, []
        for step in range(6):
            at = (slice(None), step) if layer.batch_first else (step,)
            output, state = cell(x[at], state, times[at][:, None])
            outputs.append(layer.fc(output) if hasattr(layer, "fc") else output)
        wanted, last = layer(x, hx, times)
        found = torch.stack(outputs, dim=1 if layer.batch_first else 0)
        np.testing.assert_allclose(found.detach(), wanted.detach(), atol=100 * FLOAT)
        # Both ways of training one set of parameters: through the cell step by step, and through the layer.
        by_cell = torch.autograd.grad(found.square().sum() + state.sum(), list(cell.parameters())[-1])
        by_layer = torch.autograd.grad(wanted.square().sum() + last.sum(), list(cell.parameters())[-1])
        np.testing.assert_allclose(by_cell[0], by_layer[0], atol=1e-3 * float(by_layer[0].abs().max()))


def test_an_optimiser_trains_it_inside_another_module():
    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(2, 5)
            self.liquid = CfC(5, wirings.AutoNCP(16, 4))
            self.second = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.second(self.liquid(torch.tanh(self.first(x)))[0])

    torch.manual_seed(3)
    model = Policy()
    assert {name.split(".")[0] for name, _ in model.named_parameters()} == {"first", "liquid", "second"}
    t = torch.linspace(0, 6, 40)
    x, y = torch.stack([t.sin(), t.cos()], -1)[None], (2 * t).sin()[None, :, None]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(80):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 20


def test_parameters_are_seen_however_they_change():
    layer = make("cfc")
    x = torch.ones(1, 2, 5)
    seen = []
    for change in (
        lambda: None,
        lambda: layer.rnn_cell.ff1.weight.data.mul_(0.5),  # which counts no version
        lambda: setattr(layer.rnn_cell.ff1.weight, "data", layer.rnn_cell.ff1.weight.data + 1),
        lambda: layer.load_state_dict({**layer.state_dict(), "rnn_cell.ff2.bias": torch.ones(7)}),
        lambda: setattr(layer.rnn_cell, "time_b", torch.nn.Linear(128, 7)),
    ):
        change()
        with torch.no_grad():
            seen.append(layer(x)[0].numpy().tobytes())
    assert len(set(seen)) == len(seen)
    assert torch.func.functional_call(layer, {"rnn_cell.ff1.bias": torch.full((7,), 3.0)}, (x,))[0].numpy(force=True).tobytes() not in seen


def test_a_graph_may_have_several_calls_and_be_gone_over_twice():
    layer = make("wired")
    x, hx, times = sequence(layer)
    first, state = layer(x, hx, times)
    second, _ = layer(x, state, times)
    loss = first.sum() + second.square().sum()
    loss.backward(retain_graph=True)
    once = {name: each.grad.clone() for name, each in layer.named_parameters() if each.requires_grad}
    loss.backward()
    for name, each in layer.named_parameters():
        if each.requires_grad:
            np.testing.assert_array_equal(each.grad, 2 * once[name], err_msg=name)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_second_derivatives_are_refused():
    layer = make("cfc")
    x, hx, times = sequence(layer)
    (gradient,) = torch.autograd.grad(loss_of(layer, x, hx, times), x, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        gradient.square().sum().backward()
    # Without being differentiated it is a gradient like any other.
    np.testing.assert_array_equal(gradient.detach(), torch.autograd.grad(loss_of(layer, x, hx, times), x)[0])


@pytest.mark.parametrize("name", ["cfc", "last", "ltc"])
def test_compilers_take_it_whole(name):
    layer = make(name)
    given = sequence(layer)
    # "aot_eager" captures forward and backward without wanting a C++ compiler; fullgraph refuses to break.
    compiled = torch.compile(lambda *call: loss_of(layer, *call), fullgraph=True, backend="aot_eager")
    found = compiled(*given)
    found.backward()
    gradients = [each.grad.clone() for each in [*flat(given), *layer.parameters()] if each.requires_grad]
    layer.zero_grad()
    again = sequence(layer)
    wanted = loss_of(layer, *again)
    wanted.backward()
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    for a, b in zip(gradients, (each.grad for each in [*flat(again), *layer.parameters()] if each.requires_grad), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 * max(1.0, float(b.abs().max())))


def test_the_operators_keep_pytorchs_rules():
    layer = make("mixed")
    x, (state, memory), times = sequence(layer)
    arguments = (layer._kernel.description, x, state, memory, times, layer._collected(), None)
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(torch.ops.tessera.ncp_run.default, arguments, test_utils=checks)


def test_copies_and_files(tmp_path):
    for name in LAYERS:
        layer = make(name).eval()
        x, hx, times = sequence(layer)
        wanted, _ = layer(x, hx, times)
        other = copy.deepcopy(layer)
        with torch.no_grad():
            for each in other.parameters():
                each.mul_(0.9)
        assert torch.equal(layer(x, hx, times)[0], wanted) and not torch.equal(other(x, hx, times)[0], wanted)
        file = io.BytesIO()
        torch.save(layer, file)
        file.seek(0)
        assert torch.equal(torch.load(file, weights_only=False)(x, hx, times)[0], wanted)
        again = make(name, seed=9)
        again.load_state_dict(layer.state_dict())
        assert torch.equal(again(x, hx, times)[0], wanted)
        # Files of the layers on numpy, and back.
        numpy = (ncps.CfC if isinstance(layer, CfC) else ncps.LTC).from_config(json.loads(layer._kernel.description))
        numpy.load_state_dict(layer.state_dict())
        numpy.save(tmp_path / "layer.safetensors")
        again.load_state_dict({key: torch.from_numpy(value) for key, value in numpy.state_dict().items()})
        assert torch.equal(again(x, hx, times)[0], wanted)


def test_dropout_follows_pytorchs_seed():
    torch.manual_seed(0)
    layer = CfC(5, 7, backbone_layers=3, backbone_units=20, backbone_dropout=0.5)
    x = torch.randn(3, 4, 5)

    def run(seed):
        torch.manual_seed(seed)
        return layer(x)[0].detach()

    assert torch.equal(run(1), run(1)) and not torch.equal(run(1), run(2))
    layer.eval()
    assert torch.equal(run(1), run(2))


def test_constraints_are_applied_in_place():
    cell = LTCCell(wirings.FullyConnected(4), 3)
    with torch.no_grad():
        cell.w.sub_(1)
    cell.apply_weight_constraints()
    assert float(cell.w.min()) == 0 and cell.w.requires_grad
    assert LTC(3, 4, implicit_param_constraints=False).rnn_cell.apply_weight_constraints() is None


def test_empty_batches_meta_tensors_and_autocast():
    layer = make("wired")
    output, state = layer(torch.zeros(0, 6, 5))
    assert output.shape == (0, 6, 2) and state.shape == (0, 12)
    somewhere = copy.deepcopy(layer).to("meta")
    output, state = somewhere(torch.zeros(3, 6, 5, device="meta"))
    assert output.shape == (3, 6, 2) and output.device.type == "meta" and state.shape == (3, 12)
    x = torch.randn(3, 6, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(x.bfloat16())[0]
    assert torch.equal(found, layer(x.bfloat16().float())[0])


def test_strides_do_not_matter():
    layer = make("cfc")
    x, hx, times = sequence(layer)
    strided = torch.zeros(4, 6, 10)[..., ::2].copy_(x.detach())
    assert not strided.is_contiguous()
    found = layer(strided, hx.detach().t().contiguous().t(), times.detach().t().contiguous().t())[0]
    assert torch.equal(found, layer(x, hx, times)[0])


def test_mistakes_say_what_is_wrong():
    layer = make("cfc")
    x = torch.zeros(2, 3, 5)
    for call, text in (
        (lambda: layer(torch.zeros(2, 3, 4)), r"the input is \[2, 3, 4\]: \(batch, steps, 5\)"),
        (lambda: layer(torch.zeros(2, 0, 5)), "at least one step"),
        (lambda: layer(x, torch.zeros(3, 7)), r"the initial state is \[3, 7\], but should be \[2, 7\]"),
        (lambda: layer(x, torch.zeros(7)), "states have to be 2-D"),
        (lambda: layer(x, timespans=torch.ones(2, 4)), r"timespans are \[2, 4\]: a number, \[2, 3\]"),
        (lambda: layer(x, timespans=torch.full((2, 3), float("nan"))), "timespan 0 is nan"),
        (lambda: layer(x.double()), "torch.float32 on cpu, but the input is torch.float64"),
        (lambda: layer(x.half()), "compute in float32"),
        (lambda: make("mixed")(x, torch.zeros(2, 7)), r"a tuple \(h0, c0\)"),
        (lambda: layer.rnn_cell(x, torch.zeros(2, 7)), r"a cell is \[2, 3, 5\]"),
        (lambda: CfC(5, 7, mode="quick"), "no mode 'quick': default, pure, no_gate"),
        (lambda: CfC(5, 7, activation="sine"), "no activation 'sine'"),
        (lambda: CfC(5, wirings.AutoNCP(8, 2), backbone_units=3), "backbone_units is 3: leave it out"),
    ):
        with pytest.raises(tessera.InvalidArgument, match=text):
            call()
    with torch.no_grad():
        layer.rnn_cell.ff1.weight[0, 0] = float("nan")
    with pytest.raises(RuntimeError, match=r"'rnn_cell.ff1.weight' has nan"):
        layer(x)
    layer = make("wired")
    layer.rnn_cell.layer_0.sparsity_mask.requires_grad_()
    with pytest.raises(tessera.InvalidArgument, match="says which synapses there are"):
        layer(x)
    layer = make("cfc")
    layer.rnn_cell.ff1 = torch.nn.Linear(128, 8)
    with pytest.raises(tessera.InvalidArgument, match=r"'rnn_cell.ff1.weight' is \[8, 128\], but the layer needs \[7, 128\]"):
        layer(x)
