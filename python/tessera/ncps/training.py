"""Training of layers over sequences."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument, NcpDataset, NcpLayer, NcpTrainer, ncp_evaluate
from tessera.ncps.model import Array, Model
from tessera.ncps.wirings import json_text
from tessera.results import EpochReport, Evaluation

Report = EpochReport  # what fit() returns for each epoch


def _readout(targets: np.ndarray[Any, Any], loss: str) -> str:
    """Whether there is a target for every step or for the last one: by the rank of the targets."""
    classes = loss == "cross_entropy"
    ranks = {1: "last_step", 2: "every_step"} if classes else {2: "last_step", 3: "every_step"}
    if targets.ndim not in ranks:
        wanted = "[samples] or [samples, steps]" if classes else "[samples, outputs] or [samples, steps, outputs]"
        raise InvalidArgument(f"the targets are {list(targets.shape)}: with loss '{loss}' {wanted} is expected")
    return ranks[targets.ndim]


def _dataset(x: Any, y: Any, timespans: Any = None, lengths: Any = None) -> NcpDataset:
    """A timespan that is one number is that of every step."""
    if timespans is not None and np.size(timespans) == 1:
        timespans = np.full(np.shape(x)[:2], np.float32(timespans))
    return NcpDataset(x, y, timespans, lengths)


_PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def _precision(
    precision: str | None, parameter_type: str | None, compute_type: str | None, loss_scaling: bool | None
) -> str:
    """The precision of products, by its own name or in the words of a hardware guide."""
    if parameter_type not in (None, "float32"):
        raise InvalidArgument(f"parameter_type='{parameter_type}': parameters are float32")
    if compute_type is not None:
        if compute_type not in _PRECISIONS:
            raise InvalidArgument(f"compute_type='{compute_type}': it is one of {', '.join(_PRECISIONS)}")
        said = _PRECISIONS[compute_type]
        if precision not in (None, said):
            raise InvalidArgument(f"compute_type='{compute_type}' and precision='{precision}' say different things")
        precision = said
    precision = precision or "f32"
    if loss_scaling is not None and loss_scaling != (precision == "f16"):
        raise InvalidArgument(f"loss_scaling={loss_scaling}: losses are scaled with float16 alone, and this is {precision}")
    return precision


def _copy_parameters(source: NcpLayer, target: NcpLayer) -> None:
    """By position: the names of a backbone's layers count those of dropout."""
    names = [name for name, _, _ in target.parameter_list()]
    values = [source.state_dict()[name] for name, _, _ in source.parameter_list()]
    target.load_state_dict(dict(zip(names, values, strict=True)))


def sequence_options(mixed_memory: bool, return_sequences: bool, batch_first: bool) -> dict[str, bool]:
    """What layers over sequences have beside their cell."""
    return {"mixed_memory": mixed_memory, "return_sequences": return_sequences, "batch_first": batch_first}


