"""What CfC, LTC and their cells have in common: parameters, files, gradients."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tessera._tessera import InvalidArgument, NcpLayer, NcpStepper
from tessera.ncps import wirings

Array = npt.NDArray[np.float32]
Self = TypeVar("Self", bound="Model")

_random = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Models made from here on begin with parameters that follow from the seed."""
    global _random
    _random = np.random.default_rng(seed)


def draw_seed(seed: int | None) -> int:
    return int(_random.integers(2**63)) if seed is None else seed


_recorders: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("recorders", default=None)


@contextlib.contextmanager
def recorded_calls() -> Iterator[list[str]]:
    """A line for each layer that runs meanwhile: what it is, its kernel, and the shapes."""
    calls: list[str] = []
    token = _recorders.set(calls)
    try:
        yield calls
    finally:
        _recorders.reset(token)


class LoadResult(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class Gradients(NamedTuple):
    """Of a number by everything that a call was given."""

    parameters: dict[str, Array]
    input: Array
    hx: Any


class LossGradient(NamedTuple):
    loss: float
    gradients: Gradients
    output: Array


class _LastCall(NamedTuple):
    input: Any
    hx: Any
    timespans: Any
    dropout_seed: int | None


Loss = str | Callable[[Array], tuple[float, Array]]


def mean_squared_error(output: Array, target: Any) -> tuple[float, Array]:
    difference = output.astype(np.float64) - np.asarray(target, np.float64).reshape(output.shape)
    return float(np.mean(difference**2)), (2 * difference / difference.size).astype(np.float32)


def cross_entropy(output: Array, target: Any) -> tuple[float, Array]:
    """Outputs are logits of classes along the last axis; targets are numbers of classes."""
    logits = output.reshape(-1, output.shape[-1]).astype(np.float64)
    classes = np.asarray(target).reshape(-1).astype(np.int64)
    if len(classes) != len(logits) or (classes < 0).any() or (classes >= logits.shape[1]).any():
        raise InvalidArgument(
            f"{len(classes)} targets for {len(logits)} rows of {logits.shape[1]} classes: one from 0 to "
            f"{logits.shape[1] - 1} for each"
        )
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(classes))
    gradient = np.exp(shifted - log_sum)
    gradient[rows, classes] -= 1
    return float(np.mean((log_sum[:, 0] - shifted[rows, classes]))), (gradient / len(classes)).reshape(output.shape).astype(np.float32)


_LOSSES = {"mse": mean_squared_error, "cross_entropy": cross_entropy}


