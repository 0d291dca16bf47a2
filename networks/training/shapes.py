"""Shapes on grey paper, told apart by convolutions and a liquid head: a CfC reads what they leave, column by column."""

from __future__ import annotations

import numpy as np
from layers import Adam, Convolution, cross_entropy
from onnx_file import Writer

from tessera.ncps import CfC

SIZE = 32
SHAPE = (1, SIZE, SIZE)
NAMES = ["circle", "square", "triangle", "star", "cross", "heart"]
PREPROCESSING = 'fit = "pad"\nchannels = "gray"\nrange = [-1, 1]\nfill = 0\nstrokes = true\n'
TRAINING, TEST, TEST_SEED = 6000, 600, 20261118
EPOCHS, BATCH, RATE, UNITS = 14, 64, 3e-3, 24


def corners(kind, random):
    """The outline, around 0 and within a circle of radius 1."""
    if kind == "circle":
        angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        return np.stack([np.cos(angles), np.sin(angles)], 1)
    if kind == "star":
        angles = np.arange(10) * np.pi / 5
        radius = np.where(np.arange(10) % 2, random.uniform(0.38, 0.5), 1)
        return np.stack([np.sin(angles), -np.cos(angles)], 1) * radius[:, None]
    if kind == "cross":
        a = random.uniform(0.2, 0.35)
        x = [-a, a, a, 1, 1, a, a, -a, -a, -1, -1, -a]
        y = [-1, -1, -a, -a, a, a, 1, 1, a, a, -a, -a]
        return np.stack([x, y], 1) * 0.9
    if kind == "heart":
        t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        return np.stack([16 * np.sin(t) ** 3, -(13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t))], 1) / 17
    count = 4 if kind == "square" else 3
    angles = np.arange(count) * 2 * np.pi / count + (np.pi / 4 if count == 4 else -np.pi / 2)
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def inside(points, x, y):
    """Whether each pixel lies within the outline: how often a ray to the right crosses it."""
    odd = np.zeros(x.shape, bool)
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, 0), strict=True):
        if y0 != y1:
            odd ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return odd


def draw(kind, random, size=64):
    """A picture as uint8 of (size, size): filled or an outline, dark or light, anywhere, turned by up to 15 degrees."""
    fine = size * 2
    points = corners(kind, random) * random.uniform(0.8, 1, 2)
    angle = random.uniform(-0.26, 0.26)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    radius = random.uniform(0.25, 0.45) * fine
    middle = random.uniform(radius, fine - radius, 2)
    y, x = np.mgrid[0:fine, 0:fine] + 0.5
    filled = inside(points @ turn * radius + middle, x, y)
    if random.uniform() < 0.4:
        filled &= ~inside(points @ turn * radius * random.uniform(0.55, 0.75) + middle, x, y)
    light = random.uniform(0.55, 1) * 255
    dark = random.uniform(0, 0.3) * 255
    ink, paper = (dark, light) if random.uniform() < 0.7 else (light, dark)
    part = filled.reshape(size, 2, size, 2).mean((1, 3))
    picture = paper + (ink - paper) * part + random.normal(0, random.uniform(0, 6), (size, size))
    return np.clip(picture, 0, 255).astype(np.uint8)


def sample(count, seed):
    """Pictures and their classes, as many of each."""
    random = np.random.default_rng(seed)
    classes = np.arange(count) % len(NAMES)
    return [draw(NAMES[c], random) for c in classes], classes


def prepared(pictures):
    from tessera import vision

    return np.stack([vision.prepare(picture, PREPROCESSING, (1, *SHAPE)) for picture in pictures])


class Network:
    def __init__(self, random, seed):
        self.stem = [
            Convolution(1, 12, 5, 2, random),
            Convolution(12, 24, 3, 2, random),
            Convolution(24, 8, 3, 1, random),
        ]
        self.head = CfC(8 * 8, UNITS, proj_size=len(NAMES), return_sequences=False, backbone_units=32, backbone_layers=1, seed=seed)
        self.state = {name: np.array(value) for name, value in self.head.state_dict().items()}

    def features(self, x):
        for layer in self.stem:
            x = layer.forward(x)
        self.shape = x.shape  # N C H W
        # A step for each column, from left to right: its rows and channels.
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2).reshape(len(x), x.shape[3], -1))

    def scores(self, x):
        return self.head(self.features(x), training=False)[0]

    def learn(self, x, classes):
        found = self.head.loss_gradient(self.features(x), loss=lambda scores: cross_entropy(scores, classes))
        n, c, h, w = self.shape
        gradient = np.asarray(found.gradients.input).reshape(n, w, c, h).transpose(0, 2, 3, 1)
        for layer in reversed(self.stem):
            gradient = layer.backward(gradient)
        return found.loss, found.gradients.parameters


