"""Liquid time-constant layers and cells."""

from __future__ import annotations

from typing import Any

from tessera._tessera import InvalidArgument
from tessera.ncps import wirings
from tessera.ncps.cell import Cell, Wired
from tessera.ncps.model import Array, built_spec
from tessera.ncps.training import Layer, sequence_options

_MAPPINGS = ("affine", "linear")


def _mapping(name: str | None) -> str:
    # Upstream takes anything else for none at all.
    return name if name in _MAPPINGS else "none"


def description_of(
    wiring: wirings.Wiring,
    input_size: int | None,
    input_mapping: str | None,
    output_mapping: str | None,
    ode_unfolds: int,
    epsilon: float,
    implicit_param_constraints: bool,
    solver: str,
) -> dict[str, Any]:
    spec = built_spec(wiring, input_size)
    return {
        "type": "LTC",
        "input_size": wiring.input_dim,
        "wiring": spec,
        "solver": solver,
        "ode_unfolds": ode_unfolds,
        "epsilon": epsilon,
        "implicit_param_constraints": implicit_param_constraints,
        "input_mapping": _mapping(input_mapping),
        "output_mapping": _mapping(output_mapping),
    }


class LTC(Layer, Wired):
    """A liquid time-constant layer over sequences, with the arguments of ncps.torch.LTC.

    units: how many, fully connected, or a wiring. The state is motor, command, inter; no elapsed time leaves it as it is.
    Beyond upstream:
    solver: "semi_implicit" as upstream, "explicit" (Euler) or "rk4" (Runge and Kutta's of order 4).
    seed: of the initial parameters.
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
        *,
        solver: str = "semi_implicit",
        seed: int | None = None,
    ) -> None:
        wiring = units if isinstance(units, wirings.Wiring) else wirings.FullyConnected(units)
        description = description_of(
            wiring, input_size, input_mapping, output_mapping, ode_unfolds, epsilon, implicit_param_constraints, solver
        )
        super().__init__(description | sequence_options(mixed_memory, return_sequences, batch_first), seed)

    @classmethod
    def _kind(cls) -> str:
        return "LTC"

    def apply_weight_constraints(self) -> None:
        """With explicit constraints, after each step of an optimiser: negative w, sensory_w, cm and gleak become 0."""
        self._layer.apply_constraints()

    @property
    def rnn_cell(self) -> LTCCell:
        """The cell alone, with copies of its parameters; constraints applied to it are applied here."""
        cell = LTCCell._of(self)
        cell._owner = self
        return cell


class LTCCell(Cell):
    """One step of an LTC, with the arguments of ncps.torch.LTCCell: cell(inputs, states, elapsed_time=1.0)."""

    _owner: LTC | None = None

    def __init__(
        self,
        wiring: wirings.Wiring,
        in_features: int | None = None,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = False,
        *,
        solver: str = "semi_implicit",
        seed: int | None = None,
    ) -> None:
        if not isinstance(wiring, wirings.Wiring):
            raise InvalidArgument(f"LTCCell takes a wiring first, not {wiring!r}: wirings.FullyConnected({wiring!r})?")
        description = description_of(
            wiring, in_features, input_mapping, output_mapping, ode_unfolds, epsilon, implicit_param_constraints, solver
        )
        super().__init__(description | {"return_sequences": False}, seed)

    @classmethod
    def _kind(cls) -> str:
        return "LTC"

    def apply_weight_constraints(self) -> None:
        self._layer.apply_constraints()
        if self._owner is not None:
            self._owner.apply_weight_constraints()

    def __call__(
        self, inputs: Any, states: Any, elapsed_time: Any = 1.0, *, training: bool | None = None
    ) -> tuple[Array, Array]:
        """inputs (batch, inputs), states (batch, units), elapsed_time a number or (batch, 1): (outputs, states)."""
        return self._step(inputs, states, elapsed_time, training)

    forward = __call__