class Model:
    """A layer with its parameters. `_layer` is the library's, and all that computes."""

    # What stands before a parameter's name in the library and not here.
    _prefix = ""

    def __init__(self, description: dict[str, Any], seed: int | None) -> None:
        self._start(NcpLayer(json.dumps(description), draw_seed(seed)))

    def _start(self, layer: NcpLayer) -> None:
        self._layer = layer
        self._config: dict[str, Any] = json.loads(layer.json)
        self.training = True
        self._calls = 0
        self._last: _LastCall | None = None

    # What it is.

    def get_config(self) -> dict[str, Any]:
        """The description as plain values, which json can write."""
        return copy.deepcopy(self._config)

    @classmethod
    def from_config(cls: type[Self], config: Mapping[str, Any], seed: int | None = None) -> Self:
        model = cls.__new__(cls)
        model._restore(NcpLayer(json.dumps(dict(config)), draw_seed(seed)))
        return model

    def _restore(self, layer: NcpLayer) -> None:
        """Becomes a model of this layer."""
        kind = json.loads(layer.json)["type"]
        if kind != self._kind():
            raise InvalidArgument(f"this is a layer of kind {kind}, not {self._kind()}: tessera.ncps.load() takes either")
        self._start(layer)

    @classmethod
    def _kind(cls) -> str:
        raise NotImplementedError

    @property
    def input_size(self) -> int:
        return self._layer.inputs

    @property
    def state_size(self) -> int:
        return self._layer.state_size

    @property
    def output_size(self) -> int:
        """Of the outputs; after a projection, its width."""
        return self._layer.outputs

    @property
    def use_mixed(self) -> bool:
        return bool(self._config.get("mixed_memory", False))

    @property
    def wiring(self) -> wirings.Wiring | None:
        """The wiring as a copy; None without one."""
        if "wiring" not in self._config:
            return None
        return wiring_of(self._config["wiring"], self._config["input_size"])

    # Modes.

    def train(self: Self, mode: bool = True) -> Self:
        """Dropout drops, and calls are remembered for backward()."""
        self.training = mode
        if not mode:
            self._last = None
        return self

    def eval(self: Self) -> Self:
        return self.train(False)

    # Parameters.

    def state_dict(self) -> dict[str, Array]:
        """Every parameter under upstream's name: copies."""
        return {name.removeprefix(self._prefix): array for name, array in self._layer.state_dict().items()}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, *, prefix: str = "", dialect: str = "torch"
    ) -> LoadResult:
        """Takes parameters: arrays of numpy, torch or anything with __dlpack__ or __array__.

        prefix: only names that begin with it count, without it ("rnn." of a module that holds this one).
        dialect: whose names, layout and sign of the gate's time these are: torch, keras, mlx or paper.
        strict: missing and unknown names are an error; otherwise they are named in the result.
        """
        given = {n.removeprefix(prefix): v for n, v in state_dict.items() if n.startswith(prefix)}
        if dialect != "torch":
            self._layer.import_parameters(given, dialect)
            return LoadResult([], [])
        known = {name for name, _, _ in self._layer.parameter_list()}
        own = {name if name in known else self._prefix + name: array for name, array in given.items()}
        missing, unexpected = sorted(known - set(own)), sorted(set(own) - known)
        if not strict:
            own = {**self._layer.state_dict(), **{name: array for name, array in own.items() if name in known}}
        self._layer.load_state_dict(own)
        shown = [[name.removeprefix(self._prefix) for name in names] for names in (missing, unexpected)]
        return LoadResult(*shown)

    def export_parameters(self, dialect: str) -> dict[str, Array]:
        """Parameters as ncps for Keras ("keras"), for MLX ("mlx") or the paper's own code ("paper") has them."""
        exported: dict[str, Array] = self._layer.export_parameters(dialect)
        return exported

    def named_parameters(self) -> list[tuple[str, Array]]:
        return list(self.state_dict().items())

    def parameters(self) -> list[Array]:
        """Copies; load_state_dict() puts changed ones back."""
        return list(self.state_dict().values())

    def parameter_count(self, trainable: bool = True) -> int:
        return sum(int(np.prod(shape)) for _, shape, trained in self._layer.parameter_list() if trained or not trainable)

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """A safetensors file with upstream's names, and the description of the layer as metadata."""
        self._layer.save(path)

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """A model that save() wrote."""
        model = cls.__new__(cls)
        model._restore(NcpLayer.load(path))
        return model

    def load_weights(self, path: str | os.PathLike[str], prefix: str = "") -> None:
        """Parameters from any safetensors file that has upstream's names, under a prefix or not."""
        self._layer.load_parameters(path, prefix)

    def __reduce__(self) -> Any:
        return _unpickled, (type(self), self._layer.json, self._layer.state_dict(), self.training)

    # Running.

    def _dropout_seed(self, training: bool) -> int | None:
        if not training or not self._config.get("backbone_dropout", 0):
            return None
        self._calls += 1
        return self._calls

    def _split(self, hx: Any, what: str = "hx") -> tuple[Any, Any]:
        """State and memory of what is handed over as one."""
        if hx is None or not self.use_mixed:
            return hx, None
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise InvalidArgument(f"with mixed memory {what} is a pair (state, memory), not {_shape_of(hx)}")
        return hx[0], hx[1]

    def _joined(self, state: Array, memory: Array | None) -> Any:
        return state if memory is None else (state, memory)

    def _run(self, input: Any, hx: Any, timespans: Any, training: bool | None) -> tuple[Array, Any]:
        training = self.training if training is None else training
        seed = self._dropout_seed(training)
        state, memory = self._split(hx)
        output, state, memory, _ = self._layer.run(input, state, memory, timespans, seed)
        calls = _recorders.get()
        if calls is not None:
            shapes = f"{list(np.shape(input))} -> {list(output.shape)}"
            calls.append(f"{type(self).__name__} {self._layer.kernel if seed is None else 'reference'} {shapes}")
        if training:
            self._last = _LastCall(input, hx, timespans, seed)
        return output, self._joined(state, memory)

    def states(self, input: Any, hx: Any = None, timespans: Any = None) -> Array:
        """The state after every step, for inspection: as the input, with the units last."""
        state, memory = self._split(hx)
        states: Array = self._layer.run(input, state, memory, timespans, None, True)[3]
        return states

    def stepper(self) -> NcpStepper:
        """For control loops: one sample, one step at a time. Parameters loaded later do not change it."""
        return NcpStepper(self._layer)

    # Gradients.

    def backward(self, d_output: Any, d_hx: Any = None) -> Gradients:
        """Gradients of a number whose gradients by the output (and the final state) of the last call are given.

        Exact, back through time and the unfolds of the solver. The model has to be in training mode.
        """
        if self._last is None:
            raise InvalidArgument("backward() needs a call before it, in training mode: model.train()")
        last = self._last
        return self._differentiate(last.input, d_output, last.hx, last.timespans, d_hx, last.dropout_seed)

    def _differentiate(
        self, input: Any, d_output: Any, hx: Any, timespans: Any, d_hx: Any, dropout_seed: int | None
    ) -> Gradients:
        (state, memory), (d_state, d_memory) = self._split(hx), self._split(d_hx, "d_hx")
        parameters, d_input, d_initial, d_initial_memory = self._layer.differentiate(
            input, d_output, state, memory, timespans, d_state, d_memory, dropout_seed
        )
        named = {name.removeprefix(self._prefix): array for name, array in parameters.items()}
        return Gradients(named, d_input, self._joined(d_initial, d_initial_memory))

    def loss_gradient(
        self, input: Any, target: Any = None, *, loss: Loss = "mse", hx: Any = None, timespans: Any = None
    ) -> LossGradient:
        """Loss, its gradients and the output, of one batch.

        loss: "mse", "cross_entropy" (targets are numbers of classes), or a function of the output that returns the loss
        and its gradient by the output.
        """
        if callable(loss):
            function = loss
        elif loss in _LOSSES:
            known = _LOSSES[loss]
            function = lambda output: known(output, target)  # noqa: E731
        else:
            raise InvalidArgument(f"there is no loss '{loss}': {', '.join(_LOSSES)}, or a function of the output")
        seed = self._dropout_seed(True)
        state, memory = self._split(hx)
        output = self._layer.run(input, state, memory, timespans, seed)[0]
        value, d_output = function(output)
        return LossGradient(value, self._differentiate(input, d_output, hx, timespans, None, seed), output)

    def __repr__(self) -> str:
        return (
            f"<tessera.ncps.{type(self).__name__}: {self.input_size} inputs, {self.state_size} units, "
            f"{self.output_size} outputs, {self.parameter_count()} parameters>"
        )


