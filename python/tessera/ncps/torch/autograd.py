"""Layers as functions that autograd and torch.compile know."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch

from tessera.ncps.torch.kernel import Kernel, Tensor, address

Results = tuple[Tensor, Tensor, Tensor | None]


def run(
    kernel: Kernel,
    input: Tensor,
    state: Tensor | None,
    memory: Tensor | None,
    timespans: Tensor | None,
    parameters: list[Tensor],
    seed: Tensor | None,
    mixed: bool,
) -> Results:
    """Output, state and memory after the last step, of a sequence. Tensors fit the layer."""
    if torch.compiler.is_compiling() or type(input) not in (Tensor, torch.nn.Parameter):
        # An operator of its own, which no compiler looks into.
        found = torch.ops.tessera.ncp_run(kernel.description, input, state, memory, timespans, parameters, seed)
        return found[0], found[1], found[2] if mixed else None
    if not input.is_cpu:
        return _run_elsewhere(kernel, input, state, memory, timespans, parameters, seed, mixed)
    if torch.is_grad_enabled() and _any_requires_grad(input, state, memory, timespans, parameters):
        found = _Run.apply(kernel, seed, mixed, input, state, memory, timespans, *parameters)
        return found[0], found[1], found[2]
    return kernel.call(False, input, state, memory, timespans, parameters, seed, mixed)[:3]


def _any_requires_grad(*tensors: Tensor | None | list[Tensor]) -> bool:
    for each in tensors:
        if isinstance(each, list):
            if any(tensor.requires_grad for tensor in each):
                return True
        elif each is not None and each.requires_grad:
            return True
    return False


def _run_elsewhere(
    kernel: Kernel,
    input: Tensor,
    state: Tensor | None,
    memory: Tensor | None,
    timespans: Tensor | None,
    parameters: list[Tensor],
    seed: Tensor | None,
    mixed: bool,
) -> Results:
    if input.device.type == "meta":
        return kernel.empty_results(input, mixed)
    _warn_of_copies(str(input.device))

    def here(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.cpu()

    # Copies are part of the graph: gradients go back to where the tensors are.
    output, new_state, new_memory = run(
        kernel, input.cpu(), here(state), here(memory), here(timespans), [each.cpu() for each in parameters], seed, mixed
    )
    device = input.device
    return output.to(device), new_state.to(device), None if new_memory is None else new_memory.to(device)


@functools.cache
def _warn_of_copies(device: str) -> None:
    warnings.warn(
        f"liquid layers run on the CPU: each call copies its tensors from {device} and back. On the CPU (model.cpu()) "
        "they are faster",
        stacklevel=2,
    )


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernel: Kernel,
        seed: Tensor | None,
        mixed: bool,
        input: Tensor,
        state: Tensor | None,
        memory: Tensor | None,
        timespans: Tensor | None,
        *parameters: Tensor,
    ) -> Any:
        needs = ctx.needs_input_grad
        *results, ctx.call = kernel.call(
            True, input, state, memory, timespans, parameters, seed, mixed, timespans is not None and needs[6]
        )
        ctx.save_for_backward(input, state, memory, timespans)
        ctx.shapes = [each.shape for each in parameters]
        given = (input, state, memory, timespans, *parameters)
        ctx.differentiable = next(each for each, needed in zip(given, needs[3:], strict=True) if needed)
        ctx.set_materialize_grads(False)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        if torch.is_grad_enabled():  # with create_graph=True
            return None, None, None, *_FirstDerivatives.apply(ctx, ctx.differentiable, *gradients)
        return None, None, None, *_go_back(ctx, *gradients)


def _go_back(ctx: Any, *gradients: Tensor | None) -> list[Tensor | None]:
    saved = ctx.saved_tensors
    needs = ctx.needs_input_grad[3:]
    found: list[Tensor | None] = [
        torch.empty_like(tensor) if tensor is not None and needed else None
        for tensor, needed in zip(saved, needs, strict=False)
    ]
    like = saved[0]
    found += [like.new_empty(shape) if needed else None for shape, needed in zip(ctx.shapes, needs[4:], strict=True)]
    by = [None if each is None else each.contiguous() for each in gradients]
    d_input, d_state, d_memory, d_timespans, *d_parameters = (address(each) for each in found)
    ctx.call.backward(*(address(each) for each in by), d_input, d_state, d_memory, d_timespans, d_parameters)
    return found


class _FirstDerivatives(torch.autograd.Function):
    """Gradients that say, when they are differentiated, that they cannot be."""

    @staticmethod
    def forward(ctx: Any, call: Any, _differentiable: Tensor, *gradients: Tensor | None) -> Any:
        return tuple(_go_back(call, *gradients))

    @staticmethod
    def backward(ctx: Any, *_gradients: Tensor | None) -> Any:
        raise RuntimeError(
            "liquid layers have first derivatives only: a gradient of their gradient was asked for (a penalty on "
            "gradients, or backward() twice with create_graph=True). ncps itself, without Tessera, has second ones"
        )


# --- What torch.compile and torch.export see ------------------------------------------------------------------------

_WHAT = "str description, Tensor input, Tensor? state, Tensor? memory, Tensor? timespans, Tensor[] parameters, Tensor? seed"


@functools.lru_cache(maxsize=64)
def _kernel_of(description: str) -> Kernel:
    return Kernel(description)


def _is_mixed(kernel: Kernel) -> bool:
    return any(name.startswith("lstm.") for name, _, _ in kernel.parameters)


def _contiguous(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _run_operator(
    description: str,
    input: Tensor,
    state: Tensor | None,
    memory: Tensor | None,
    timespans: Tensor | None,
    parameters: list[Tensor],
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    kernel = _kernel_of(description)
    output, new_state, new_memory, _ = kernel.call(
        False,
        input.contiguous(),
        _contiguous(state),
        _contiguous(memory),
        _contiguous(timespans),
        [each.contiguous() for each in parameters],
        seed,
        _is_mixed(kernel),
    )
    return output, new_state, input.new_empty(0) if new_memory is None else new_memory


def _run_shapes(
    description: str,
    input: Tensor,
    state: Tensor | None,
    memory: Tensor | None,
    timespans: Tensor | None,
    parameters: list[Tensor],
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    kernel = _kernel_of(description)
    output, new_state, new_memory = kernel.empty_results(input, _is_mixed(kernel))
    return output, new_state, input.new_empty(0) if new_memory is None else new_memory


def _given(*tensors: Tensor | None) -> list[Tensor]:
    return [each for each in tensors if each is not None]


def _differentiate_operator(
    description: str,
    input: Tensor,
    state: Tensor | None,
    memory: Tensor | None,
    timespans: Tensor | None,
    parameters: list[Tensor],
    seed: Tensor | None,
    d_output: Tensor,
    d_state: Tensor,
    d_memory: Tensor,
) -> list[Tensor]:
    """Of input, state, memory and timespans, as far as they are given, and of the parameters. Runs forward again."""
    kernel = _kernel_of(description)
    mixed = _is_mixed(kernel)
    given = [_contiguous(each) for each in (input, state, memory, timespans)]
    weights = [each.contiguous() for each in parameters]
    *_, call = kernel.call(True, given[0], *given[1:], weights, seed, mixed, timespans is not None)
    assert call is not None
    found = [None if each is None else torch.empty_like(each) for each in given]
    by_parameters = [torch.empty_like(each) for each in weights]
    by = [d_output.contiguous(), d_state.contiguous(), d_memory.contiguous() if mixed else None]
    call.backward(*map(address, by), *map(address, found), [address(each) for each in by_parameters])
    return _given(*found) + by_parameters


def _differentiate_shapes(
    description: str,
    input: Tensor,
    state: Tensor | None,
    memory: Tensor | None,
    timespans: Tensor | None,
    parameters: list[Tensor],
    *_rest: Any,
) -> list[Tensor]:
    return [each.new_empty(each.shape) for each in _given(input, state, memory, timespans) + list(parameters)]


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    description, input, state, memory, timespans, parameters, seed = inputs
    ctx.description = description
    ctx.count = len(parameters)
    ctx.save_for_backward(input, state, memory, timespans, seed, *parameters)


def _go_back_compiled(ctx: Any, d_output: Tensor, d_state: Tensor, d_memory: Tensor) -> Any:
    input, state, memory, timespans, seed, *parameters = ctx.saved_tensors
    found = list(
        torch.ops.tessera.ncp_differentiate(
            ctx.description, input, state, memory, timespans, parameters, seed, d_output, d_state, d_memory
        )
    )
    by_inputs = [found.pop(0) if each is not None else None for each in (input, state, memory, timespans)]
    return None, *by_inputs, found, None


def _define_operators() -> None:
    library = torch.library
    run_operator = library.custom_op(
        "tessera::ncp_run",
        _run_operator,
        mutates_args=(),
        device_types="cpu",
        schema=f"({_WHAT}) -> (Tensor, Tensor, Tensor)",
    )
    run_operator.register_fake(_run_shapes)
    run_operator.register_autograd(_go_back_compiled, setup_context=_save)
    differentiate = library.custom_op(
        "tessera::ncp_differentiate",
        _differentiate_operator,
        mutates_args=(),
        device_types="cpu",
        schema=f"({_WHAT}, Tensor d_output, Tensor d_state, Tensor d_memory) -> Tensor[]",
    )
    differentiate.register_fake(_differentiate_shapes)


_define_operators()
