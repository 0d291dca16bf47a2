"""tessera.mlx_profile: device configs, the profiler and the guide's checks."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import tessera
from tessera import mlx_profile
from tessera.mlx_profile import DeviceConfig, MLXProfiler, profile_model
from tessera.ncps import LTC, CfC, wirings


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """The host is measured once for all tests of this file, and not into the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def model():
    return CfC(8, wirings.AutoNCP(32, 4))


@pytest.mark.parametrize(
    ("name", "batch", "hidden", "backbone", "tflops", "bandwidth", "budget"),
    [
        ("M1", 64, 128, [64, 64], 2, 50, 8192),
        ("M1 Pro", 128, 256, [128, 128], 4, 150, 16384),
        ("M1 Max", 256, 512, [256, 256], 8, 300, 32768),
        ("M1 Ultra", 512, 1024, [512, 512], 16, 600, 65536),
    ],
)
def test_configs_hold_the_guides_numbers(name, batch, hidden, backbone, tflops, bandwidth, budget):
    config = DeviceConfig.get(name)
    assert config.get_optimal_batch_size() == batch
    assert config.get_optimal_hidden_size() == hidden
    assert config.get_optimal_backbone() == backbone
    assert (config.min_tflops, config.min_bandwidth, config.memory_budget) == (tflops, bandwidth, budget)
    assert config.kind == "modelled"
    assert DeviceConfig.from_json(config.to_json()) == config


def test_unknown_device_is_an_error_that_lists_the_known_ones():
    with pytest.raises(tessera.Error, match="apple_m1, apple_m1_max, apple_m1_pro, apple_m1_ultra, apple_m2.*, host"):
        DeviceConfig.get("M7")


def test_host_is_measured_and_detected():
    host = DeviceConfig.get("host")
    assert host.measured and host.peak_flop_per_s > 1e8
    assert DeviceConfig.detect().name in DeviceConfig.names()


def test_profiler_measures_on_the_host(model):
    profiler = MLXProfiler(model)
    stats = profiler.profile_compute(batch_size=8, seq_length=4, num_runs=5)
    assert stats["kind"] == "measured" == stats["kinds"]["tflops"]
    assert stats["time_p99"] >= stats["time_p50"] > 0
    assert stats["tflops"] == pytest.approx(stats["flops_mean"] / 1e12)
    memory = profiler.profile_memory(batch_size=8)
    assert memory["bandwidth"] > 0 and memory["cache_hit_rate"] is None and "caches" in memory["why"]["cache_hit_rate"]
    assert "unified_usage" not in profiler.profile_memory(batch_size=8, track_unified=False)
    assert len(profiler.history) == 3


def test_every_number_of_an_apple_device_is_modelled(model, tmp_path):
    profiler = MLXProfiler(model, "M1 Max")
    everything = profiler.profile_all(batch_size=64, seq_length=16)
    assert set(everything) == {"compute", "memory", "hardware", "stream"}
    for stats in everything.values():
        assert stats["kind"] == "modelled"
        assert "measured" not in stats["kinds"].values()
    assert "modelled" in profiler.summary()
    picture = profiler.plot_history(tmp_path / "history.svg")
    ElementTree.fromstring(picture)
    assert (tmp_path / "history.svg").read_text(encoding="utf-8") == picture


def test_profile_model_has_what_the_guide_asks_for(model):
    stats = profile_model(model, DeviceConfig.get("M1"))
    assert stats["kind"] == "modelled" and stats["batch_size"] == 64
    assert stats["tflops"] > 0 and stats["bandwidth"] > 0 and stats["memory"] > 0


def test_verdicts_and_their_asserting_form(model):
    config = DeviceConfig.get("M1")
    verdicts = mlx_profile.validate_performance(model, config)
    assert [v["check"] for v in verdicts] == ["tflops", "bandwidth", "memory"]
    assert [v["ok"] for v in verdicts] == [False, False, True]
    assert all(v["kind"] == "modelled" and v["why"] for v in verdicts)
    with pytest.raises(AssertionError, match="tflops is .* is asked for"):
        mlx_profile.validate_performance(model, config, strict=True)
    with pytest.raises(AssertionError, match="ne_utilization"):
        mlx_profile.verify_hardware_usage(model, config, strict=True)
    large = mlx_profile.create_optimized_model("M1 Ultra", 64)
    assert mlx_profile.verify_hardware_usage(large, "M1 Ultra", strict=True)[0]["ok"]


def test_monitors_and_quick_profile(model):
    config = DeviceConfig.get("M1 Pro")
    assert mlx_profile.monitor_performance(model, config)["batch_size"] == 128
    assert mlx_profile.monitor_bandwidth(model, config) > 0
    assert "Apple M1 Pro" in mlx_profile.quick_profile(model, config)


def test_lint_fusion_and_training_settings(model):
    rules = {finding["rule"] for finding in mlx_profile.lint(CfC(8, 100), "M1", batch_size=63)}
    assert {"power-of-two", "alignment", "device"} <= rules
    report = mlx_profile.fusion_report(CfC(8, 16), batch_size=4, seq_length=10)
    assert report["none"]["kernels"] > report["elementwise"]["kernels"] > report["full"]["kernels"]
    settings = mlx_profile.configure_training("M1")
    assert (settings["batch_size"], settings["learning_rate"], settings["backbone_dropout"]) == (64, 0.001, 0.1)
    assert settings["compute_type"] == "float16" and settings["loss_scaling"]
    assert mlx_profile.configure_training("M1", model)["backbone_dropout"] == 0  # a wiring has no backbone


@pytest.mark.parametrize("batch", [0, 1, 32, 70])
@pytest.mark.parametrize("batch_first", [True, False])
def test_batches_give_the_bits_of_one_call(batch, batch_first):
    model = LTC(8, wirings.AutoNCP(16, 3), batch_first=batch_first)
    shape = (batch, 5, 8) if batch_first else (5, batch, 8)
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    np.testing.assert_array_equal(mlx_profile.process_in_batches(model, x, 32), model(x)[0])


def test_what_is_no_layer_is_refused():
    with pytest.raises(tessera.InvalidArgument, match="dict is no liquid layer"):
        MLXProfiler({})


def test_json_of_a_device_is_readable():
    assert json.loads(DeviceConfig.get("M1").to_json())["tiers"][1]["name"] == "class"