def _shape_of(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"one array of {list(shape)}"


def _unpickled(cls: type[Model], description: str, parameters: dict[str, Array], training: bool) -> Model:
    model = cls.__new__(cls)
    layer = NcpLayer(description, 0)
    layer.load_state_dict(parameters)
    model._restore(layer)
    model.training = training
    return model


def wiring_of(spec: Mapping[str, Any], inputs: int) -> wirings.Wiring:
    """The wiring of a description."""
    arguments = dict(spec)
    kind = arguments.pop("type")
    if kind != "Explicit":
        made: wirings.Wiring = getattr(wirings, kind)(**arguments)
        made.build(inputs)
        return made
    return _Explicit(arguments)


class _Explicit(wirings.Wiring):
    """Read back from a description."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec["units"])
        self._layers = [(layer["name"], list(layer["neurons"])) for layer in spec.get("layers", [])]
        if spec.get("output_dim") is not None:
            self.set_output_dim(spec["output_dim"])
        self.build(spec["input_dim"])
        for source, destination, polarity in spec["synapses"]:
            self.add_synapse(source, destination, polarity)
        for source, destination, polarity in spec["sensory_synapses"]:
            self.add_sensory_synapse(source, destination, polarity)

    @property
    def num_layers(self) -> int:
        return max(1, len(self._layers))

    def get_neurons_of_layer(self, layer_id: int) -> list[int]:
        return list(self._layers[layer_id][1]) if self._layers else super().get_neurons_of_layer(layer_id)

    def get_type_of_neuron(self, neuron_id: int) -> str:
        for name, neurons in self._layers:
            if neuron_id in neurons:
                return name
        return super().get_type_of_neuron(neuron_id)


def built_spec(wiring: wirings.Wiring, inputs: int | None) -> dict[str, Any]:
    """The wiring, built for these inputs, for a description."""
    if inputs is not None:
        wiring.build(inputs)
    if not wiring.is_built():
        raise InvalidArgument("the wiring has not been built, and the number of inputs was not given: give one of them")
    spec: dict[str, Any] = json.loads(wiring._native().spec)
    return spec
