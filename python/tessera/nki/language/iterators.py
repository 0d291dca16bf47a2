"""The loops, under the module that some kernels import them from."""

from tessera.nki.language._loops import affine_range, sequential_range, static_range

__all__ = ["affine_range", "sequential_range", "static_range"]
