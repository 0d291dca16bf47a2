"""Closed-form continuous-time layers and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument, NcpLayer
from tessera.ncps import wirings
from tessera.ncps.cell import Cell
from tessera.ncps.model import Array, built_spec
from tessera.ncps.training import Layer, sequence_options

_WIDTH = 128
_LAYERS = 1


def backbone_widths(units: int | Sequence[int] | None, layers: int | None) -> list[int]:
    """A list of widths, or upstream's one width and number of layers."""
    if units is None:
        units = _WIDTH
    if not isinstance(units, Sequence) and not hasattr(units, "__iter__"):
        return [int(units)] * (_LAYERS if layers is None else layers)
    widths = [int(width) for width in units]
    if layers is not None and layers != len(widths):
        raise InvalidArgument(f"backbone_units has {len(widths)} widths {widths}, but backbone_layers is {layers}")
    return widths


class CfC(Layer):
    """A closed-form continuous-time layer over sequences, with the arguments of ncps.torch.CfC.

    units: how many, or a wiring. backbone_units may also be a list of widths. Beyond upstream:
    dialect: "torch", "keras", "mlx" or "paper": whose formulas.
    cell: a CfCCell or WiredCfCCell to run over sequences, instead of input_size and units.
    seed: of the initial parameters.
    """

    def __init__(
        self,
        input_size: int | None = None,
        units: int | wirings.Wiring | None = None,
        proj_size: int | None = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        mode: str = "default",
        activation: str = "lecun_tanh",
        backbone_units: int | Sequence[int] | None = None,
        backbone_layers: int | None = None,
        backbone_dropout: float | None = None,
        *,
        dialect: str = "torch",
        cell: Cell | None = None,
        seed: int | None = None,
    ) -> None:
        wrapper = sequence_options(mixed_memory, return_sequences, batch_first)
        if cell is not None:
            self._init_from(cell, input_size, units, {"proj_size": proj_size, **wrapper}, seed)
            return
        if units is None:
            raise InvalidArgument("CfC needs input_size and units (a number or a wiring), or a cell")
        if isinstance(units, wirings.Wiring):
            for name, value in (
                ("backbone_units", backbone_units),
                ("backbone_layers", backbone_layers),
                ("backbone_dropout", backbone_dropout),
            ):
                if value is not None:
                    raise InvalidArgument(f"with a wiring there is no backbone, but {name} is {value}: leave it out")
            spec = built_spec(units, input_size)
            what: dict[str, Any] = {"input_size": units.input_dim, "wiring": spec}
        else:
            if input_size is None:
                raise InvalidArgument(f"CfC of {units} units needs input_size")
            what = {
                "input_size": input_size,
                "units": units,
                "backbone_units": backbone_widths(backbone_units, backbone_layers),
                "backbone_dropout": backbone_dropout or 0.0,
                "activation": activation,
            }
        description = {"type": "CfC", **what, "mode": mode, "dialect": dialect, "proj_size": proj_size, **wrapper}
        super().__init__(description, seed)

    def _init_from(
        self, cell: Cell, input_size: Any, units: Any, wrapper: dict[str, Any], seed: int | None
    ) -> None:
        if not isinstance(cell, (CfCCell, WiredCfCCell)):
            raise InvalidArgument(f"CfC runs a CfCCell or a WiredCfCCell, not a {type(cell).__name__}")
        if units is not None or (input_size is not None and input_size != cell.input_size):
            raise InvalidArgument(f"a cell of {cell.input_size} inputs knows its sizes: leave input_size and units out")
        inner = cell.get_config()
        if wrapper["proj_size"] is None:
            wrapper = {**wrapper, "proj_size": inner["proj_size"]}
        super().__init__({**inner, **wrapper}, seed)
        self.load_state_dict(cell._layer.state_dict(), strict=False)

    @classmethod
    def _kind(cls) -> str:
        return "CfC"

    @property
    def proj_size(self) -> int | None:
        size: int | None = self._config["proj_size"]
        return size

    @property
    def wired_mode(self) -> bool:
        return "wiring" in self._config

    @property
    def rnn_cell(self) -> CfCCell | WiredCfCCell:
        """The cell alone, with copies of its parameters."""
        cell: CfCCell | WiredCfCCell = (WiredCfCCell if self.wired_mode else CfCCell)._of(self)
        return cell


