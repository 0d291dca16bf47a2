"""Liquid models held against devices: profiles of Apple's M1 to M4 families and of this computer, a profiler, checks.

    from tessera.mlx_profile import DeviceConfig, MLXProfiler, profile_model

    config = DeviceConfig.get("M1 Max")
    stats = profile_model(model, config)
    print(stats["tflops"], stats["kind"])

On ``host`` every figure is measured. On any other device it is modelled: a roofline with launch costs, and each figure
says so under ``kind`` and ``kinds``. ``fusion`` says what is launched there: "none" is MLX as a layer is written,
"elementwise" MLX under ``mx.compile``, "full" one kernel for each product and what follows it.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import ncps
from tessera._tessera import (
    InvalidArgument,
    NcpDevice,
    NcpLayer,
    NcpProfiler,
    ncp_fusion_report,
    ncp_lint,
    ncp_training_settings,
)

__all__ = [
    "DeviceConfig",
    "MLXProfiler",
    "configure_training",
    "create_optimized_model",
    "fusion_report",
    "lint",
    "monitor_bandwidth",
    "monitor_performance",
    "process_in_batches",
    "profile_model",
    "quick_profile",
    "validate_performance",
    "verify_hardware_usage",
]

Stats = dict[str, Any]

DeviceConfig = NcpDevice


def _layer_of(model: Any) -> NcpLayer:
    layer = model if isinstance(model, NcpLayer) else getattr(model, "_layer", None)
    if not isinstance(layer, NcpLayer):
        raise InvalidArgument(
            f"{type(model).__name__} is no liquid layer: CfC, LTC and their cells of tessera.ncps can be profiled"
        )
    return layer


def _device_of(device: DeviceConfig | str | None) -> DeviceConfig:
    if device is None:
        return DeviceConfig.get("host")
    return DeviceConfig.get(device) if isinstance(device, str) else device


class MLXProfiler:
    """Profiles of one model on one device; without a device, measured on this computer."""

    def __init__(self, model: Any, device: DeviceConfig | str | None = None) -> None:
        self.model = model
        self.device = _device_of(device)
        self._profiler = NcpProfiler(_layer_of(model), self.device)

    def profile_compute(
        self, batch_size: int = 32, seq_length: int = 10, num_runs: int = 100, fusion: str = "elementwise"
    ) -> Stats:
        """time_mean, time_std, time_p50, time_p99 (s), flops_mean, flops_std (FLOP/s), tflops, ne_utilization (%),
        samples_per_second."""
        return self._profiler.profile_compute(batch_size, seq_length, num_runs, fusion)

    def profile_memory(
        self,
        batch_size: int = 32,
        seq_length: int = 10,
        num_runs: int = 10,
        track_unified: bool = True,
        fusion: str = "elementwise",
    ) -> Stats:
        """peak_usage, current_usage, total_allocated, total_freed (MB), bandwidth (GB/s: logical bytes over time),
        memory_utilization (%), and unified_usage (%) unless it is not wanted. cache_hit_rate is None: nobody can know it
        here, and ["why"]["cache_hit_rate"] is the reason."""
        stats = self._profiler.profile_memory(batch_size, seq_length, num_runs, fusion)
        if not track_unified:
            del stats["unified_usage"]
        return stats

    def profile_hardware(
        self, batch_size: int | None = None, seq_length: int = 16, num_runs: int = 10, fusion: str = "elementwise"
    ) -> Stats:
        """ne_utilization, compute_utilization (% of the peak of what computes), memory_utilization, tflops,
        bandwidth, intensity. The batch is the device's own unless one is given."""
        batch = self.device.get_optimal_batch_size() if batch_size is None else batch_size
        return self._profiler.profile_hardware(batch, seq_length, num_runs, fusion)

    def profile_stream(
        self, batch_size: int = 32, seq_length: int = 10, fusion: str = "elementwise", num_runs: int = 10
    ) -> Stats:
        """Forward and backward, as in training: kernel_time (a mean), memory_time (s), num_kernels, num_transfers."""
        return self._profiler.profile_stream(batch_size, seq_length, num_runs, fusion)

    def profile_all(self, batch_size: int = 32, seq_length: int = 10, num_runs: int = 100) -> dict[str, Stats]:
        return {
            "compute": self.profile_compute(batch_size, seq_length, num_runs),
            "memory": self.profile_memory(batch_size, seq_length, num_runs),
            "hardware": self.profile_hardware(batch_size, seq_length, num_runs),
            "stream": self.profile_stream(batch_size, seq_length),
        }

    @property
    def history(self) -> list[tuple[str, Stats]]:
        """Every profile that was taken, oldest first: what it was, and its numbers."""
        return self._profiler.history

    def summary(self) -> str:
        return self._profiler.summary()

    def plot_history(self, path: str | os.PathLike[str] | None = None) -> str:
        """The history as a picture (SVG), written to a file if one is named."""
        picture = self._profiler.history_svg()
        if path is not None:
            pathlib.Path(path).write_text(picture, encoding="utf-8")
        return picture


