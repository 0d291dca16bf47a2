"""What the modules have in common: their parameters in the library's order, and the forms of what they are called with."""

from __future__ import annotations

from typing import Any

import torch

from tessera._tessera import InvalidArgument
from tessera.ncps import wirings
from tessera.ncps.torch.autograd import Results, run
from tessera.ncps.torch.kernel import Kernel, Tensor, check_tensors


class LiquidModule(torch.nn.Module):
    """A module that the library computes. Modules inside hold parameters; forward hooks on them are not called."""

    _kernel: Kernel
    # Where parameters are: names of modules, and of what one of them holds, in the library's order.
    _places: list[tuple[list[str], list[str]]]

    def _use(self, description: dict[str, Any], prefix: str = "") -> None:
        """Computes what the description says; the prefix stands before names of parameters in the library only."""
        self._kernel = Kernel(description)
        self._places = []
        for name, _, _ in self._kernel.parameters:
            *modules, own = name.removeprefix(prefix).split(".")
            if not self._places or self._places[-1][0] != modules:
                self._places.append((modules, []))
            self._places[-1][1].append(own)

    def _collected(self) -> list[Tensor]:
        out = []
        for modules, names in self._places:
            module: torch.nn.Module = self
            for name in modules:
                module = module._modules[name]  # type: ignore[assignment]
            held = module._parameters
            for own in names:
                tensor = held.get(own)
                # A parametrisation, or weight_norm, computes it.
                out.append(getattr(module, own) if tensor is None else tensor)
        return out

    def _dropout_seed(self) -> Tensor | None:
        """From PyTorch's generator, where there is something to drop."""
        return None

    def _run(
        self, input: Tensor, state: Tensor | None, memory: Tensor | None, timespans: Tensor | None, mixed: bool = False
    ) -> Results:
        """Of a sequence with a batch; timespans for each step or each unit, or one for all."""
        parameters = self._collected()
        dtype = parameters[0].dtype
        # The library has one precision, as the parameters do.
        if input.dtype is not dtype and not input.is_meta and torch.is_autocast_enabled(input.device.type):
            input = input.to(dtype)
        parameters = check_tensors(self._kernel, input, parameters)
        return run(
            self._kernel,
            input.contiguous(),
            _like(state, input),
            _like(memory, input),
            _like(timespans, input),
            parameters,
            self._dropout_seed(),
            mixed,
        )


def _like(tensor: Tensor | None, input: Tensor) -> Tensor | None:
    if tensor is None:
        return None
    if tensor.device != input.device:
        raise InvalidArgument(f"the input is on {input.device}, but a state or timespans are on {tensor.device}")
    return tensor.to(input.dtype).contiguous()


