"""A whole model's parameters as tensors of the card."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection
from typing import Any

from tessera._tessera import Error
from tessera.ttnn.model_preprocessing.module_args import (
    ModuleArgs,
    infer_ttnn_module_args,
    merge_ttnn_module_args_into_parameters,
)
from tessera.ttnn.model_preprocessing.parameters import ParameterDict, ParameterList, make_parameter_dict
from tessera.ttnn.model_preprocessing.torch_modules import is_module, named_children, own_parameters
from tessera.ttnn.model_preprocessing.weights import (
    preprocess_embedding_weight,
    preprocess_layernorm_parameter,
    preprocess_linear_bias,
    preprocess_linear_weight,
)

# By the last word of a type's name: floating types become bfloat16, integers what comes nearest.
_TYPES = {"uint8": "uint8", "int16": "uint16", "int32": "int32", "int64": "uint32"}
_TYPES |= dict.fromkeys(("float16", "bfloat16", "float32", "float64"), "bfloat16")
_PREPROCESSOR_EXTRAS = {"ttnn_module_args", "convert_to_ttnn"}


def _as_tensor(parameter: Any) -> Any:
    from tessera import ttnn

    kind = str(parameter.dtype).rpartition(".")[2]
    if kind not in _TYPES:
        raise Error(f"a parameter of {parameter.dtype} has no type on the card")
    values = parameter.detach() if hasattr(parameter, "detach") else parameter
    return ttnn.from_torch(values, dtype=getattr(ttnn, _TYPES[kind]))


def default_preprocessor(model: Any, name: str, ttnn_module_args: Any) -> ParameterDict:
    """What becomes of a Linear, a LayerNorm or an Embedding; nothing for other modules, whatever their name and arguments."""
    del name, ttnn_module_args  # custom preprocessors have them, too
    from tessera import ttnn

    out: dict[str, Any] = {}
    if is_module(model, "Linear"):
        out["weight"] = preprocess_linear_weight(model.weight, dtype=ttnn.bfloat16)
        if model.bias is not None:
            out["bias"] = preprocess_linear_bias(model.bias, dtype=ttnn.bfloat16)
    elif is_module(model, "LayerNorm"):
        out["weight"] = preprocess_layernorm_parameter(model.weight, dtype=ttnn.bfloat16)
        out["bias"] = preprocess_layernorm_parameter(model.bias, dtype=ttnn.bfloat16)
    elif is_module(model, "Embedding"):
        out["weight"] = preprocess_embedding_weight(model.weight, dtype=ttnn.bfloat16)
    return make_parameter_dict(out)


def _call_preprocessor(preprocessor: Any, model: Any, name: str, convert_to_ttnn: Any, ttnn_module_args: Any) -> Any:
    parameters = list(inspect.signature(preprocessor).parameters)
    if len(parameters) < 2:
        raise RuntimeError("Custom preprocessor must have at least two parameters: model and name")
    extras = {"ttnn_module_args": ttnn_module_args, "convert_to_ttnn": convert_to_ttnn}
    unknown = [parameter for parameter in parameters[2:] if parameter not in _PREPROCESSOR_EXTRAS]
    if unknown:
        raise RuntimeError(f"Unsupported parameter: {unknown[0]}")
    return preprocessor(model, name, **{key: extras[key] for key in parameters[2:]})


def _joined(name: str, child: Any) -> str:
    return f"{name}.{child}" if name else f"{child}"


def _below(ttnn_module_args: Any, key: Any) -> Any:
    return None if ttnn_module_args is None else ttnn_module_args.get(key)


def convert_torch_model_to_ttnn_model(
    model: Any, *, convert_to_ttnn: Any, custom_preprocessor: Any, name: str, ttnn_module_args: Any
) -> Any:
    """Parameters of a module and all below it: lists for ModuleLists, dictionaries for other modules."""

    def of_child(child_name: Any, child: Any) -> Any:
        return convert_torch_model_to_ttnn_model(
            child,
            convert_to_ttnn=convert_to_ttnn,
            custom_preprocessor=custom_preprocessor,
            name=_joined(name, child_name),
            ttnn_module_args=_below(ttnn_module_args, child_name),
        )

    children = named_children(model)
    if is_module(model, "ModuleList"):
        return ParameterList([of_child(index, child) for index, (_, child) in enumerate(children)])
    if custom_preprocessor is not None:
        made = _call_preprocessor(custom_preprocessor, model, name, convert_to_ttnn, ttnn_module_args)
        if made:
            return make_parameter_dict(made)
    own = own_parameters(model)
    parameters = ParameterDict()
    if convert_to_ttnn(model, name):
        made = default_preprocessor(model, name, ttnn_module_args)
        if made:
            if len(made) != len(children) + len(own):
                raise RuntimeError("Not all children or parameters were converted using default_preprocessor_parameters!")
            return made
        for key, parameter in own:
            parameters[key] = _as_tensor(parameter)
    elif is_module(model, "Linear"):
        parameters["weight"] = model.weight.T.contiguous()
        if model.bias is not None:
            parameters["bias"] = model.bias
    else:
        parameters.update(own)
    for child_name, child in children:
        key: Any = int(child_name) if child_name.isdigit() else child_name
        made = of_child(key, child)
        if made:
            parameters[key] = made
    return parameters


def preprocess_remaining_children_and_parameters(
    model: Any,
    name: str,
    convert_to_ttnn: Any,
    custom_preprocessor: Any,
    parameters: Any,
    ttnn_module_args: Any,
    *,
    already_preprocessed_children: Collection[str],
) -> Any:
    """For custom preprocessors that made some of a module: adds what is left of it to `parameters`."""
    for child_name, child in named_children(model):
        if child_name not in already_preprocessed_children:
            parameters[child_name] = convert_torch_model_to_ttnn_model(
                child,
                name=name,
                convert_to_ttnn=convert_to_ttnn,
                custom_preprocessor=custom_preprocessor,
                ttnn_module_args=_below(ttnn_module_args, child_name),
            )
    for key, parameter in own_parameters(model):
        if key not in already_preprocessed_children:
            parameters[key] = _as_tensor(parameter) if convert_to_ttnn(model, name) else parameter
    return parameters


def move_to_device(parameters: Any, device: Any) -> Any:
    """Sends every tensor of the tree to the device; everything else stays."""
    from tessera import ttnn

    if isinstance(parameters, ModuleArgs):
        return parameters
    if isinstance(parameters, dict):
        for key, value in list(parameters.items()):
            parameters[key] = move_to_device(value, device)
    elif isinstance(parameters, list):
        parameters[:] = [move_to_device(value, device) for value in parameters]
    elif isinstance(parameters, ttnn.Tensor):
        return ttnn.to_device(parameters, device)
    return parameters


def _refuse_cache(model_name: str | None, version: str | None) -> None:
    from tessera import ttnn

    if model_name is not None and ttnn.CONFIG.enable_model_cache:
        raise Error(
            f"parameters of '{model_name}' (version {version}) are not cached: ttnn.CONFIG.enable_model_cache has to be False"
        )


def preprocess_model(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Callable[[Any, str], bool] | None = None,
    custom_preprocessor: Callable[..., Any] | None = None,
    device: Any = None,
    prefix: str = "",
    run_model: Callable[[Any], Any] | None = None,
    reader_patterns_cache: dict[Any, Any] | None = None,
) -> Any:
    """preprocess_model_parameters(), and with `run_model` the arguments of convolutions and pools beside their weights.

    `reader_patterns_cache` is for modules that TTNN 0.81.1 no longer has, and has to be empty.
    """
    if reader_patterns_cache:
        raise Error("reader_patterns_cache is for ttnn.MaxPool2d, which TTNN 0.81.1 no longer has")
    _refuse_cache(model_name, version)
    if initialize_model is None:
        raise RuntimeError(f'Cached weights for the model {model_name} (version "{version}") don\'t exist')
    model = initialize_model()
    if model.training:
        logging.getLogger("ttnn").warning("Putting the model in eval mode")
        model.eval()
    arguments = infer_ttnn_module_args(model=model, run_model=run_model, device=device)
    parameters = convert_torch_model_to_ttnn_model(
        model,
        convert_to_ttnn=convert_to_ttnn or (lambda module, name: True),
        custom_preprocessor=custom_preprocessor,
        name=prefix or "",
        ttnn_module_args=arguments,
    )
    if arguments is not None:
        parameters = merge_ttnn_module_args_into_parameters(parameters, arguments)
    if device is not None:
        parameters = move_to_device(parameters, device)
    return parameters if isinstance(parameters, ParameterList) else make_parameter_dict(parameters)


def preprocess_model_parameters(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Callable[[Any, str], bool] | None = None,
    custom_preprocessor: Callable[..., Any] | None = None,
    device: Any = None,
    prefix: str = "",
) -> Any:
    """Parameters of the model that `initialize_model` makes, as a tree of tensors, on `device` if there is one.

    `convert_to_ttnn(module, name)` says which modules become tensors; the parameters of others stay what they are.
    `custom_preprocessor(module, name)` makes parameters of a module itself, or returns nothing. `prefix` comes before the
    names that both see.
    """
    return preprocess_model(
        model_name=model_name,
        version=version,
        initialize_model=initialize_model,
        convert_to_ttnn=convert_to_ttnn,
        custom_preprocessor=custom_preprocessor,
        device=device,
        prefix=prefix,
    )


__all__ = [
    "convert_torch_model_to_ttnn_model",
    "default_preprocessor",
    "move_to_device",
    "preprocess_model",
    "preprocess_model_parameters",
    "preprocess_remaining_children_and_parameters",
]
