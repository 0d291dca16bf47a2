"""The few layers that small networks for pictures need, forward and backward, in numpy: N C H W, float32."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


class Convolution:
    """A square kernel with a bias, then a relu; padded so that a stride of 1 keeps the extents."""

    def __init__(self, inputs, outputs, kernel, stride, random):
        deviation = np.sqrt(2 / (inputs * kernel * kernel))
        self.weight = random.normal(0, deviation, (outputs, inputs, kernel, kernel)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.kernel, self.stride, self.pad = kernel, stride, kernel // 2

    @property
    def parameters(self):
        return [self.weight, self.bias]

    def forward(self, x):
        p = self.pad
        self.padded_shape = (*x.shape[:2], x.shape[2] + 2 * p, x.shape[3] + 2 * p)
        windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (p, p), (p, p))), (self.kernel, self.kernel), (2, 3))
        windows = windows[:, :, :: self.stride, :: self.stride]
        n, c, h, w, k, _ = windows.shape
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * k * k)
        y = self.columns @ self.weight.reshape(len(self.weight), -1).T + self.bias
        self.positive = y > 0
        self.output_shape = (n, h, w, len(self.weight))
        return np.where(self.positive, y, 0).reshape(self.output_shape).transpose(0, 3, 1, 2)

    def backward(self, gradient):
        d = gradient.transpose(0, 2, 3, 1).reshape(-1, len(self.weight)) * self.positive
        self.gradients = [(d.T @ self.columns).reshape(self.weight.shape), d.sum(0)]
        n, h, w, _ = self.output_shape
        k, s = self.kernel, self.stride
        columns = (d @ self.weight.reshape(len(self.weight), -1)).reshape(n, h, w, -1, k, k)
        out = np.zeros(self.padded_shape, np.float32)
        for i in range(k):
            for j in range(k):
                out[:, :, i : i + s * h : s, j : j + s * w : s] += columns[:, :, :, :, i, j].transpose(0, 3, 1, 2)
        p = self.pad
        return out[:, :, p:-p, p:-p] if p else out


class MaxPool:
    """Of 2x2 pixels."""

    parameters: list = []
    gradients: list = []

    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = blocks.max((3, 5))
        best = blocks == y[:, :, :, None, :, None]
        self.share = best / best.sum((3, 5), keepdims=True)
        return y

    def backward(self, gradient):
        n, c, h, w = gradient.shape
        return (self.share * gradient[:, :, :, None, :, None]).reshape(n, c, h * 2, w * 2).astype(np.float32)


class Dense:
    """All of what reaches it, flat."""

    def __init__(self, inputs, outputs, random):
        self.weight = random.normal(0, np.sqrt(1 / inputs), (outputs, inputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    @property
    def parameters(self):
        return [self.weight, self.bias]

    def forward(self, x):
        self.shape, self.flat = x.shape, x.reshape(len(x), -1)
        return self.flat @ self.weight.T + self.bias

    def backward(self, gradient):
        self.gradients = [gradient.T @ self.flat, gradient.sum(0)]
        return (gradient @ self.weight).reshape(self.shape)


def cross_entropy(scores, classes):
    """The mean loss, and its gradient by the scores."""
    scores = scores - scores.max(1, keepdims=True)
    chance = np.exp(scores)
    chance /= chance.sum(1, keepdims=True)
    rows = np.arange(len(classes))
    loss = -np.log(np.maximum(chance[rows, classes], 1e-30)).mean()
    chance[rows, classes] -= 1
    return float(loss), (chance / len(classes)).astype(np.float32)


class Adam:
    """Over a list of arrays that are changed in place; the rate falls to 0 as a cosine over `steps`."""

    def __init__(self, parameters, rate, steps, decay=1e-4):
        self.parameters, self.rate, self.steps, self.decay, self.step_number = parameters, rate, steps, decay, 0
        self.means = [np.zeros_like(p) for p in parameters]
        self.squares = [np.zeros_like(p) for p in parameters]

    def step(self, gradients):
        rate = self.rate * 0.5 * (1 + np.cos(np.pi * self.step_number / self.steps))
        self.step_number += 1
        for p, g, m, v in zip(self.parameters, gradients, self.means, self.squares, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            mean = m / (1 - 0.9**self.step_number)
            square = v / (1 - 0.999**self.step_number)
            p -= rate * (mean / (np.sqrt(square) + 1e-8) + self.decay * p)
