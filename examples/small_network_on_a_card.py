#!/usr/bin/env python3
"""Brings a small network onto a card in software, layer by layer: where each output lies, what L1 holds, how close it is.

    PYTHONPATH=build/python python3 examples/small_network_on_a_card.py --device wormhole_n150

The layers are torch.nn's or anything with their attributes: here plain records, so that PyTorch need not be there.
"""

import argparse
from types import SimpleNamespace

import numpy as np

from tessera import cnn, ttnn

SIDE, IMAGES = 64, 1


def conv_layer(random, inputs, outputs, kernel=3, stride=1):
    """What torch.nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2) says of itself."""
    return SimpleNamespace(
        in_channels=inputs,
        out_channels=outputs,
        kernel_size=(kernel, kernel),
        stride=(stride, stride),
        padding=(kernel // 2, kernel // 2),
        dilation=(1, 1),
        groups=1,
        weight=random.standard_normal((outputs, inputs, kernel, kernel), np.float32) * np.sqrt(2 / (inputs * kernel * kernel)),
        bias=random.standard_normal(outputs, np.float32) / 8,
    )


def reference(layer, x, activation=True):
    """The layer in double precision: one product for each place in the window."""
    (kernel, _), (stride, _), (pad, _) = layer.kernel_size, layer.stride, layer.padding
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    side = (padded.shape[1] - kernel) // stride + 1
    y = np.zeros((x.shape[0], side, side, layer.out_channels)) + layer.bias
    for i in range(kernel):
        for j in range(kernel):
            reach = (side - 1) * stride + 1
            y += padded[:, i : i + reach : stride, j : j + reach : stride] @ layer.weight[:, :, i, j].T.astype(np.float64)
    return np.maximum(y, 0) if activation else y


def report(name, y, wanted, device):
    place = y.memory_config()
    shard = f"{list(place.shard_spec.shape)} on {place.shard_spec.grid.num_cores()} cores" if place.is_sharded() else ""
    used = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank
    pcc = np.corrcoef(y.to_numpy().ravel(), wanted.ravel())[0, 1]
    print(f"{name:<12} {place.memory_layout.name:<15} {shard:<24} {used:>9} B of L1   PCC {pcc:.5f}")
    return pcc


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="wormhole_n150", help="a machine's name or file")
    ttnn.set_default_machine(parser.parse_args().device)
    device = ttnn.open_device(device_id=0, l1_small_size=16384)
    print(f"{device.machine}: {device.core_grid.x} x {device.core_grid.y} cores")

    random = np.random.default_rng(2026)
    stem, first, second = conv_layer(random, 16, 32, stride=2), conv_layer(random, 32, 64), conv_layer(random, 64, 32)

    # As on a tuned card: block floats for weights, LoFi where it suffices, everything in L1, inputs freed when used up.
    common = {
        "batch_size": IMAGES,
        "activation": "relu",
        "weights_dtype": ttnn.bfloat8_b,
        "math_fidelity": ttnn.MathFidelity.HiFi2,
        "fp32_dest_acc_en": True,
        "sharding_strategy": cnn.HeightShardedStrategyConfiguration(act_block_h_override=32),
        "slice_strategy": cnn.L1FullSliceStrategyConfiguration(),
    }
    half = SIDE // 2
    conv1 = cnn.TtConv2d(cnn.Conv2dConfiguration.from_torch(stem, SIDE, SIDE, **common), device)
    conv2 = cnn.TtConv2d(cnn.Conv2dConfiguration.from_torch(first, half, half, **common), device)
    conv3 = cnn.TtConv2d(
        cnn.Conv2dConfiguration.from_torch(second, half, half, **(common | {"activation": None, "deallocate_activation": True})), device
    )
    pool = cnn.TtMaxPool2d(cnn.MaxPool2dConfiguration(half, half, 32, IMAGES, (2, 2), stride=(2, 2)), device)

    image = random.standard_normal((IMAGES, SIDE, SIDE, 16), np.float32)
    x = ttnn.from_numpy(image, ttnn.bfloat16, device=device)

    wanted_skip = reference(stem, image)
    skip = conv1(x)
    report("conv1", skip, wanted_skip, device)
    wanted = reference(first, wanted_skip)
    y = conv2(skip)
    report("conv2", y, wanted, device)
    wanted = reference(second, wanted, activation=False)
    y = conv3(y)
    report("conv3", y, wanted, device)
    wanted = np.maximum(wanted + wanted_skip, 0)
    y = ttnn.add_(y, skip, activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)])
    skip.deallocate(True)
    report("add", y, wanted, device)
    wanted = wanted.reshape(IMAGES, half // 2, 2, half // 2, 2, 32).max(axis=(2, 4))
    y = pool(y)
    pcc = report("max_pool2d", y, wanted, device)

    ttnn.close_device(device)
    print(f"correlation with double precision: {pcc:.5f}")


if __name__ == "__main__":
    main()