class CfCCell(Cell):
    """One step of a CfC, with the arguments of ncps.torch.CfCCell: cell(input, hx, ts) -> (output, state).

    Or, as in MLX guides, ``CfCCell(wiring=wiring, backbone_units=[64, 64], backbone_layers=2)``: a cell of as many units
    as the wiring has, between its inputs and outputs. The backbone mixes everything, so that the wiring's synapses do
    not matter; the formulas are those of "mlx" unless another dialect is given.
    """

    def __init__(
        self,
        input_size: int | None = None,
        hidden_size: int | None = None,
        mode: str = "default",
        backbone_activation: str = "lecun_tanh",
        backbone_units: int | Sequence[int] = _WIDTH,
        backbone_layers: int | None = None,
        backbone_dropout: float = 0.0,
        sparsity_mask: Any = None,
        *,
        wiring: wirings.Wiring | None = None,
        activation: str | None = None,
        dialect: str | None = None,
        seed: int | None = None,
    ) -> None:
        common = {
            "type": "CfC",
            "mode": mode,
            "dialect": dialect or ("torch" if wiring is None else "mlx"),
            "return_sequences": False,
        }
        dense = {
            "activation": activation or backbone_activation,
            "backbone_units": backbone_widths(backbone_units, backbone_layers),
            "backbone_dropout": backbone_dropout,
        }
        if wiring is not None:
            if hidden_size is not None or sparsity_mask is not None:
                raise InvalidArgument("a cell with a wiring has its sizes and synapses: leave hidden_size and sparsity_mask out")
            built_spec(wiring, input_size)
            outputs = wiring.units if wiring.output_dim is None else wiring.output_dim
            sizes = {"input_size": wiring.input_dim, "units": wiring.units}
            super().__init__({**common, **sizes, **dense, "proj_size": None if outputs == wiring.units else outputs}, seed)
            return
        if input_size is None or hidden_size is None:
            raise InvalidArgument("CfCCell needs input_size and hidden_size, or a wiring")
        if sparsity_mask is None:
            super().__init__({**common, "input_size": input_size, "units": hidden_size, **dense}, seed)
            return
        mask = np.abs(np.asarray(sparsity_mask, np.float32))
        if backbone_layers != 0:
            raise InvalidArgument(f"a sparsity mask needs backbone_layers=0, not {backbone_layers}")
        if mask.shape != (input_size + hidden_size, hidden_size):
            raise InvalidArgument(
                f"the sparsity mask is {list(mask.shape)}, but {input_size} inputs and {hidden_size} units need "
                f"[{input_size + hidden_size}, {hidden_size}]"
            )
        self._prefix = "rnn_cell.layer_0."
        every = wirings.FullyConnected(hidden_size)
        super().__init__({**common, "input_size": input_size, "wiring": built_spec(every, input_size)}, seed)
        self.load_state_dict({"sparsity_mask": mask.T}, strict=False)

    @classmethod
    def _kind(cls) -> str:
        return "CfC"

    def _restore(self, layer: NcpLayer) -> None:
        super()._restore(layer)
        if "wiring" in self._config:
            self._prefix = "rnn_cell.layer_0."

    @property
    def hidden_size(self) -> int:
        return self.state_size

    def __call__(self, input: Any, hx: Any, ts: Any = 1.0, *, training: bool | None = None) -> tuple[Array, Array]:
        """input (batch, inputs), hx (batch, units), ts a number or (batch, 1)."""
        return self._step(input, hx, ts, training)

    forward = __call__


class WiredCfCCell(Cell):
    """One step of a CfC over a wiring: a cell for each layer of it. The state is inter, command, motor."""

    def __init__(
        self,
        input_size: int | None,
        wiring: wirings.Wiring,
        mode: str = "default",
        *,
        dialect: str = "torch",
        seed: int | None = None,
    ) -> None:
        spec = built_spec(wiring, input_size)
        description = {
            "type": "CfC",
            "input_size": wiring.input_dim,
            "wiring": spec,
            "mode": mode,
            "dialect": dialect,
            "return_sequences": False,
        }
        super().__init__(description, seed)

    @classmethod
    def _kind(cls) -> str:
        return "CfC"

    @property
    def layer_sizes(self) -> list[int]:
        return [len(neurons) for _, neurons in self._built().layers]

    @property
    def num_layers(self) -> int:
        return self._built().num_layers

    def __call__(
        self, input: Any, hx: Any, timespans: Any = 1.0, *, training: bool | None = None
    ) -> tuple[Array, Array]:
        return self._step(input, hx, timespans, training)

    forward = __call__
