"""Tensors over meshes of two axes: mappers, composers, coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture
def mesh_device():
    device = ttnn.open_mesh_device(ttnn.MeshShape(2, 3))
    yield device
    ttnn.close_mesh_device(device)


VALUES = np.arange(4 * 6 * 32, dtype=np.float32).reshape(1, 4, 6, 32)


def test_an_array_is_cut_along_a_dimension_for_each_axis_of_the_mesh(mesh_device):
    mapper = ttnn.ShardTensor2dMesh(mesh_device, mesh_shape=(2, 3), dims=(1, 2))
    x = ttnn.from_numpy(VALUES, ttnn.float32, device=mesh_device, mesh_mapper=mapper)
    parts = [part.to_numpy() for part in ttnn.get_device_tensors(x)]
    assert [part.shape for part in parts] == [(1, 2, 2, 32)] * 6
    assert (parts[4] == VALUES[:, 2:, 2:4]).all()  # second row, second column
    composer = ttnn.ConcatMesh2dToTensor(mesh_device, (2, 3), dims=(1, 2))
    assert (ttnn.to_numpy(x, mesh_composer=composer) == VALUES).all()


def test_none_as_a_dimension_gives_every_chip_of_that_axis_the_same(mesh_device):
    mapper = ttnn.ShardTensor2dMesh(mesh_device, (2, 3), dims=(None, 2))
    parts = [p.to_numpy() for p in ttnn.get_device_tensors(ttnn.from_numpy(VALUES, mesh_mapper=mapper))]
    assert (parts[1] == parts[4]).all() and (parts[1] == VALUES[:, :, 2:4]).all()


def test_placements_say_the_same_as_dimensions(mesh_device):
    config = ttnn.MeshMapperConfig([ttnn.PlacementShard(1), ttnn.PlacementReplicate()])
    mapper = ttnn.create_mesh_mapper(mesh_device, config)
    host = ttnn.from_numpy(VALUES, ttnn.float32)
    x = ttnn.distribute_tensor(host, mapper, mesh_device)
    assert tuple(x.shape) == (1, 2, 6, 32)
    composer = ttnn.create_mesh_composer(mesh_device, ttnn.MeshComposerConfig([1, 2]))
    assert ttnn.aggregate_tensor(x, composer).to_numpy().shape == (1, 4, 18, 32)
    assert ttnn.MeshMapperConfig(row_dim=1).placements == config.placements


def test_parts_that_are_not_equal_are_refused_with_their_sizes(mesh_device):
    mapper = ttnn.ShardTensor2dMesh(mesh_device, (2, 3), dims=(2, 1))
    with pytest.raises(tessera.Error, match=r"dimension 1 of 4 does not divide into 3 equal shards"):
        ttnn.from_numpy(VALUES, mesh_mapper=mapper)


def test_a_mesh_with_more_chips_than_there_are_is_refused(mesh_device):
    with pytest.raises(tessera.Error, match=r"a mesh of \[3, 3\] has more chips than the 6"):
        ttnn.ShardTensor2dMesh(mesh_device, (3, 3), dims=(0, 1))


def test_a_composer_needs_two_different_dimensions(mesh_device):
    with pytest.raises(tessera.Error, match="two different ones"):
        ttnn.ConcatMesh2dToTensor(mesh_device, (2, 3), dims=(1, 1))


def test_one_dimension_goes_over_all_chips(mesh_device):
    x = ttnn.from_numpy(VALUES, ttnn.float32, mesh_mapper=ttnn.shard_tensor_to_mesh_mapper(mesh_device, 2))
    assert tuple(x.shape) == (1, 4, 1, 32)
    composer = ttnn.concat_mesh_to_tensor_composer(mesh_device, 2)
    assert (ttnn.to_numpy(x, mesh_composer=composer) == VALUES).all()
    whole = ttnn.from_numpy(VALUES, mesh_mapper=ttnn.replicate_tensor_to_mesh_mapper(mesh_device))
    assert tuple(whole.shape) == (1, 4, 6, 32)


def test_tensors_of_chips_become_one_of_the_mesh():
    parts = [ttnn.from_numpy(np.full((2, 32), i, np.float32)) for i in range(2)]
    x = ttnn.from_host_shards(parts, ttnn.MeshShape(1, 2))
    assert [p.to_numpy()[0, 0] for p in ttnn.get_device_tensors(x)] == [0, 1]
    with pytest.raises(tessera.Error, match="2 tensors are not one for each chip"):
        ttnn.from_host_shards(parts, ttnn.MeshShape(1, 3))
    with pytest.raises(tessera.Error, match="not alike"):
        ttnn.combine_device_tensors([parts[0], ttnn.from_numpy(np.zeros((3, 32), np.float32))])


def test_coordinates_walk_over_a_mesh_row_by_row():
    every = list(ttnn.MeshCoordinateRange(ttnn.MeshShape(2, 3)))
    assert every[4] == ttnn.MeshCoordinate(1, 1) and len(every) == 6
    part = ttnn.MeshCoordinateRange(ttnn.MeshCoordinate(0, 1), ttnn.MeshCoordinate(1, 2))
    assert tuple(part.shape) == (2, 2) and ttnn.MeshCoordinate(1, 1) in part and ttnn.MeshCoordinate(0, 0) not in part
    assert repr(every[4]) == "MeshCoordinate([1, 1])" and every[4][0] == 1
    with pytest.raises(tessera.Error, match="does not come after"):
        ttnn.MeshCoordinateRange(ttnn.MeshCoordinate(1, 1), ttnn.MeshCoordinate(0, 2))
