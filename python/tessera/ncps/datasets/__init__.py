"""Data sets that guides to liquid networks use, under the names of ncps.datasets."""

from tessera.ncps.datasets import icra2020_lidar_collision_avoidance

__all__ = ["icra2020_lidar_collision_avoidance"]