class Layer(Model):
    """A layer over sequences, which can be trained."""

    @property
    def batch_first(self) -> bool:
        return bool(self._config["batch_first"])

    @property
    def return_sequences(self) -> bool:
        return bool(self._config["return_sequences"])

    def __call__(
        self, input: Any, hx: Any = None, timespans: Any = None, *, training: bool | None = None
    ) -> tuple[Array, Any]:
        """Outputs and the state after the last step; with mixed memory a pair of state and memory.

        input: (batch, steps, inputs), (steps, batch, inputs) without batch_first, or (steps, inputs).
        timespans: elapsed time before each step: a number, (batch, steps), (batch, steps, 1) or (batch, steps, units).
        training: for this call, whether dropout drops; None: as train() and eval() say.
        """
        return self._run(input, hx, timespans, training)

    forward = __call__

    @property
    def wiring_or_units(self) -> Any:
        """What it was made with: the wiring as a copy, or the number of units."""
        return self.wiring if "wiring" in self._config else self._config["units"]

    def fit(
        self,
        x: Any,
        y: Any,
        *,
        epochs: int = 10,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        loss: str = "mse",
        optimizer: str = "adam",
        timespans: Any = None,
        lengths: Any = None,
        validation_data: Sequence[Any] | None = None,
        schedule: str = "constant",
        clip_norm: float = 0.0,
        precision: str | None = None,
        patience: int = 0,
        seed: int = 1,
        keep_best: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        on_epoch: Callable[[Report], Any] | None = None,
        comm: Any = None,
        deterministic: bool = False,
        backbone_dropout: float | None = None,
        parameter_type: str | None = None,
        compute_type: str | None = None,
        loss_scaling: bool | None = None,
        **options: Any,
    ) -> list[Report]:
        """Trains the parameters; returns a report for each epoch: loss, accuracy, val_loss, seconds, ...

        x: (samples, steps, inputs), whatever batch_first says. y: a target for every step or for the last one, by its rank:
        (samples, steps, outputs) or (samples, outputs), numbers of classes without the last extent.
        timespans: (samples, steps), or one for all. lengths: steps of each sample, where they differ.
        loss: "mse", "cross_entropy" (classes), "bce" (logits, targets from 0 to 1).
        optimizer: "adam", "adamw", "rmsprop", "sgd". schedule: "constant", "exponential", "cosine", "step".
        validation_data: x, y and optionally timespans and lengths. patience: epochs without a better validation loss after
        which to stop. keep_best: ends with the parameters of the best epoch.
        precision: of products of a CfC, of parameters and states of an LTC: "f32", "bf16" or "f16". options: as
        `tessera ncp train` has them: decay, every, floor, momentum, beta1, beta2, smoothing, epsilon, weight_decay,
        clip_value, clip_norm_each.
        checkpoint: a file that is written after each epoch, and gone on from where it exists: a run that was stopped ends
        with the same bits as one that was not.
        on_epoch: called with each report; False stops. The same seed gives the same bits on any number of threads.
        comm: a communicator of mpi4py whose ranks all call this with the same data: each takes a share of every batch, all
        begin with the parameters of rank 0 and end with the same ones. Rank 0 alone writes and reads the checkpoint and
        calls on_epoch. deterministic: gradients are added up in the order of one process, which gives its bits.
        backbone_dropout: for this training, in place of the layer's own. parameter_type, compute_type and loss_scaling are
        words of mlx_profile.configure_training(): parameters are float32; compute_type is another way to say precision;
        losses are scaled with float16, and only then.
        """
        precision = _precision(precision, parameter_type, compute_type, loss_scaling)
        layer = self._trained_layer(backbone_dropout)
        targets = np.asarray(y)
        described = {
            "epochs": epochs,
            "batch": batch_size,
            "learning_rate": learning_rate,
            "loss": loss,
            "readout": _readout(targets, loss),
            "optimizer": optimizer,
            "schedule": schedule,
            "clip_norm": clip_norm,
            "precision": precision,
            "patience": patience,
            "seed": seed,
            **options,
        }
        validation = None
        if validation_data is not None:
            if not 2 <= len(validation_data) <= 4:
                raise InvalidArgument(
                    f"validation_data has {len(validation_data)} items: x, y, and optionally timespans and lengths"
                )
            validation = _dataset(*validation_data)
        training = _dataset(x, targets, timespans, lengths)
        trainer = NcpTrainer(layer, json_text(described), training, validation, comm, deterministic)
        history: list[Report] = []
        if checkpoint is not None:
            trainer.restore(checkpoint)
        while not trainer.finished:
            try:
                report = trainer.run_epoch("" if checkpoint is None else os.fspath(checkpoint))
            except KeyboardInterrupt:  # what has been learnt is kept
                self._store(trainer, layer, keep_best)
                if checkpoint is not None:
                    trainer.save(checkpoint)
                raise
            if report is None:
                break
            history.append(report)
            if checkpoint is not None:
                trainer.save(checkpoint)
            if trainer.agreed(trainer.first and self._wants_to_stop(trainer, on_epoch, report)):
                break
        self._store(trainer, layer, keep_best)
        return history

    def _trained_layer(self, backbone_dropout: float | None) -> NcpLayer:
        """The layer itself, or one with the same parameters and another dropout."""
        if backbone_dropout is None or backbone_dropout == self._config.get("backbone_dropout", 0.0):
            return self._layer
        if not self._config.get("backbone_units"):
            raise InvalidArgument(f"backbone_dropout={backbone_dropout}: the layer has no backbone to drop from")
        layer = NcpLayer(json_text({**self._config, "backbone_dropout": backbone_dropout}), 0)
        _copy_parameters(self._layer, layer)
        return layer

    def _store(self, trainer: NcpTrainer, layer: NcpLayer, keep_best: bool) -> None:
        trainer.store(layer, keep_best)
        if layer is not self._layer:
            _copy_parameters(layer, self._layer)

    @staticmethod
    def _wants_to_stop(trainer: NcpTrainer, on_epoch: Callable[[Report], Any] | None, report: Report) -> bool:
        try:
            return on_epoch is not None and on_epoch(report) is False
        except BaseException:
            trainer.agreed(True)  # the others wait for an answer
            raise

    def evaluate(
        self, x: Any, y: Any, *, loss: str = "mse", timespans: Any = None, lengths: Any = None
    ) -> Evaluation:
        """Loss and accuracy over a data set."""
        targets = np.asarray(y)
        described = json_text({"loss": loss, "readout": _readout(targets, loss)})
        return ncp_evaluate(self._layer, described, _dataset(x, targets, timespans, lengths))
