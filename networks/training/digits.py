"""A small convolutional network for handwritten digits, trained on those of the UCI repository that scikit-learn has."""

from __future__ import annotations

import numpy as np
from layers import Adam, Convolution, Dense, MaxPool, cross_entropy
from onnx_file import Writer

from tessera import vision

SHAPE = (1, 8, 8)
PREPROCESSING = 'fit = "pad"\nchannels = "gray"\nrange = [0, 1]\nstrokes = true\n'
TRAINING = 1437  # of 1797, in the order of the data set; the others are for the test
EPOCHS, BATCH, RATE, VARIANTS = 60, 64, 2e-3, 24


def load():
    """Pictures as uint8 of (1797, 8, 8), light on black, and their digits."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return np.round(data.images * (255 / 16)).astype(np.uint8), data.target.astype(np.int64)


def prepared(pictures):
    return np.stack([vision.prepare(picture, PREPROCESSING, (1, *SHAPE)) for picture in pictures])


def varied(picture, random):
    """Larger, turned, slanted and with strokes of another width: what other hands, pens and cameras do."""
    large = vision.resize(np.pad(picture, 2), 48, 48, "bicubic")[:, :, 0].astype(np.float32)
    angle, slant = random.uniform(-0.2, 0.2), random.uniform(-0.3, 0.3)
    wide, high = random.uniform(0.85, 1.15, 2)
    y, x = np.mgrid[0:48, 0:48] - 23.5
    u = (np.cos(angle) * x - np.sin(angle) * y) / wide + slant * y
    v = (np.sin(angle) * x + np.cos(angle) * y) / high
    u, v = np.clip(u + 23.5, 0, 46.999), np.clip(v + 23.5, 0, 46.999)
    i, j = v.astype(int), u.astype(int)
    a, b = v - i, u - j
    turned = (large[i, j] * (1 - a) + large[i + 1, j] * a) * (1 - b) + (large[i, j + 1] * (1 - a) + large[i + 1, j + 1] * a) * b
    # Above 1 strokes grow, below they shrink; their edges are as sharp as those of a pen.
    edge = random.uniform(60, 205)
    sharp = np.clip((turned - edge) * random.uniform(2, 8) + 127, 0, 255) if random.uniform() < 0.6 else turned
    return sharp.astype(np.uint8)


def network(random):
    return [
        Convolution(1, 16, 3, 1, random),
        Convolution(16, 32, 3, 1, random),
        MaxPool(),
        Convolution(32, 64, 3, 1, random),
        MaxPool(),
        Dense(256, 10, random),
    ]


def forward(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x


def train(seed=1, log=print):
    random = np.random.default_rng(seed)
    pictures, digits = load()
    x, y = pictures[:TRAINING], digits[:TRAINING]
    variants = [prepared(x)] + [prepared([varied(picture, random) for picture in x]) for _ in range(VARIANTS - 1)]
    layers = network(random)
    parameters = [p for layer in layers for p in layer.parameters]
    optimizer = Adam(parameters, RATE, EPOCHS * -(-TRAINING // BATCH))
    for epoch in range(EPOCHS):
        order, loss = random.permutation(TRAINING), 0.0
        which = random.integers(0, VARIANTS, TRAINING)
        for start in range(0, TRAINING, BATCH):
            rows = order[start : start + BATCH]
            batch = np.stack([variants[which[row]][row] for row in rows])
            value, gradient = cross_entropy(forward(layers, batch), y[rows])
            loss += value * len(rows) / TRAINING
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            optimizer.step([g for layer in layers for g in layer.gradients])
        if epoch % 5 == 4:
            log(f"digits: epoch {epoch + 1} of {EPOCHS}, loss {loss:.4f}")
    test = forward(layers, prepared(pictures[TRAINING:])).argmax(1)
    accuracy = float((test == digits[TRAINING:]).mean())
    log(f"digits: {accuracy:.2%} of {len(test)} digits that were not trained on")
    return layers, accuracy


def save(path, layers, accuracy):
    out = Writer()
    x = out.convolution("conv1", "picture", layers[0])
    x = out.convolution("conv2", x, layers[1])
    x = out.node("MaxPool", "pool1", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = out.convolution("conv3", x, layers[3])
    x = out.node("MaxPool", "pool2", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = out.node("Flatten", "flat", [x])
    out.gemm("scores", x, layers[5].weight, layers[5].bias)
    about = {
        "description": f"handwritten digits: three convolutions, trained; {accuracy:.1%} of 360 held-out digits",
        "tessera.labels": "\n".join("0123456789"),
        "tessera.preprocessing": PREPROCESSING,
        "accuracy": f"{accuracy:.4f} of the last 360 of the 1797 digits, which were not trained on",
        "data": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, "
        "CC BY 4.0; the test set, as scikit-learn has it",
        "license": "Apache-2.0",
    }
    out.save(path, "digits", SHAPE, 10, about)
