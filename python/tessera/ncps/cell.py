"""Cells: one step at a time, states handed in and out."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import numpy as np

from tessera._tessera import InvalidArgument, NcpLayer
from tessera.ncps import wirings
from tessera.ncps.model import Array, Model

Self = TypeVar("Self", bound="Cell")


class Cell(Model):
    _prefix = "rnn_cell."

    @classmethod
    def _of(cls: type[Self], model: Model) -> Self:
        """The cell of a model, with copies of its parameters."""
        config = model.get_config()
        config |= {"return_sequences": False, "batch_first": True, "mixed_memory": False}
        if "proj_size" in config:
            config["proj_size"] = None
        layer = NcpLayer(json.dumps(config), 0)
        known = {name for name, _, _ in layer.parameter_list()}
        layer.load_state_dict({name: array for name, array in model._layer.state_dict().items() if name in known})
        cell = cls.__new__(cls)
        cell._restore(layer)
        return cell

    def _step(self, input: Any, state: Any, elapsed: Any, training: bool | None) -> tuple[Array, Array]:
        x = np.asarray(_host(input), np.float32)
        if x.ndim != 2:
            raise InvalidArgument(f"a cell takes (batch, inputs), not {list(x.shape)}: for sequences there are CfC and LTC")
        return self._run(x[:, None], state, _times(elapsed, len(x), self.state_size), training)

    def _built(self) -> wirings.Wiring:
        wiring = self.wiring
        if wiring is None:
            raise InvalidArgument("this cell has no wiring")
        return wiring

    @property
    def sensory_size(self) -> int:
        return self.input_size

    @property
    def motor_size(self) -> int:
        return self.output_size

    @property
    def synapse_count(self) -> int:
        return self._built().synapse_count

    @property
    def sensory_synapse_count(self) -> int:
        """Of the sensory synapses. (Upstream's cells give the count of the others.)"""
        return self._built().sensory_synapse_count


def _host(array: Any) -> Any:
    """Something numpy takes."""
    if getattr(array, "requires_grad", False):
        array = array.detach()
    return array if hasattr(array, "__array__") or not hasattr(array, "__dlpack__") else np.from_dlpack(array)


def _times(elapsed: Any, batch: int, units: int) -> Any:
    """For one step: a number, (batch,), (batch, 1) or (batch, units)."""
    times = np.asarray(_host(elapsed), np.float32)
    if times.size == 1:
        return times.reshape(())
    if times.shape in ((batch,), (batch, 1), (batch, units)):
        return times.reshape(batch, 1, -1)
    raise InvalidArgument(
        f"the elapsed time is {list(times.shape)}: a number, [{batch}], [{batch}, 1] or [{batch}, {units}] is expected"
    )
