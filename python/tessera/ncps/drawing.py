"""Drawings of wirings: where neurons stand, as SVG and, in programs that use Matplotlib, on its axes."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera._tessera import InvalidArgument

Points = npt.NDArray[np.float64]

# Matplotlib's names, which upstream's users pass.
COLORS = {
    "tab:blue": "#1f77b4",
    "tab:orange": "#ff7f0e",
    "tab:green": "#2ca02c",
    "tab:red": "#d62728",
    "tab:purple": "#9467bd",
    "tab:brown": "#8c564b",
    "tab:pink": "#e377c2",
    "tab:gray": "#7f7f7f",
    "tab:olive": "#bcbd22",
    "tab:cyan": "#17becf",
    "black": "#000000",
    "white": "#ffffff",
    "red": "#ff0000",
    "green": "#008000",
    "blue": "#0000ff",
    "orange": "#ffa500",
    "gray": "#808080",
}


def color_code(name: str) -> str:
    if name in COLORS:
        return COLORS[name]
    if len(name) == 7 and name[0] == "#" and all(c in "0123456789abcdefABCDEF" for c in name[1:]):
        return name
    raise InvalidArgument(f"there is no color '{name}': write #rrggbb, or one of {', '.join(COLORS)}")


class WiringDrawing(list[Any]):
    """A drawing of a wiring. Notebooks show it; `svg` is its text; `legend` has a label and a color for each kind.

    As a list it holds what `plt.legend(handles=...)` takes: a patch of Matplotlib for each kind, where Matplotlib is in
    use, and nothing elsewhere.
    """

    def __init__(self, svg: str, legend: Sequence[tuple[str, str]]) -> None:
        super().__init__(_patches(legend))
        self.svg = svg
        self.legend = list(legend)

    def save(self, path: str | os.PathLike[str]) -> None:
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


def _patches(legend: Sequence[tuple[str, str]]) -> list[Any]:
    patches = sys.modules.get("matplotlib.patches")
    return [] if patches is None else [patches.Patch(color=color, label=label) for label, color in legend]


# --- Where neurons stand, one unit or so apart ----------------------------------------------------------------------


def _on_ring(count: int, radius: float) -> Points:
    angle = 2 * np.pi * np.arange(count) / max(count, 1)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _circular(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    out = np.zeros((len(adjacency), 2))
    members = [i for ring in rings for i in ring]
    out[members] = _on_ring(len(members), len(members) / (2 * np.pi))
    return out


def _shell(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    """Motor neurons innermost."""
    out = np.zeros((len(adjacency), 2))
    radius = 0.0
    for ring in reversed(rings):
        radius = 0.0 if len(ring) == 1 and radius == 0 else max(radius + 2, len(ring) / (2 * np.pi))
        out[list(ring)] = _on_ring(len(ring), radius)
    return out


def _layers(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    """A column for each layer; every second neuron stands aside."""
    out = np.zeros((len(adjacency), 2))
    for column, ring in enumerate(rings):
        for place, neuron in enumerate(ring):
            out[neuron] = column * 4 + place % 2, place - (len(ring) - 1) / 2
    return out


def _random(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    return np.random.default_rng(0).random((len(adjacency), 2)) * np.sqrt(len(adjacency)) * 2


def _spiral(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    """Archimedes', one unit from neighbour to neighbour."""
    angle = np.sqrt(4 * np.pi * np.arange(1, len(adjacency) + 1))
    return (angle / (2 * np.pi))[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1) * 1.5


def _spring(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    """Fruchterman and Reingold's: synapses pull, neurons push, and less each time."""
    at = _circular(adjacency, rings) + 0.01 * np.random.default_rng(0).standard_normal((len(adjacency), 2))
    heat = np.sqrt(len(adjacency)) / 2
    for step in range(100):
        apart = at[:, None] - at[None]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 0.01)
        force = (apart * (1 / distance**2 - adjacency * distance / 4)[..., None]).sum(axis=1)
        size = np.maximum(np.hypot(force[:, 0], force[:, 1]), 0.01)[:, None]
        at += force / size * np.minimum(size, heat * (1 - step / 100))
    return at


def _spectral(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    """The two slowest vibrations of the graph as coordinates."""
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    vectors = np.linalg.eigh(laplacian)[1][:, 1:3]
    if vectors.shape[1] < 2:
        vectors = np.pad(vectors, ((0, 0), (0, 2 - vectors.shape[1])))
    return vectors * len(adjacency)


def _kamada(adjacency: Points, rings: Sequence[Sequence[int]]) -> Points:
    """Kamada and Kawai's: as far apart as the steps along synapses, by majorisation of the stress."""
    count = len(adjacency)
    steps = np.where(adjacency > 0, 1.0, np.inf)
    np.fill_diagonal(steps, 0)
    for middle in range(count):
        steps = np.minimum(steps, steps[:, middle, None] + steps[None, middle])
    far = steps[np.isfinite(steps)].max(initial=1) + 1
    wanted = 2 * np.where(np.isfinite(steps), steps, far)
    weight = np.divide(1, wanted**2, out=np.zeros_like(wanted), where=wanted > 0)
    pull = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    at = _circular(adjacency, rings)
    for _ in range(100):
        apart = at[:, None] - at[None]
        distance = np.hypot(apart[..., 0], apart[..., 1])
        ratio = np.divide(weight * wanted, distance, out=np.zeros_like(distance), where=distance > 1e-9)
        at = pull @ (np.diag(ratio.sum(axis=1)) - ratio) @ at
    return at


_LAYOUTS: Mapping[str, Callable[[Points, Sequence[Sequence[int]]], Points]] = {
    "shell": _shell,
    "circular": _circular,
    "layers": _layers,
    "kamada": _kamada,
    "random": _random,
    "spectral": _spectral,
    "spiral": _spiral,
    "spring": _spring,
}


def positions(layout: str, adjacency: npt.ArrayLike, rings: Sequence[Sequence[int]]) -> Points:
    """Of every node, by a matrix of its synapses; rings of nodes from the sensory side."""
    if layout not in _LAYOUTS:
        raise InvalidArgument(f"there is no layout '{layout}': {', '.join(_LAYOUTS)}")
    either = np.asarray(adjacency, np.float64) != 0
    return _LAYOUTS[layout]((either | either.T).astype(np.float64), rings)


def draw_on_axes(
    at: Points, names: Sequence[str], colors: Sequence[str], edges: Sequence[tuple[int, int, str]], labels: bool
) -> None:
    """On the current axes of Matplotlib, where the program uses its pyplot; nothing elsewhere."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    axes = pyplot.gca()
    for source, destination, color in edges:
        style: dict[str, Any] = {"arrowstyle": "-|>", "color": color, "shrinkA": 8, "shrinkB": 8}
        axes.annotate("", xy=at[destination], xytext=at[source], arrowprops=style)
    axes.scatter(at[:, 0], at[:, 1], s=250, c=list(colors), zorder=2)
    for name, place in zip(names if labels else (), at, strict=False):
        axes.text(*place, name, ha="center", va="center", zorder=3)
    axes.set_axis_off()
    axes.margins(0.1)
