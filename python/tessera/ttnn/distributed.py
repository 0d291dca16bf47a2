"""How tensors lie on a mesh of chips: cut along one dimension for each axis of the mesh, or the same on all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tessera._tessera import Device, InvalidArgument, Tensor
from tessera.ttnn import mesh
from tessera.ttnn.mesh import MeshDevice, MeshShape, MeshTensor
from tessera.ttnn.tensors import from_torch


class MeshCoordinate:
    """Where a chip is in a mesh."""

    def __init__(self, *coordinates: Any) -> None:
        given = coordinates[0] if len(coordinates) == 1 and not isinstance(coordinates[0], int) else coordinates
        self._at = tuple(int(each) for each in given)

    def dims(self) -> int:
        return len(self._at)

    def __getitem__(self, dim: int) -> int:
        return self._at[dim]

    def __iter__(self) -> Iterator[int]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshCoordinate) and other._at == self._at

    def __hash__(self) -> int:
        return hash(self._at)

    def __repr__(self) -> str:
        return f"MeshCoordinate({list(self._at)})"


class MeshCoordinateRange:
    """All chips between two corners, both included, or all of a mesh."""

    def __init__(self, start: MeshCoordinate | MeshShape, end: MeshCoordinate | None = None) -> None:
        if isinstance(start, MeshShape):
            self.start = MeshCoordinate([0] * len(start.extents))
            self.end = MeshCoordinate([extent - 1 for extent in start.extents])
        else:
            self.start, self.end = start, start if end is None else end
        if self.start.dims() != self.end.dims() or any(a > b for a, b in zip(self.start, self.end)):
            raise InvalidArgument(f"MeshCoordinateRange: {self.end} does not come after {self.start}")

    @property
    def shape(self) -> MeshShape:
        return MeshShape([b - a + 1 for a, b in zip(self.start, self.end)])

    def contains(self, coordinate: MeshCoordinate) -> bool:
        return coordinate.dims() == self.start.dims() and all(
            a <= c <= b for a, c, b in zip(self.start, coordinate, self.end)
        )

    __contains__ = contains

    def __iter__(self) -> Iterator[MeshCoordinate]:
        for at in itertools.product(*(range(a, b + 1) for a, b in zip(self.start, self.end))):
            yield MeshCoordinate(at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshCoordinateRange) and (other.start, other.end) == (self.start, self.end)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __repr__(self) -> str:
        return f"MeshCoordinateRange(start={self.start}, end={self.end})"


class PlacementReplicate:
    """Along an axis of the mesh every chip has the same."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementReplicate)

    def __hash__(self) -> int:
        return hash(PlacementReplicate)

    def __repr__(self) -> str:
        return "PlacementReplicate()"


class PlacementShard:
    """Along an axis of the mesh the tensor is cut in its dimension `dim`."""

    def __init__(self, dim: int) -> None:
        self.dim = int(dim)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementShard) and other.dim == self.dim

    def __hash__(self) -> int:
        return hash((PlacementShard, self.dim))

    def __repr__(self) -> str:
        return f"PlacementShard({self.dim})"


_Placement = PlacementReplicate | PlacementShard


class MeshMapperConfig:
    """A placement for each axis of a mesh, or the dimensions that its rows and columns cut."""

    def __init__(
        self,
        placements: Sequence[_Placement] | None = None,
        mesh_shape_override: MeshShape | None = None,
        *,
        row_dim: int | None = None,
        col_dim: int | None = None,
    ) -> None:
        if placements is None:
            placements = [PlacementReplicate() if dim is None else PlacementShard(dim) for dim in (row_dim, col_dim)]
        elif row_dim is not None or col_dim is not None:
            raise InvalidArgument("MeshMapperConfig: placements say already what row_dim and col_dim would")
        self.placements = list(placements)
        self.mesh_shape_override = mesh_shape_override

    def __repr__(self) -> str:
        return f"MeshMapperConfig({self.placements}, mesh_shape_override={self.mesh_shape_override})"


