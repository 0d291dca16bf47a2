"""The library's layers over the memory of tensors."""

from __future__ import annotations

import operator
from typing import Any

import torch

from tessera._tessera import InvalidArgument, NcpCall, NcpFunction
from tessera.ncps.wirings import json_text

Tensor = torch.Tensor


class Kernel:
    """What one module computes with: it keeps what is packed from that module's parameters."""

    __slots__ = (
        "batch_first",
        "description",
        "frozen",
        "inputs",
        "native",
        "outputs",
        "parameters",
        "return_sequences",
        "state_size",
        "wanted",
    )

    def __init__(self, description: dict[str, Any] | str) -> None:
        self.description = description if isinstance(description, str) else json_text(description)
        self.native = NcpFunction(self.description)
        self.parameters: list[tuple[str, tuple[int, ...], bool]] = self.native.parameter_list()
        # What _WHAT finds of parameters that need no second look, by their type.
        self.wanted = {
            dtype: [(shape, dtype, True) for _, shape, _ in self.parameters] for dtype in (torch.float32, torch.float64)
        }
        self.frozen = [i for i, (_, _, trainable) in enumerate(self.parameters) if not trainable]
        self.inputs: int = self.native.inputs
        self.state_size: int = self.native.state_size
        self.outputs: int = self.native.outputs
        self.return_sequences: bool = self.native.return_sequences
        self.batch_first: bool = self.native.batch_first

    def __reduce__(self) -> Any:  # copies of a module have other parameters
        return Kernel, (self.description,)

    def batch_and_steps(self, input: Tensor) -> tuple[int, int]:
        first, second = input.shape[:2]
        return (first, second) if self.batch_first else (second, first)

    def output_shape(self, input: Tensor) -> tuple[int, ...]:
        if self.return_sequences:
            return (*input.shape[:2], self.outputs)
        return self.batch_and_steps(input)[0], self.outputs

    def empty_results(self, input: Tensor, memory: bool) -> tuple[Tensor, Tensor, Tensor | None]:
        states = (self.batch_and_steps(input)[0], self.state_size)
        return (
            input.new_empty(self.output_shape(input)),
            input.new_empty(states),
            input.new_empty(states) if memory else None,
        )

    def call(
        self,
        keep: bool,
        input: Tensor,
        state: Tensor | None,
        memory: Tensor | None,
        timespans: Tensor | None,
        parameters: tuple[Tensor, ...] | list[Tensor],
        seed: Tensor | None,
        mixed: bool,
        differentiate_timespans: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor | None, NcpCall | None]:
        """Output, state and memory; with `keep` also what goes back over the call while its tensors live.

        Tensors are contiguous, on the CPU, and all float32 or all float64.
        """
        batch, steps = self.batch_and_steps(input)
        output, new_state, new_memory = self.empty_results(input, mixed)
        call = self.native.call(
            input.dtype is torch.float64,
            keep,
            batch,
            steps,
            input.data_ptr(),
            address(state),
            address(memory),
            address(timespans),
            0 if timespans is None else timespans.numel(),
            [each.data_ptr() for each in parameters],
            output.data_ptr(),
            new_state.data_ptr(),
            address(new_memory),
            None if seed is None else int(seed),
            differentiate_timespans,
        )
        return output, new_state, new_memory, call


def address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


_WHAT = operator.attrgetter("shape", "dtype", "is_cpu")


def check_tensors(kernel: Kernel, input: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    """Parameters as the library reads them: an Error unless they have its shapes and the input's type and device."""
    dtype = input.dtype
    if dtype is not torch.float32 and dtype is not torch.float64:
        raise InvalidArgument(f"the input is {dtype}: liquid layers compute in float32, or in float64; convert it by .float()")
    # Quick, because it is done for each call; in words that torch.compile does not know.
    if (
        not torch.compiler.is_compiling()
        and input.is_cpu
        and list(map(_WHAT, parameters)) == kernel.wanted[dtype]
        and all(map(Tensor.is_contiguous, parameters))
        and not any(parameters[i].requires_grad for i in kernel.frozen)
    ):
        return parameters
    return _refused_or_copied(kernel, input, parameters)


def _refused_or_copied(kernel: Kernel, input: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    dtype, device = input.dtype, input.device
    for i, (name, shape, trainable) in enumerate(kernel.parameters):
        tensor = parameters[i]
        if tensor.shape != shape:
            raise InvalidArgument(f"parameter '{name}' is {list(tensor.shape)}, but the layer needs {list(shape)}")
        if tensor.dtype is not dtype or tensor.device != device:
            raise InvalidArgument(
                f"parameter '{name}' is {tensor.dtype} on {tensor.device}, but the input is {dtype} on {device}: "
                f"move one of them by .to()"
            )
        if not trainable and tensor.requires_grad:
            raise InvalidArgument(f"parameter '{name}' says which synapses there are: it has no gradient, set requires_grad=False")
        if not tensor.is_contiguous():
            parameters[i] = tensor.contiguous()
    return parameters
