"""Results are what tessera.results says: the keys, and values of those types."""

import pathlib
import typing

import numpy as np
import tessera
from tessera import results, ttnn
from tessera.ncps import CfC


def assert_is(value, kind):
    """The value is a dictionary of that TypedDict, with all of its required keys and no others."""
    hints = typing.get_type_hints(kind)
    assert set(kind.__required_keys__) <= set(value) <= set(hints), (kind.__name__, sorted(value))
    for key, item in value.items():
        wanted = typing.get_origin(hints[key]) or hints[key]
        number = wanted is float and isinstance(item, int | float)
        assert number or isinstance(item, wanted), f"{kind.__name__}[{key!r}] is {item!r}, not {wanted}"


def test_sessions():
    session = tessera.Session("resnet18")
    for step in session.profile(runs=1, warm_up=0):
        assert_is(step, results.ProfiledStep)
    assert_is(session.plan_summary(), results.PlanSummary)


def test_transfers_of_a_card():
    device = ttnn.open_device(device_id=0)
    x = ttnn.from_numpy(np.ones((64, 64), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.relu(x)
    programs = ttnn.transfers(device)
    assert programs
    for program in programs:
        assert_is(program, results.Program)
        for transfer in program["transfers"]:
            assert_is(transfer, results.Transfer)
    ttnn.close_device(device)


def test_training():
    x, y = np.zeros((4, 3, 2), np.float32), np.zeros((4, 3, 1), np.float32)
    model = CfC(2, 1)
    (plain,) = model.fit(x, y, epochs=1)
    (validated,) = model.fit(x, y, epochs=1, validation_data=(x, y))
    assert_is(plain, results.EpochReport)
    assert_is(validated, results.EpochReport)
    assert "val_loss" in validated and "val_loss" not in plain
    assert_is(model.evaluate(x, y), results.Evaluation)


def test_the_stub_names_them():
    stub = (pathlib.Path(tessera.__file__).parent / "_tessera.pyi").read_text(encoding="utf-8")
    for kind in ("ProfiledStep", "PlanSummary", "Program", "EpochReport", "Evaluation", "NamedArrays"):
        assert f"results.{kind}" in stub
