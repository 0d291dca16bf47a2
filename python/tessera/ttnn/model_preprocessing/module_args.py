"""What convolutions and pools of a model are called with, found by running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tessera.ttnn.dot_access import DotAccessDict, make_dot_access_dict
from tessera.ttnn.model_preprocessing.torch_modules import is_module, named_children


class ModuleArgs(DotAccessDict):
    """Arguments of one module."""

    def __repr__(self) -> str:
        return dict.__repr__(self)


class Conv2dArgs(ModuleArgs):
    """Arguments of a Conv2d."""


class ConvTranspose2dArgs(ModuleArgs):
    """Arguments of a ConvTranspose2d."""


class MaxPool2dArgs(ModuleArgs):
    """Arguments of a MaxPool2d."""


class GroupNormArgs(ModuleArgs):
    """Arguments of a GroupNorm."""


# For each kind: its arguments, and what of the module is noted down.
_CONVOLUTION = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
_NOTED = {
    "Conv2d": (Conv2dArgs, _CONVOLUTION),
    "ConvTranspose2d": (ConvTranspose2dArgs, (*_CONVOLUTION, "output_padding")),
    "MaxPool2d": (MaxPool2dArgs, ("kernel_size", "stride", "padding", "dilation")),
    "GroupNorm": (GroupNormArgs, ("num_groups", "num_channels", "eps", "affine")),
}


def _args_of(module: Any, shape: tuple[int, ...], device: Any) -> ModuleArgs | None:
    from tessera import ttnn

    for kind, (form, names) in _NOTED.items():
        if not is_module(module, kind):
            continue
        args = form({name: getattr(module, name) for name in names})
        args.update(batch_size=shape[0], input_height=shape[-2], input_width=shape[-1], dtype=ttnn.bfloat16)
        if kind == "MaxPool2d":
            args["input_channels"] = shape[1]
        if kind.startswith("Conv"):
            args.update(
                math_fidelity=ttnn.MathFidelity.HiFi4,
                weights_dtype=ttnn.bfloat16,
                use_1d_systolic_array=True,
                enable_auto_formatting=False,
                conv_blocking_and_parallelization_config_override={},
                device=device,
            )
        return args
    return None


def infer_ttnn_module_args(*, model: Any, run_model: Callable[[Any], Any] | None, device: Any) -> Any:
    """Runs the model once and notes what each Conv2d, ConvTranspose2d, MaxPool2d and GroupNorm is given.

    The result is a tree by the names of submodules; those with numbers for names are there under both forms. A module that
    runs several times has the arguments of its first run.
    """
    if run_model is None:
        return None
    shapes: dict[int, tuple[int, ...]] = {}
    hooks = []

    def note(module: Any, inputs: tuple[Any, ...]) -> None:
        if inputs and hasattr(inputs[0], "shape"):
            shapes.setdefault(id(module), tuple(int(extent) for extent in inputs[0].shape))

    for module in model.modules():
        hooks.append(module.register_forward_pre_hook(note))
    try:
        run_model(model)
    finally:
        for hook in hooks:
            hook.remove()

    def tree(module: Any) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for name, child in named_children(module):
            below: Any = _args_of(child, shapes[id(child)], device) if id(child) in shapes else None
            if below is None:
                below = tree(child)
                if not below and id(child) not in shapes:
                    continue
            out[name] = below
            if name.isdigit():
                out[int(name)] = below
        return out

    return make_dot_access_dict(tree(model), ignore_types=(ModuleArgs,))


def merge_ttnn_module_args_into_parameters(
    parameters: dict[Any, Any], ttnn_module_args: dict[Any, Any], path: tuple[str, ...] = ()
) -> dict[Any, Any]:
    """Puts the arguments of each module beside its parameters, as `ttnn_module_args`, without the device."""
    if isinstance(ttnn_module_args, ModuleArgs):
        ttnn_module_args.pop("device", None)
        parameters["ttnn_module_args"] = ttnn_module_args
        return parameters
    for key in list(parameters):
        if key not in ttnn_module_args:
            continue
        ours, theirs = parameters[key], ttnn_module_args[key]
        if isinstance(ours, dict) and isinstance(theirs, dict):
            merge_ttnn_module_args_into_parameters(ours, theirs, (*path, str(key)))
        else:
            raise ValueError(f"conflict at {'.'.join((*path, str(key)))}: a parameter has the name of a module")
    return parameters


__all__ = [
    "Conv2dArgs",
    "ConvTranspose2dArgs",
    "GroupNormArgs",
    "MaxPool2dArgs",
    "ModuleArgs",
    "infer_ttnn_module_args",
    "merge_ttnn_module_args_into_parameters",
]
