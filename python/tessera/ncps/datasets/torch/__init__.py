"""Data sets as PyTorch loads them, under the names of ncps.datasets.torch."""

from tessera.ncps.datasets.torch.atari_cloning import AtariCloningDataset

__all__ = ["AtariCloningDataset"]
