"""Cells: one step at a time, states handed in and out."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from tessera._tessera import InvalidArgument, NcpLayer
from tessera.ncps import wirings
from tessera.ncps.model import Array, Gradients, Loss, LossGradient, Model, floats

Self = TypeVar("Self", bound="Cell")


class Wired(Model):
    """What upstream's cells, and its LTC, say of their wiring."""

    def _built(self) -> wirings.Wiring:
        wiring = self.wiring
        if wiring is None:
            raise InvalidArgument("there is no wiring")
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
        """Of the sensory synapses. (Upstream gives the count of the others.)"""
        return self._built().sensory_synapse_count


class Cell(Wired):
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
        x = _sequence(input)
        return self._run(x, state, _times(elapsed, len(x), self.state_size), training)

    def _differentiate(self, *arguments: Any) -> Gradients:
        found = super()._differentiate(*arguments)
        return found._replace(input=found.input[:, 0])

    def loss_gradient(
        self, input: Any, target: Any = None, *, loss: Loss = "mse", hx: Any = None, timespans: Any = None
    ) -> LossGradient:
        """Of one step: input (batch, inputs), timespans as the elapsed time of a call."""
        x = _sequence(input)
        times = None if timespans is None else _times(timespans, len(x), self.state_size)
        return super().loss_gradient(x, target, loss=loss, hx=hx, timespans=times)


def _sequence(input: Any) -> Array:
    """One step as a sequence."""
    x = floats(input)
    if x.ndim != 2:
        raise InvalidArgument(f"a cell takes (batch, inputs), not {list(x.shape)}: for sequences there are CfC and LTC")
    return x[:, None]


def _times(elapsed: Any, batch: int, units: int) -> Any:
    """For one step: a number, (batch,), (batch, 1) or (batch, units)."""
    times = floats(elapsed)
    if times.size == 1:
        return times.reshape(())
    if times.shape in ((batch,), (batch, 1), (batch, units)):
        return times.reshape(batch, 1, -1)
    raise InvalidArgument(
        f"the elapsed time is {list(times.shape)}: a number, [{batch}], [{batch}, 1] or [{batch}, {units}] is expected"
    )
