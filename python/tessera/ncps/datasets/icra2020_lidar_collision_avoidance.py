"""Steering of a small car past obstacles, by LIDAR: sequences of distances and of commands (ICRA 2020)."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.ncps.datasets.download import digest, fetch

_URL = "https://github.com/mlech26l/icra_lds/raw/master/icra2020_imitation_data_packed.npz"
_MD5 = "15ab035e0866fc065acfc0ad781d75c5"
_DRIVES = 29
_TEST_DRIVES = 7
_SHUFFLE_SEED = 20200822  # that of ncps, so that both cut the same

Pair = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def load_data(local_path: str | os.PathLike[str] | None = None, seq_len: int = 32) -> tuple[Pair, Pair]:
    """((x_train, y_train), (x_valid, y_valid)): x is (sequences, steps, rays, 1), y is (sequences, steps, 1).

    The file is downloaded when it is not at local_path (datasets/icra2020_imitation_data_packed.npz) already. Drives are
    there mirrored as well, and cut into sequences that overlap by half.
    """
    path = pathlib.Path("datasets/icra2020_imitation_data_packed.npz" if local_path is None else local_path)
    if not path.is_file() or digest(path) != _MD5:
        fetch(_URL, path, _MD5)
    with np.load(path) as file:
        drives = [(file[f"x_{i}"], file[f"y_{i}"]) for i in range(_DRIVES)]
    return split_and_cut(drives, seq_len, _TEST_DRIVES)


def split_and_cut(drives: list[Pair], seq_len: int, test_drives: int) -> tuple[Pair, Pair]:
    """Shuffled drives: the first so many are for validation."""
    if seq_len < 2:
        raise InvalidArgument(f"sequences of {seq_len} steps: at least 2")
    order = list(drives)
    np.random.default_rng(_SHUFFLE_SEED).shuffle(order)  # type: ignore[arg-type]
    return _sequences(order[test_drives:], seq_len), _sequences(order[:test_drives], seq_len)


def _sequences(drives: list[Pair], steps: int) -> Pair:
    x, y = [], []
    for rays, steering in drives:
        for seen, command in ((rays, steering), (rays[:, ::-1], -steering)):
            for begin in range(0, len(seen) - steps, steps // 2):
                x.append(seen[begin : begin + steps])
                y.append(command[begin : begin + steps])
    if not x:
        raise InvalidArgument(f"no drive is longer than {steps} steps: take a shorter seq_len")
    return np.stack(x)[..., None], np.stack(y)[..., None]
