"""Several chips that do the same to shards of a batch: mesh devices, their tensors, and how arrays are cut up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tessera import _tessera
from tessera._tessera import Device, InvalidArgument, StorageType, Tensor

_open = 0


def in_use() -> bool:
    return _open > 0


class MeshShape:
    """Rows and columns of a mesh."""

    def __init__(self, *extents: Any) -> None:
        given = extents[0] if len(extents) == 1 and not isinstance(extents[0], int) else extents
        self.extents = tuple(int(extent) for extent in given)
        if not self.extents or any(extent < 1 for extent in self.extents):
            raise InvalidArgument(f"MeshShape: extents must be 1 or more, not {list(self.extents)}")

    def mesh_size(self) -> int:
        size = 1
        for extent in self.extents:
            size *= extent
        return size

    def __iter__(self) -> Iterator[int]:
        return iter(self.extents)

    def __getitem__(self, index: int) -> int:
        return self.extents[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (MeshShape, tuple, list)) and tuple(other) == self.extents

    def __hash__(self) -> int:
        return hash(self.extents)

    def __repr__(self) -> str:
        return f"MeshShape({list(self.extents)})"


class MeshDevice:
    """Chips in a mesh. What is asked of all of them alike (grids, arch) is answered by the first."""

    def __init__(self, shape: MeshShape, devices: Sequence[Device]) -> None:
        self.shape = shape
        self.devices = list(devices)

    def get_num_devices(self) -> int:
        return len(self.devices)

    def get_device_ids(self) -> list[int]:
        return [device.id() for device in self.devices]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.devices[0], name)

    def __repr__(self) -> str:
        return f"MeshDevice({'x'.join(map(str, self.shape))} grid, {len(self.devices)} devices)"


class MeshTensor:
    """One tensor for each chip, all of one spec."""

    def __init__(self, shards: Sequence[Tensor], mesh_device: MeshDevice | None = None) -> None:
        self.shards = list(shards)
        self.mesh_device = mesh_device

    def device(self) -> MeshDevice | None:
        return self.mesh_device if self.storage_type() == StorageType.DEVICE else None

    def cpu(self, blocking: bool = True, cq_id: int | None = None) -> MeshTensor:
        return MeshTensor([shard.cpu(blocking, cq_id) for shard in self.shards], self.mesh_device)

    def to(self, *args: Any, **kwargs: Any) -> MeshTensor:
        return on_each(Tensor.to, (self, *args), kwargs)

    def deallocate(self, force: bool = False) -> None:
        for shard in self.shards:
            shard.deallocate(force)

    def to_numpy(self) -> Any:
        raise InvalidArgument(
            f"a tensor on a mesh of {len(self.shards)} chips has no array of its own\n"
            "hint: supply a mesh_composer, such as ttnn.ConcatMeshToTensor(mesh_device, dim=0)"
        )

    to_torch = to_numpy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shards[0], name)

    def __repr__(self) -> str:
        return f"MeshTensor({len(self.shards)} shards of {self.shards[0].shape})"


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Tensors in nested arguments or results."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """The same structure with every leaf changed."""
    if type(value) in (list, tuple):
        return type(value)(mapped(each, function) for each in value)
    if type(value) is dict:
        return {key: mapped(each, function) for key, each in value.items()}
    return function(value)


def has_mesh_tensor(value: Any) -> bool:
    if isinstance(value, (MeshTensor, MeshDevice)):
        return True
    if isinstance(value, dict):
        return any(has_mesh_tensor(each) for each in value.values())
    return isinstance(value, (list, tuple)) and any(has_mesh_tensor(each) for each in value)


def _joined(results: Sequence[Any], mesh_device: MeshDevice | None) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return MeshTensor(results, mesh_device)
    if type(first) in (list, tuple):
        return type(first)(_joined(parts, mesh_device) for parts in zip(*results, strict=True))
    return first


def on_each(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a function once for each chip, with that chip's shards and device."""
    found: list[MeshTensor | MeshDevice] = []
    mapped((list(args), kwargs), lambda v: found.append(v) if isinstance(v, (MeshTensor, MeshDevice)) else None)
    devices = next((v for v in found if isinstance(v, MeshDevice)), None)
    if devices is None:
        devices = next((v.mesh_device for v in found if isinstance(v, MeshTensor) and v.mesh_device), None)
    count = len(found[0].shards if isinstance(found[0], MeshTensor) else found[0].devices)

    def of(index: int, value: Any) -> Any:
        if isinstance(value, MeshTensor):
            return value.shards[index]
        return value.devices[index] if isinstance(value, MeshDevice) else value

    results = []
    for i in range(count):
        given = mapped((list(args), kwargs), lambda v, i=i: of(i, v))
        results.append(function(*given[0], **given[1]))
    return _joined(results, devices)


