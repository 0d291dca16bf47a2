"""Layers with random arguments, run by ncps 1.0.1 and by us."""

import json
import pathlib

import numpy as np
import pytest
from safetensors_file import read

from tessera.ncps import CfC, LTC, wirings

ARRAYS, METADATA = read(pathlib.Path(__file__).resolve().parents[1] / "data" / "ncps" / "random.safetensors")
CASES = json.loads(METADATA["cases"])


def test_there_are_many_kinds():
    assert len(CASES) == 40
    assert {case["kind"] for case in CASES} == {"CfC", "LTC"}
    wired = [case["units"][0] for case in CASES if isinstance(case["units"], list)]
    assert set(wired) == {"AutoNCP", "NCP", "FullyConnected", "Random"}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_same_arguments_parameters_and_inputs_give_the_same(number):
    case = CASES[number]
    units = case["units"]
    made = units if isinstance(units, int) else getattr(wirings, units[0])(*units[1])
    model = (CfC if case["kind"] == "CfC" else LTC)(case["inputs"], made, **case["options"])
    prefix = f"{number}.parameters."
    parameters = {name.removeprefix(prefix): array for name, array in ARRAYS.items() if name.startswith(prefix)}
    for name, array in model.state_dict().items():
        if name.endswith("mask"):  # made from our wiring, to be found in theirs
            np.testing.assert_array_equal(array, parameters[name])
    model.load_state_dict(parameters)
    mine = {name: ARRAYS.get(f"{number}.{name}") for name in ("input", "h", "c", "timespans", "output", "state")}
    hx = mine["h"] if mine["c"] is None else (mine["h"], mine["c"])
    output, state = model(mine["input"], hx, mine["timespans"])
    state = state if mine["c"] is None else state[0]
    for found, wanted in ((output, mine["output"]), (state, mine["state"])):
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() <= 1e-5 * max(1, np.abs(wanted).max())