def profile_model(
    model: Any, config: DeviceConfig | str | None = None, seq_length: int = 16, num_runs: int = 20
) -> Stats:
    """What the guide's checks ask for: tflops, bandwidth (GB/s), memory (MB), ne_utilization (%), and their kind."""
    profiler = MLXProfiler(model, config)
    batch = profiler.device.get_optimal_batch_size()
    compute = profiler.profile_compute(batch, seq_length, num_runs)
    memory = profiler.profile_memory(batch, seq_length, num_runs)
    return {
        "tflops": compute["tflops"],
        "bandwidth": memory["bandwidth"],
        "memory": memory["peak_usage"],
        "ne_utilization": compute["ne_utilization"],
        "time_mean": compute["time_mean"],
        "samples_per_second": compute["samples_per_second"],
        "batch_size": batch,
        "seq_length": seq_length,
        "device": compute["device"],
        "kind": compute["kind"],
        "note": compute["note"],
    }


def quick_profile(model: Any, config: DeviceConfig | str | None = None) -> str:
    """Ten runs with the device's batch, as text."""
    profiler = MLXProfiler(model, config)
    batch = profiler.device.get_optimal_batch_size()
    profiler.profile_compute(batch, 16, 10)
    profiler.profile_memory(batch, 16, 10)
    profiler.profile_hardware(batch, 16, 10)
    return profiler.summary()


def monitor_performance(model: Any, config: DeviceConfig | str) -> Stats:
    device = _device_of(config)
    return MLXProfiler(model, device).profile_compute(device.get_optimal_batch_size(), seq_length=16, num_runs=100)


def monitor_bandwidth(model: Any, config: DeviceConfig | str) -> float:
    device = _device_of(config)
    return float(MLXProfiler(model, device).profile_memory(device.get_optimal_batch_size())["bandwidth"])


def _asserted(verdicts: list[dict[str, Any]], strict: bool) -> list[dict[str, Any]]:
    failed = [
        f"{v['check']} is {v['value']:.4g} {v['unit']} ({v['kind']}), {v['relation']} {v['target']:.4g} is asked for: "
        f"{v['why']}"
        for v in verdicts
        if not v["ok"]
    ]
    if strict and failed:
        raise AssertionError("\n".join(failed))
    return verdicts


def validate_performance(
    model: Any, config: DeviceConfig | str, *, strict: bool = False, seq_length: int = 16, num_runs: int = 20
) -> list[dict[str, Any]]:
    """A verdict for each of tflops, bandwidth and memory. strict: an AssertionError that names what was missed."""
    profiler = MLXProfiler(model, config)
    batch = profiler.device.get_optimal_batch_size()
    return _asserted(profiler._profiler.validate_performance(batch, seq_length, num_runs, "elementwise"), strict)


def verify_hardware_usage(
    model: Any, config: DeviceConfig | str, *, strict: bool = False, seq_length: int = 16, num_runs: int = 20
) -> list[dict[str, Any]]:
    """Whether half of what computes is used. strict: an AssertionError if it is not."""
    profiler = MLXProfiler(model, config)
    batch = profiler.device.get_optimal_batch_size()
    return _asserted(profiler._profiler.verify_hardware_usage(batch, seq_length, num_runs, "elementwise"), strict)


def lint(model: Any, config: DeviceConfig | str, batch_size: int = 0, seq_length: int = 16) -> list[dict[str, str]]:
    """What to change in the model for the device: severity, rule, subject, message."""
    return ncp_lint(_layer_of(model), _device_of(config), batch_size, seq_length)


def fusion_report(model: Any, batch_size: int = 32, seq_length: int = 16) -> dict[str, dict[str, float]]:
    """Kernels, operations and bytes of a call without fusion, with elementwise operations fused, and fully fused."""
    return ncp_fusion_report(_layer_of(model), batch_size, seq_length)


def configure_training(config: DeviceConfig | str, model: Any = None, seq_length: int = 16) -> dict[str, Any]:
    """batch_size, learning_rate and backbone_dropout of the guide, with its mixed precision spelled out.

    The guide has one learning rate and one dropout for every chip and model. With a model: the largest recommended batch
    with which training on sequences of seq_length steps fits the memory budget, no dropout where nothing drops, and a
    compute_type that the model has.
    """
    return ncp_training_settings(_device_of(config), None if model is None else _layer_of(model), seq_length)


def create_optimized_model(config: DeviceConfig | str, input_size: int, **options: Any) -> ncps.CfC:
    """A CfC of the largest sizes that the guide recommends for the device."""
    device = _device_of(config)
    options.setdefault("backbone_units", device.get_optimal_backbone())
    return ncps.CfC(input_size, device.get_optimal_hidden_size(), **options)


def process_in_batches(model: Any, x: Any, batch_size: int) -> npt.NDArray[np.float32]:
    """Outputs for all samples of x, in slices of batch_size: the same numbers as one call gives."""
    if batch_size < 1:
        raise InvalidArgument(f"a batch size of {batch_size} makes no slices")
    x = np.asarray(x)
    by_batch = getattr(model, "batch_first", True)
    count = x.shape[0 if by_batch else 1]
    slices = []
    for begin in range(0, max(count, 1), batch_size):
        part = slice(begin, begin + batch_size)
        result = model(x[part] if by_batch else x[:, part])
        slices.append(result[0] if isinstance(result, tuple) else result)
    time_first = not by_batch and getattr(model, "return_sequences", True)
    return np.concatenate(slices, axis=1 if time_first else 0)


DeviceConfig.__module__ = __name__