class SequenceModule(LiquidModule):
    """A layer over sequences."""

    batch_first: bool
    use_mixed: bool

    def _inputs(self) -> int:
        return self._kernel.inputs

    def forward(
        self, input: Tensor, hx: Tensor | tuple[Tensor, Tensor] | None = None, timespans: Tensor | float | None = None
    ) -> tuple[Tensor, Any]:
        """Outputs and the state after the last step; with mixed memory a pair of state and memory.

        input: (batch, steps, inputs), (steps, batch, inputs) without batch_first, or (steps, inputs).
        hx: the initial state, (batch, units), or (units) without a batch; with mixed memory a pair; None: zeros.
        timespans: elapsed time before each step: a number, (batch, steps), (batch, steps, 1) or (batch, steps, units),
        and the two first as the input has them; without a batch they begin with (steps).
        """
        if input.dim() not in (2, 3) or input.shape[-1] != self._inputs():
            order = "(batch, steps, " if self.batch_first else "(steps, batch, "
            raise InvalidArgument(
                f"the input is {list(input.shape)}: {order}{self._inputs()}) is expected, or (steps, {self._inputs()}) "
                "without a batch"
            )
        batched = input.dim() == 3
        axis = 0 if self.batch_first else 1
        state, memory = self._states(hx, batched)
        elapsed = self._times(timespans, input)
        if not batched:
            input = input.unsqueeze(axis)
        if input.shape[1 - axis] == 0:
            raise InvalidArgument(f"the input is {list(input.shape)}: at least one step is needed")
        for what, given in (("initial state", state), ("initial memory", memory)):
            wanted = (input.shape[axis], self._kernel.state_size)
            if given is not None and given.shape != wanted:
                raise InvalidArgument(f"the {what} is {list(given.shape)}, but should be {list(wanted)}")
        output, new_state, new_memory = self._run(input, state, memory, elapsed, self.use_mixed)
        if not batched:
            output = output.squeeze(axis if self._kernel.return_sequences else 0)
            new_state = new_state.squeeze(0)
            new_memory = None if new_memory is None else new_memory.squeeze(0)
        return output, (new_state if new_memory is None else (new_state, new_memory))

    def _states(self, hx: Any, batched: bool) -> tuple[Tensor | None, Tensor | None]:
        if hx is None:
            return None, None
        if self.use_mixed and (isinstance(hx, Tensor) or len(hx) != 2):
            raise InvalidArgument("with mixed_memory=True the state is a tuple (h0, c0), not one tensor")
        if not self.use_mixed and not isinstance(hx, Tensor):
            raise InvalidArgument(f"without mixed memory the state is one tensor, not a {type(hx).__name__}")
        states = hx if self.use_mixed else (hx, None)
        for each in states:
            if each is not None and each.dim() != (2 if batched else 1):
                form = "batched 3-D input, states have to be 2-D" if batched else "unbatched 2-D input, states have to be 1-D"
                raise InvalidArgument(f"for {form}, but one is {each.dim()}-D: {list(each.shape)}")
        if batched:
            return states[0], states[1]
        return states[0].unsqueeze(0), None if states[1] is None else states[1].unsqueeze(0)

    def _times(self, timespans: Tensor | float | None, input: Tensor) -> Tensor | None:
        if timespans is None:
            return None
        if not isinstance(timespans, Tensor):
            return torch.full((1,), float(timespans), dtype=input.dtype, device=input.device)
        if timespans.numel() == 1:
            return timespans.reshape(1)
        steps, units = input.shape[:-1], self._kernel.state_size
        if timespans.shape in (steps, (*steps, 1), (*steps, units)):
            return timespans
        raise InvalidArgument(
            f"timespans are {list(timespans.shape)}: a number, {list(steps)}, {[*steps, 1]} or {[*steps, units]} is "
            "expected, one elapsed time for each sample and step"
        )


class CellModule(LiquidModule):
    """One step at a time, states handed in and out."""

    def _step(self, input: Tensor, hx: Tensor, elapsed: Tensor | float) -> tuple[Tensor, Tensor]:
        inputs, units = self._kernel.inputs, self._kernel.state_size
        if input.dim() != 2 or input.shape[1] != inputs:
            raise InvalidArgument(f"the input of a cell is {list(input.shape)}: (batch, {inputs}) is expected")
        if hx.shape != (input.shape[0], units):
            raise InvalidArgument(f"the state is {list(hx.shape)}, but should be {[input.shape[0], units]}")
        output, state, _ = self._run(input.unsqueeze(1), hx, None, self._elapsed(elapsed, input))
        return output, state

    def _elapsed(self, elapsed: Tensor | float, input: Tensor) -> Tensor | None:
        if not isinstance(elapsed, Tensor):
            if elapsed == 1:
                return None
            return torch.full((1,), float(elapsed), dtype=input.dtype, device=input.device)
        batch, units = input.shape[0], self._kernel.state_size
        if elapsed.numel() == 1:
            return elapsed.reshape(1)
        if elapsed.shape in ((batch,), (batch, 1), (batch, units)):
            return elapsed.reshape(batch, 1, -1)
        raise InvalidArgument(
            f"the elapsed time is {list(elapsed.shape)}: a number, [{batch}], [{batch}, 1] or [{batch}, {units}] is expected"
        )


class WiredModule(LiquidModule):
    """What cells over a wiring, and an LTC, say of it."""

    _wiring: wirings.Wiring

    @property
    def state_size(self) -> int:
        return self._wiring.units

    @property
    def sensory_size(self) -> int | None:
        return self._wiring.input_dim

    @property
    def motor_size(self) -> int | None:
        return self._wiring.output_dim

    @property
    def output_size(self) -> int | None:
        return self.motor_size

    @property
    def synapse_count(self) -> int:
        return self._wiring.synapse_count

    @property
    def sensory_synapse_count(self) -> int:
        """Of the sensory synapses. (Upstream gives the count of the others.)"""
        return self._wiring.sensory_synapse_count
