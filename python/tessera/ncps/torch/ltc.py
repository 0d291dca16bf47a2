"""Liquid time-constant layers and cells."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tessera.ncps import wirings
from tessera.ncps.ltc import description_of
from tessera.ncps.torch.kernel import Tensor
from tessera.ncps.torch.lstm import LSTMCell
from tessera.ncps.torch.module import CellModule, SequenceModule, WiredModule

# Where parameters begin: uniform between these.
_RANGES = {
    "gleak": (0.001, 1.0),
    "vleak": (-0.2, 0.2),
    "cm": (0.4, 0.6),
    "sigma": (3.0, 8.0),
    "mu": (0.3, 0.8),
    "w": (0.001, 1.0),
}
# What explicit constraints keep from being negative.
_POSITIVE = ("w", "sensory_w", "cm", "gleak")


class LTCCell(CellModule, WiredModule):
    """One step of an LTC, with the arguments of ncps.torch.LTCCell: cell(inputs, states, elapsed_time=1.0)."""

    def __init__(
        self,
        wiring: wirings.Wiring,
        in_features: int | None = None,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = False,
    ) -> None:
        super().__init__()
        self._description = description_of(
            wiring,
            in_features,
            input_mapping,
            output_mapping,
            ode_unfolds,
            epsilon,
            implicit_param_constraints,
            "semi_implicit",
        )
        self._wiring = wiring
        self._implicit_param_constraints = implicit_param_constraints
        self._make_parameters(wiring, input_mapping, output_mapping)
        self._use(self._description | {"return_sequences": False}, "rnn_cell.")

    # In the order in which ncps draws its random numbers.
    def _make_parameters(
        self, wiring: wirings.Wiring, input_mapping: str | None, output_mapping: str | None
    ) -> None:
        units, inputs, outputs = wiring.units, len(wiring._sensory()), wiring.output_dim or wiring.units

        def draw(name: str, *shape: int, prefix: str = "") -> None:
            low, high = _RANGES[name]
            self.register_parameter(prefix + name, nn.Parameter(torch.rand(*shape) * (high - low) + low))

        def put(name: str, values: Any, trained: bool = True) -> None:
            tensor = torch.as_tensor(values, dtype=torch.get_default_dtype()).clone()
            self.register_parameter(name, nn.Parameter(tensor, requires_grad=trained))

        for name in ("gleak", "vleak", "cm"):
            draw(name, units)
        for name in ("sigma", "mu", "w"):
            draw(name, units, units)
        put("erev", wiring.erev_initializer())
        for name in ("sigma", "mu", "w"):
            draw(name, inputs, units, prefix="sensory_")
        put("sensory_erev", wiring.sensory_erev_initializer())
        put("sparsity_mask", abs(wiring.adjacency_matrix), trained=False)
        put("sensory_sparsity_mask", abs(wiring._sensory()), trained=False)
        for side, mapping, width in (("input", input_mapping, inputs), ("output", output_mapping, outputs)):
            if mapping in ("affine", "linear"):
                put(f"{side}_w", torch.ones(width))
            if mapping == "affine":
                put(f"{side}_b", torch.zeros(width))

    def apply_weight_constraints(self) -> None:
        """With explicit constraints, after each step of an optimiser: negative w, sensory_w, cm and gleak become 0."""
        if self._implicit_param_constraints:
            return
        with torch.no_grad():
            for name in _POSITIVE:
                self.get_parameter(name).clamp_(min=0)

    def forward(self, inputs: Tensor, states: Tensor, elapsed_time: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
        """inputs (batch, inputs), states (batch, units), elapsed_time a number, (batch), (batch, 1) or (batch, units)."""
        return self._step(inputs, states, elapsed_time)


class LTC(SequenceModule, WiredModule):
    """A liquid time-constant layer over sequences, with the arguments of ncps.torch.LTC.

    units: how many, fully connected, or a wiring. The state is motor, command, inter; no elapsed time leaves it as it is.
    """

    def __init__(
        self,
        input_size: int | None,
        units: int | wirings.Wiring,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = True,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.wiring_or_units = units
        self.batch_first = batch_first
        self.return_sequences = return_sequences
        self.use_mixed = mixed_memory
        wiring = units if isinstance(units, wirings.Wiring) else wirings.FullyConnected(units)
        self.rnn_cell = LTCCell(
            wiring, input_size, input_mapping, output_mapping, ode_unfolds, epsilon, implicit_param_constraints
        )
        self._wiring = wiring
        if mixed_memory:
            self.lstm = LSTMCell(len(wiring._sensory()), wiring.units)
        self._use(
            self.rnn_cell._description
            | {"mixed_memory": mixed_memory, "return_sequences": return_sequences, "batch_first": batch_first}
        )

    def apply_weight_constraints(self) -> None:
        self.rnn_cell.apply_weight_constraints()
