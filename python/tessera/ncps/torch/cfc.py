"""Closed-form continuous-time layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from tessera._tessera import InvalidArgument
from tessera.ncps import wirings
from tessera.ncps.torch.cfc_cell import CfCCell, WiredCfCCell, dropout_seed
from tessera.ncps.torch.kernel import Tensor
from tessera.ncps.torch.lstm import LSTMCell
from tessera.ncps.torch.module import SequenceModule


class CfC(SequenceModule):
    """A closed-form continuous-time layer over sequences, with the arguments of ncps.torch.CfC.

    units: how many, or a wiring. proj_size: width of a linear layer after it. mode: "default", "pure" or "no_gate".
    backbone_units may also be a list of widths.
    """

    def __init__(
        self,
        input_size: int,
        units: int | wirings.Wiring,
        proj_size: int | None = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        mode: str = "default",
        activation: str = "lecun_tanh",
        backbone_units: int | Sequence[int] | None = None,
        backbone_layers: int | None = None,
        backbone_dropout: float | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.wiring_or_units = units
        self.proj_size = proj_size
        self.return_sequences = return_sequences
        self.batch_first = batch_first
        self.use_mixed = mixed_memory
        self.wired_mode = isinstance(units, wirings.Wiring)
        self._dropout_rate = backbone_dropout or 0.0
        self.rnn_cell: CfCCell | WiredCfCCell
        if isinstance(units, wirings.Wiring):
            for name, value in (
                ("backbone_units", backbone_units),
                ("backbone_layers", backbone_layers),
                ("backbone_dropout", backbone_dropout),
            ):
                if value is not None:
                    raise InvalidArgument(f"with a wiring there is no backbone, but {name} is {value}: leave it out")
            self.wiring = units
            self.rnn_cell = WiredCfCCell(input_size, units, mode)
            self.state_size = units.units
            self.output_size = units.output_dim
            form: dict[str, Any] = {"wiring": self.rnn_cell._spec}
        else:
            self.rnn_cell = CfCCell(
                input_size,
                units,
                mode,
                activation,
                128 if backbone_units is None else backbone_units,
                backbone_layers,
                self._dropout_rate,
            )
            self.state_size = self.output_size = units
            form = self.rnn_cell._form()
        readout = self.rnn_cell._kernel.outputs
        if mixed_memory:
            self.lstm = LSTMCell(self.rnn_cell._kernel.inputs, self.state_size)
        self.fc: nn.Module = nn.Identity() if proj_size is None else nn.Linear(readout, proj_size)
        self._use(
            {
                "type": "CfC",
                "input_size": self.rnn_cell._kernel.inputs,
                **form,
                "mode": mode,
                "proj_size": proj_size,
                "mixed_memory": mixed_memory,
                "return_sequences": return_sequences,
                "batch_first": batch_first,
            }
        )

    def _dropout_seed(self) -> Tensor | None:
        return dropout_seed(self, self._dropout_rate)