class MeshComposerConfig:
    """For each axis of a mesh the dimension that its shards are put together in."""

    def __init__(
        self,
        dims: Sequence[int] | int,
        mesh_shape_override: MeshShape | int | None = None,
        *,
        row_dim: int | None = None,
        col_dim: int | None = None,
    ) -> None:
        if isinstance(dims, int) and isinstance(mesh_shape_override, int):  # row_dim, col_dim
            dims, mesh_shape_override = [dims, mesh_shape_override], None
        if row_dim is not None or col_dim is not None:
            raise InvalidArgument("MeshComposerConfig: dims say already what row_dim and col_dim would")
        self.dims = [dims] if isinstance(dims, int) else [int(dim) for dim in dims]
        self.mesh_shape_override = mesh_shape_override

    def __repr__(self) -> str:
        return f"MeshComposerConfig({self.dims}, mesh_shape_override={self.mesh_shape_override})"


def _shape_of(what: str, device: Device | MeshDevice, override: Any, axes: int) -> tuple[int, ...]:
    """Extents of the mesh that tensors are cut for: as many as there are placements."""
    own = tuple(device.shape) if isinstance(device, MeshDevice) else (1, 1)
    shape = own if override is None else tuple(override)
    size = 1
    for extent in own:
        size *= extent
    wanted = 1
    for extent in shape:
        wanted *= extent
    if len(shape) != axes:
        raise InvalidArgument(f"{what}: {axes} placements do not go with a mesh of {len(shape)} axes ({list(shape)})")
    if wanted > size:
        raise InvalidArgument(f"{what}: a mesh of {list(shape)} has more chips than the {size} that there are")
    return shape


class TensorToMesh:
    """Makes of one array a part for each chip, in row-major order of the mesh."""

    def __init__(self, mesh_device: MeshDevice, config: MeshMapperConfig) -> None:
        self.mesh_device, self.config = mesh_device, config
        self.mesh_shape = _shape_of("MeshMapperConfig", mesh_device, config.mesh_shape_override, len(config.placements))

    def split(self, array: Any) -> list[Any]:
        parts = [array]
        for chips, placement in zip(self.mesh_shape, self.config.placements):
            if isinstance(placement, PlacementReplicate):
                parts = [part for part in parts for _ in range(chips)]
            else:
                parts = [piece for part in parts for piece in mesh.cut("PlacementShard", part, placement.dim, chips)]
        return parts


class MeshToTensor:
    """Makes one array of the parts of all chips."""

    def __init__(self, mesh_device: MeshDevice, config: MeshComposerConfig) -> None:
        self.mesh_device, self.config = mesh_device, config
        self.mesh_shape = _shape_of("MeshComposerConfig", mesh_device, config.mesh_shape_override, len(config.dims))

    def join(self, arrays: Sequence[Any]) -> Any:
        parts = list(arrays)
        for chips, dim in reversed(list(zip(self.mesh_shape, self.config.dims))):
            parts = [mesh.joined(parts[i : i + chips], dim) for i in range(0, len(parts), chips)]
        return parts[0]


def create_mesh_mapper(mesh_device: MeshDevice, config: MeshMapperConfig) -> TensorToMesh:
    return TensorToMesh(mesh_device, config)


def create_mesh_composer(mesh_device: MeshDevice, config: MeshComposerConfig) -> MeshToTensor:
    return MeshToTensor(mesh_device, config)


def shard_tensor_to_mesh_mapper(mesh_device: MeshDevice, dim: int) -> Any:
    """A mapper that cuts along one dimension, over all chips."""
    return mesh.ShardTensorToMesh(mesh_device, dim)


def replicate_tensor_to_mesh_mapper(mesh_device: MeshDevice) -> Any:
    """A mapper that gives every chip the whole."""
    return mesh.ReplicateTensorToMesh(mesh_device)


