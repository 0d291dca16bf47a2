"""Weights of PyTorch models, made ready for a card.

PyTorch is not imported: modules are known by the names of their classes.
"""

from tessera.ttnn.model_preprocessing.convert import (
    convert_torch_model_to_ttnn_model,
    default_preprocessor,
    move_to_device,
    preprocess_model,
    preprocess_model_parameters,
    preprocess_remaining_children_and_parameters,
)
from tessera.ttnn.model_preprocessing.module_args import (
    Conv2dArgs,
    ConvTranspose2dArgs,
    GroupNormArgs,
    MaxPool2dArgs,
    ModuleArgs,
    infer_ttnn_module_args,
    merge_ttnn_module_args_into_parameters,
)
from tessera.ttnn.model_preprocessing.parameters import ParameterDict, ParameterList, make_parameter_dict
from tessera.ttnn.model_preprocessing.weights import (
    fold_batch_norm2d_into_conv2d,
    preprocess_embedding_weight,
    preprocess_layernorm_parameter,
    preprocess_linear_bias,
    preprocess_linear_weight,
)

__all__ = [
    "Conv2dArgs",
    "ConvTranspose2dArgs",
    "GroupNormArgs",
    "MaxPool2dArgs",
    "ModuleArgs",
    "ParameterDict",
    "ParameterList",
    "convert_torch_model_to_ttnn_model",
    "default_preprocessor",
    "fold_batch_norm2d_into_conv2d",
    "infer_ttnn_module_args",
    "make_parameter_dict",
    "merge_ttnn_module_args_into_parameters",
    "move_to_device",
    "preprocess_embedding_weight",
    "preprocess_layernorm_parameter",
    "preprocess_linear_bias",
    "preprocess_linear_weight",
    "preprocess_model",
    "preprocess_model_parameters",
    "preprocess_remaining_children_and_parameters",
]