def open_mesh_device(
    mesh_shape: MeshShape | Sequence[int] | None = None,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: Any = None,
    offset: Any = None,
    physical_device_ids: Sequence[int] = (),
    worker_l1_size: int = 0,
) -> MeshDevice:
    """Opens chips of the default machine. There are as many boards as it takes: the mesh is what is simulated."""
    global _open
    shape = MeshShape(1, _tessera.GetNumAvailableDevices()) if mesh_shape is None else mesh_shape
    shape = shape if isinstance(shape, MeshShape) else MeshShape(shape)
    per_board = _tessera.GetNumAvailableDevices()
    devices = [
        _tessera.open_device(
            device_id=chip % per_board,
            l1_small_size=l1_small_size,
            trace_region_size=trace_region_size,
            num_command_queues=num_command_queues,
            worker_l1_size=worker_l1_size,
        )
        for chip in range(shape.mesh_size())
    ]
    _open += 1
    return MeshDevice(shape, devices)


def close_mesh_device(mesh_device: MeshDevice) -> None:
    global _open
    if any(device.is_open() for device in mesh_device.devices):
        _open -= 1
    for device in mesh_device.devices:
        _tessera.close_device(device)


def cut(what: str, array: Any, dim: int, chips: int) -> list[Any]:
    """Equal parts of an array along a dimension; `what` names who asks."""
    rank = len(array.shape)
    if not -rank <= dim < rank:
        raise InvalidArgument(f"{what}: there is no dimension {dim} in an array of rank {rank}")
    dim %= rank
    extent = int(array.shape[dim])
    if extent % chips != 0:
        step = -(-extent // chips)
        sizes = [max(0, min(step, extent - i * step)) for i in range(chips)]
        raise InvalidArgument(
            f"{what}: dimension {dim} of {extent} does not divide into {chips} equal shards "
            f"(it would be {sizes})\n"
            f"hint: pad it to {extent + chips - extent % chips}, or use a mesh of another size"
        )
    step = extent // chips
    return [array[(slice(None),) * dim + (slice(i * step, (i + 1) * step),)] for i in range(chips)]


def joined(arrays: Sequence[Any], dim: int) -> Any:
    """Arrays of numpy or PyTorch put together along a dimension."""
    if hasattr(arrays[0], "numpy"):
        import torch

        return torch.cat(list(arrays), dim=dim)
    import numpy

    return numpy.concatenate(arrays, axis=dim)


class ShardTensorToMesh:
    """Cuts an array along `dim` into one equal part for each chip."""

    def __init__(self, mesh_device: MeshDevice, dim: int) -> None:
        self.mesh_device, self.dim = mesh_device, dim

    def split(self, array: Any) -> list[Any]:
        return cut("ShardTensorToMesh", array, self.dim, self.mesh_device.get_num_devices())


class ReplicateTensorToMesh:
    """Every chip gets the whole."""

    def __init__(self, mesh_device: MeshDevice) -> None:
        self.mesh_device = mesh_device

    def split(self, array: Any) -> list[Any]:
        return [array] * self.mesh_device.get_num_devices()


class ConcatMeshToTensor:
    """Puts the shards of all chips together along `dim`."""

    def __init__(self, mesh_device: MeshDevice, dim: int) -> None:
        self.mesh_device, self.dim = mesh_device, dim

    def join(self, arrays: Sequence[Any]) -> Any:
        return joined(arrays, self.dim)


def get_device_tensors(tensor: Tensor | MeshTensor) -> list[Tensor]:
    return list(tensor.shards) if isinstance(tensor, MeshTensor) else [tensor]


def distribute(tensor: Any, mapper: Any, device: Device | MeshDevice | None, make: Callable[[Any, Any], Tensor]) -> Any:
    """Shards of an array, made by `make` on the host or, if given, on the chips of `device`."""
    mesh_device = mapper.mesh_device if mapper is not None else device
    mapper = mapper if mapper is not None else ReplicateTensorToMesh(mesh_device)
    if not hasattr(tensor, "shape"):
        import numpy

        tensor = numpy.asarray(tensor)
    targets = device.devices if isinstance(device, MeshDevice) else [None] * mesh_device.get_num_devices()
    return MeshTensor([make(part, to) for part, to in zip(mapper.split(tensor), targets, strict=True)], mesh_device)