def concat_mesh_to_tensor_composer(mesh_device: MeshDevice, dim: int) -> Any:
    """A composer that puts the parts of all chips together along one dimension."""
    return mesh.ConcatMeshToTensor(mesh_device, dim)


class ShardTensor2dMesh(TensorToMesh):
    """Cuts an array along one dimension for the rows of a mesh and along another for its columns; None: not at all."""

    def __init__(
        self, mesh_device: MeshDevice, mesh_shape: Sequence[int], dims: Sequence[int | None]
    ) -> None:
        if len(tuple(dims)) != 2:
            raise InvalidArgument(f"ShardTensor2dMesh: dims are two, of rows and columns, not {list(dims)}")
        placements = [PlacementReplicate() if dim is None else PlacementShard(dim) for dim in dims]
        super().__init__(mesh_device, MeshMapperConfig(placements, MeshShape(tuple(mesh_shape))))


class ConcatMesh2dToTensor(MeshToTensor):
    """Puts the parts of the columns of a mesh together along dims[1], then those of its rows along dims[0]."""

    def __init__(self, mesh_device: MeshDevice, mesh_shape: Sequence[int], dims: Sequence[int]) -> None:
        if len(tuple(dims)) != 2 or dims[0] == dims[1]:
            raise InvalidArgument(f"ConcatMesh2dToTensor: dims are two different ones, of rows and columns, not {list(dims)}")
        super().__init__(mesh_device, MeshComposerConfig(list(dims), MeshShape(tuple(mesh_shape))))


def distribute_tensor(tensor: Tensor, mapper: Any, mesh_device: MeshDevice | None = None) -> MeshTensor:
    """The parts of a host tensor, on the chips of `mesh_device` where it is given."""
    return from_torch(  # type: ignore[return-value]
        tensor.to_numpy(), tensor.dtype, layout=tensor.layout, device=mesh_device, mesh_mapper=mapper
    )


def aggregate_tensor(tensor: MeshTensor, composer: Any) -> Tensor:
    """One host tensor of the parts of all chips."""
    first = mesh.get_device_tensors(tensor)[0]
    values = composer.join([part.to_numpy() for part in mesh.get_device_tensors(tensor)])
    return from_torch(values, first.dtype, layout=first.layout)


def combine_device_tensors(tensors: Sequence[Tensor]) -> Tensor | MeshTensor:
    """Tensors of single chips as one tensor of their mesh."""
    if not tensors:
        raise InvalidArgument("combine_device_tensors: there are no tensors")
    specs = {str(tensor.spec) for tensor in tensors}
    if len(specs) > 1:
        raise InvalidArgument(f"combine_device_tensors: the tensors are not alike: {', '.join(sorted(specs))}")
    return tensors[0] if len(tensors) == 1 else MeshTensor(tensors)


def from_host_shards(tensors: Sequence[Tensor], mesh_shape: MeshShape) -> Tensor | MeshTensor:
    """Host tensors, one for each chip of a mesh, as one."""
    if len(tensors) != mesh_shape.mesh_size():
        raise InvalidArgument(f"from_host_shards: {len(tensors)} tensors are not one for each chip of {mesh_shape}")
    return combine_device_tensors(tensors)


__all__ = [
    "ConcatMesh2dToTensor",
    "MeshComposerConfig",
    "MeshCoordinate",
    "MeshCoordinateRange",
    "MeshMapperConfig",
    "MeshToTensor",
    "PlacementReplicate",
    "PlacementShard",
    "ShardTensor2dMesh",
    "TensorToMesh",
    "aggregate_tensor",
    "combine_device_tensors",
    "concat_mesh_to_tensor_composer",
    "create_mesh_composer",
    "create_mesh_mapper",
    "distribute_tensor",
    "from_host_shards",
    "replicate_tensor_to_mesh_mapper",
    "shard_tensor_to_mesh_mapper",
]
