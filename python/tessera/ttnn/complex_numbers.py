"""Complex numbers: two tensors under one name, and what is made of them by operators on both parts."""

from __future__ import annotations

from tessera import _tessera as t
from tessera._tessera import MemoryConfig, Tensor


class ComplexTensor:
    """Real and imaginary parts, tensors of one shape."""

    def __init__(self, real: Tensor, imag: Tensor) -> None:
        if tuple(real.shape) != tuple(imag.shape):
            raise t.InvalidArgument(f"complex_tensor: parts of shapes {real.shape} and {imag.shape} do not go together")
        self.real, self.imag = real, imag

    def deallocate(self) -> None:
        t.deallocate(self.real)
        t.deallocate(self.imag)


def complex_tensor(real: Tensor, imag: Tensor) -> ComplexTensor:
    return ComplexTensor(real, imag)


def real(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    return t.identity(input_tensor.real, memory_config=memory_config)


def imag(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    return t.identity(input_tensor.imag, memory_config=memory_config)


def conj(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> ComplexTensor:
    return ComplexTensor(
        t.identity(input_tensor.real, memory_config=memory_config), t.neg(input_tensor.imag, memory_config=memory_config)
    )


def angle(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    return t.atan2(input_tensor.imag, input_tensor.real, memory_config=memory_config)


def is_real(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """1 where the imaginary part is 0."""
    return t.eqz(input_tensor.imag, memory_config=memory_config)


def is_imag(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """1 where the real part is 0."""
    return t.eqz(input_tensor.real, memory_config=memory_config)


def polar(input_tensor: ComplexTensor, *, memory_config: MemoryConfig | None = None) -> ComplexTensor:
    """From magnitudes (the real part) and angles (the imaginary one)."""
    parts = [
        t.multiply(input_tensor.real, turn(input_tensor.imag, memory_config=memory_config), memory_config=memory_config)
        for turn in (t.cos, t.sin)
    ]
    return ComplexTensor(*parts)


def real_bw(grad_tensor: Tensor, input_tensor: ComplexTensor, *, memory_config: MemoryConfig) -> list[ComplexTensor]:
    nothing = t.fill(input_tensor.imag, 0.0, memory_config=memory_config)
    return [ComplexTensor(t.identity(grad_tensor, memory_config=memory_config), nothing)]


def imag_bw(grad_tensor: Tensor, input_tensor: ComplexTensor, *, memory_config: MemoryConfig) -> list[ComplexTensor]:
    nothing = t.fill(input_tensor.real, 0.0, memory_config=memory_config)
    return [ComplexTensor(nothing, t.identity(grad_tensor, memory_config=memory_config))]


def conj_bw(grad_tensor: ComplexTensor, input_tensor: ComplexTensor, *, memory_config: MemoryConfig) -> list[ComplexTensor]:
    if tuple(grad_tensor.real.shape) != tuple(input_tensor.real.shape):
        raise t.InvalidArgument(f"conj_bw: a gradient of shape {grad_tensor.real.shape} is none of {input_tensor.real.shape}")
    return [conj(grad_tensor, memory_config=memory_config)]


__all__ = ["angle", "complex_tensor", "conj", "conj_bw", "imag", "imag_bw", "is_imag", "is_real", "polar", "real", "real_bw"]
