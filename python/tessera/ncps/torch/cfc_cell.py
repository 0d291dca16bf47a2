"""Closed-form continuous-time cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from tessera._tessera import InvalidArgument
from tessera.ncps import wirings
from tessera.ncps.cfc import backbone_widths
from tessera.ncps.model import built_spec
from tessera.ncps.torch.kernel import Tensor
from tessera.ncps.torch.module import CellModule, WiredModule

MODES = ("default", "pure", "no_gate")


class LeCun(nn.Module):
    """LeCun's tanh."""

    def forward(self, x: Tensor) -> Tensor:
        return 1.7159 * torch.tanh(0.666 * x)


_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "lecun_tanh": LeCun,
    "silu": nn.SiLU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
}


def check_mode(mode: str) -> None:
    if mode not in MODES:
        raise InvalidArgument(f"there is no mode '{mode}': {', '.join(MODES)}")


def dropout_seed(module: nn.Module, rate: float) -> Tensor | None:
    """What a module in training drops by, from PyTorch's generator."""
    return torch.randint(2**62, ()) if module.training and rate > 0 else None


class CfCCell(CellModule):
    """One step of a CfC, with the arguments of ncps.torch.CfCCell: cell(input, hx, ts) -> (output, state)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        mode: str = "default",
        backbone_activation: str = "lecun_tanh",
        backbone_units: int | Sequence[int] = 128,
        backbone_layers: int | None = None,
        backbone_dropout: float = 0.0,
        sparsity_mask: Any = None,
    ) -> None:
        super().__init__()
        check_mode(mode)
        if backbone_activation not in _ACTIVATIONS:
            raise InvalidArgument(f"there is no activation '{backbone_activation}': {', '.join(_ACTIVATIONS)}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.mode = mode
        self.backbone_units = backbone_widths(backbone_units, backbone_layers)
        self.backbone_layers = len(self.backbone_units)
        self.backbone_activation = backbone_activation
        self.backbone_dropout = backbone_dropout
        self._make_parameters(sparsity_mask)
        common = {"type": "CfC", "input_size": input_size, "mode": mode, "return_sequences": False}
        if sparsity_mask is None:
            self._use({**common, **self._form()}, "rnn_cell.")
        else:  # a wiring of one layer has a mask; which synapses it has does not matter beside it
            every = built_spec(wirings.FullyConnected(hidden_size), input_size)
            self._use({**common, "wiring": every}, "rnn_cell.layer_0.")

    def _form(self) -> dict[str, Any]:
        return {
            "units": self.hidden_size,
            "activation": self.backbone_activation,
            "backbone_units": self.backbone_units,
            "backbone_dropout": self.backbone_dropout,
        }

    # In the order in which ncps draws its random numbers.
    def _make_parameters(self, sparsity_mask: Any) -> None:
        width = self.input_size + self.hidden_size
        self.sparsity_mask: nn.Parameter | None = None
        if sparsity_mask is not None:
            if self.backbone_layers:
                raise InvalidArgument(f"a sparsity mask needs backbone_layers=0, not {self.backbone_layers}")
            mask = np.abs(np.asarray(sparsity_mask, np.float32)).T.copy()
            if mask.shape != (self.hidden_size, width):
                raise InvalidArgument(
                    f"the sparsity mask is {list(mask.T.shape)}, but {self.input_size} inputs and {self.hidden_size} "
                    f"units need {[width, self.hidden_size]}"
                )
            self.sparsity_mask = nn.Parameter(torch.from_numpy(mask), requires_grad=False)
        self.backbone: nn.Sequential | None = None
        layers: list[nn.Module] = []
        for each in self.backbone_units:
            drops = bool(layers) and self.backbone_dropout > 0
            layers += [nn.Linear(width, each), _ACTIVATIONS[self.backbone_activation]()]
            if drops:
                layers.append(nn.Dropout(self.backbone_dropout))
            width = each
        if layers:
            self.backbone = nn.Sequential(*layers)
        self.ff1 = nn.Linear(width, self.hidden_size)
        if self.mode == "pure":
            self.w_tau = nn.Parameter(torch.zeros(1, self.hidden_size))
            self.A = nn.Parameter(torch.ones(1, self.hidden_size))
        else:
            self.ff2 = nn.Linear(width, self.hidden_size)
            self.time_a = nn.Linear(width, self.hidden_size)
            self.time_b = nn.Linear(width, self.hidden_size)
        self.init_weights()

    def init_weights(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() == 2 and parameter.requires_grad:
                nn.init.xavier_uniform_(parameter)

    def _dropout_seed(self) -> Tensor | None:
        return dropout_seed(self, self.backbone_dropout)

    def forward(self, input: Tensor, hx: Tensor, ts: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
        """input (batch, inputs), hx (batch, units), ts a number, (batch), (batch, 1) or (batch, units)."""
        return self._step(input, hx, ts)


class WiredCfCCell(CellModule, WiredModule):
    """One step of a CfC over a wiring: a cell for each layer of it. The state is inter, command, motor."""

    def __init__(self, input_size: int | None, wiring: wirings.Wiring, mode: str = "default") -> None:
        super().__init__()
        check_mode(mode)
        self._spec = built_spec(wiring, input_size)
        self._wiring = wiring
        inputs = wiring.input_dim
        assert inputs is not None
        for number in range(wiring.num_layers):
            neurons = wiring.get_neurons_of_layer(number)
            if number == 0:
                synapses = wiring._sensory()[:, neurons]
            else:
                synapses = wiring.adjacency_matrix[wiring.get_neurons_of_layer(number - 1)][:, neurons]
            mask = np.concatenate([synapses, np.ones((len(neurons), len(neurons)))])
            self.register_module(
                f"layer_{number}", CfCCell(inputs, len(neurons), mode, backbone_layers=0, sparsity_mask=mask)
            )
            inputs = len(neurons)
        self._use(
            {
                "type": "CfC",
                "input_size": wiring.input_dim,
                "wiring": self._spec,
                "mode": mode,
                "return_sequences": False,
            },
            "rnn_cell.",
        )

    @property
    def layer_sizes(self) -> list[int]:
        return [len(self._wiring.get_neurons_of_layer(i)) for i in range(self.num_layers)]

    @property
    def num_layers(self) -> int:
        return self._wiring.num_layers

    def forward(self, input: Tensor, hx: Tensor, timespans: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
        return self._step(input, hx, timespans)
