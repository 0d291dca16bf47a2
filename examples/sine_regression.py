#!/usr/bin/env python3
"""A liquid network learns a sine of twice the frequency from a sine and a cosine.

    PYTHONPATH=build/python python3 examples/sine_regression.py [--layer cfc|ltc] [--epochs 300]

The loop is written out: loss_gradient() gives the loss and its gradients, Adam is six lines of numpy. model.fit() does the
same in one call.
"""

import argparse

import numpy as np

from tessera.ncps import LTC, CfC, wirings

STEPS = 48


class Adam:
    def __init__(self, rate):
        self.rate, self.steps, self.mean, self.square = rate, 0, {}, {}

    def step(self, parameters, gradients):
        self.steps += 1
        for name, g in gradients.items():
            self.mean[name] = 0.9 * self.mean.get(name, 0) + 0.1 * g
            self.square[name] = 0.999 * self.square.get(name, 0) + 0.001 * g * g
            mean, square = self.mean[name] / (1 - 0.9**self.steps), self.square[name] / (1 - 0.999**self.steps)
            parameters[name] -= self.rate * mean / (np.sqrt(square) + 1e-8)


def data():
    t = np.linspace(0, 3 * np.pi, STEPS)
    return np.stack((np.sin(t), np.cos(t)), axis=1)[None], np.sin(2 * t)[None, :, None]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layer", choices=["cfc", "ltc"], default="cfc")
    parser.add_argument("--epochs", type=int, default=300)
    given = parser.parse_args()
    x, y = data()
    model = (CfC if given.layer == "cfc" else LTC)(2, wirings.AutoNCP(28, 1), seed=1)
    optimizer = Adam(0.01)
    first = model.loss_gradient(x, y).loss
    for epoch in range(1, given.epochs + 1):
        loss, gradients, _ = model.loss_gradient(x, y)
        parameters = model.state_dict()
        optimizer.step(parameters, gradients.parameters)
        model.load_state_dict(parameters)
        if epoch % 100 == 0:
            print(f"epoch {epoch}: loss {loss:.5f}")
    last = model.loss_gradient(x, y).loss
    print(f"{model}: loss {first:.4f} before, {last:.5f} after {given.epochs} epochs")
    assert last < 0.1 * first


if __name__ == "__main__":
    main()
