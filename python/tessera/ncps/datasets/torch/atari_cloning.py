"""Atari games as somebody played them: sequences of frames, and of what was pressed."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import torch
from torch.utils.data import Dataset

from tessera._tessera import InvalidArgument
from tessera.ncps.datasets.download import fetch_and_unzip

_URL = "https://people.csail.mit.edu/mlechner/datasets/{}.zip"


class AtariCloningDataset(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Frames (steps, channels, height, width) from 0 to 1, and numbers of actions (steps).

    env_name: "breakout", ... split: "train" or "val". The archive is downloaded and unpacked where
    root_dir/data_atari_seq/env_name is not there.
    """

    def __init__(self, env_name: str, split: str = "train", root_dir: str | os.PathLike[str] = ".") -> None:
        folder = pathlib.Path(root_dir) / "data_atari_seq" / env_name
        if not folder.exists():
            fetch_and_unzip(_URL.format(env_name), root_dir)
        self.files = sorted(folder.glob(f"{split}_*.npz"))
        if not self.files:
            raise InvalidArgument(f"there is no {split}_*.npz in {folder}: splits are train and val")

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        with np.load(self.files[index]) as file:
            frames, actions = file["obs"], file["actions"]
        channels_first = np.transpose(frames, (0, 3, 1, 2)).astype(np.float32) / 255
        return torch.from_numpy(channels_first), torch.from_numpy(actions)