def train(seed=1, log=print):
    random = np.random.default_rng(seed)
    pictures, classes = sample(TRAINING, seed)
    x = prepared(pictures)
    network = Network(random, seed)
    names = list(network.state)
    parameters = [p for layer in network.stem for p in layer.parameters] + [network.state[name] for name in names]
    optimizer = Adam(parameters, RATE, EPOCHS * -(-TRAINING // BATCH))
    for epoch in range(EPOCHS):
        order, total = random.permutation(TRAINING), 0.0
        for start in range(0, TRAINING, BATCH):
            rows = order[start : start + BATCH]
            loss, of_head = network.learn(x[rows], classes[rows])
            total += loss * len(rows) / TRAINING
            optimizer.step([g for layer in network.stem for g in layer.gradients] + [of_head[name] for name in names])
            network.head.load_state_dict(network.state)
        if epoch % 2 == 1:
            log(f"shapes: epoch {epoch + 1} of {EPOCHS}, loss {total:.4f}")
    test, truth = sample(TEST, TEST_SEED)
    accuracy = float((network.scores(prepared(test)).argmax(1) == truth).mean())
    log(f"shapes: {accuracy:.2%} of {TEST} shapes drawn with another seed")
    return network, accuracy


def save(path, network, accuracy):
    """Every step of the CfC written out in operators of ONNX, so that any runtime reads it."""
    out = Writer()
    x = "picture"
    for i, layer in enumerate(network.stem, start=1):
        x = out.convolution(f"conv{i}", x, layer)
    columns = out.node("Transpose", "columns", [x], perm=[3, 0, 1, 2])
    steps = network.shape[3]
    weights = network.head.state_dict()
    find = lambda ending: next(value for name, value in weights.items() if name.endswith(ending))  # noqa: E731
    heads = np.concatenate([find("ff1.weight"), find("ff2.weight"), find("time_a.weight") + find("time_b.weight")])
    biases = np.concatenate([find("ff1.bias"), find("ff2.bias"), find("time_a.bias") + find("time_b.bias")])
    back_weight, back_bias = find("backbone.0.weight"), find("backbone.0.bias")
    features = back_weight.shape[1] - UNITS
    # The state begins with zeros, so the first step has the inputs' part alone.
    out.constant("slope", np.float32(0.666))
    out.constant("height", np.float32(1.7159))
    out.constant("flat", np.array([-1, features], np.int64))
    for end in range(4):
        out.constant(f"at{end}", np.array([end * UNITS], np.int64))
    out.constant("along", np.array([1], np.int64))
    state = None
    for t in range(steps):
        index = out.constant(f"step{t}", np.int64(t))
        column = out.node("Gather", f"column{t}", [columns, index], axis=0)
        z = out.node("Reshape", f"input{t}", [column, "flat"])
        if state is None:
            y = out.gemm("backbone0", z, back_weight[:, :features], back_bias)
        else:
            z = out.node("Concat", f"joined{t}", [z, state], axis=1)
            names = [out.once("backbone.weight", back_weight), out.once("backbone.bias", back_bias)]
            y = out.node("Gemm", f"backbone{t}", [z, *names], transB=1)
        y = out.node("Tanh", f"bent{t}", [out.node("Mul", f"scaled{t}", [y, "slope"])])
        y = out.node("Mul", f"stretched{t}", [y, "height"])
        names = [out.once("heads.weight", heads), out.once("heads.bias", biases)]
        y = out.node("Gemm", f"heads{t}", [y, *names], transB=1)
        part = lambda k, t=t, y=y: out.node("Slice", f"part{k}_{t}", [y, f"at{k}", f"at{k + 1}", "along"])  # noqa: E731
        first = out.node("Tanh", f"first{t}", [part(0)])
        second = out.node("Tanh", f"second{t}", [part(1)])
        gate = out.node("Sigmoid", f"gate{t}", [part(2)])
        # (1 - gate) first + gate second
        apart = out.node("Sub", f"apart{t}", [second, first])
        state = out.node("Add", f"state{t}", [first, out.node("Mul", f"moved{t}", [gate, apart])])
    out.gemm("scores", state, find("fc.weight"), find("fc.bias"))
    about = {
        "description": f"{len(NAMES)} shapes: three convolutions and a liquid head (CfC), trained; {accuracy:.1%} of {TEST} held-out ones",
        "tessera.labels": "\n".join(NAMES),
        "tessera.preprocessing": PREPROCESSING,
        "accuracy": f"{accuracy:.4f} of {TEST} shapes that were drawn with another seed",
        "data": "drawn by networks/training/shapes.py",
        "license": "Apache-2.0",
    }
    out.save(path, "shapes", SHAPE, len(NAMES), about)
