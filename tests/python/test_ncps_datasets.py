"""tessera.ncps.datasets: drives and games as ncps cuts them, from files made here."""

import hashlib
import zipfile

import numpy as np
import pytest

import tessera
from tessera.ncps import datasets
from tessera.ncps.datasets import download
from tessera.ncps.datasets import icra2020_lidar_collision_avoidance as lidar


def test_drives_are_mirrored_and_cut_into_sequences(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    drives = {}
    for i in range(29):
        drives[f"x_{i}"] = random.random((20 + i, 6), dtype=np.float32)
        drives[f"y_{i}"] = random.random(20 + i, dtype=np.float32)
    file = tmp_path / "drives.npz"
    np.savez(file, **drives)
    monkeypatch.setattr(lidar, "_MD5", hashlib.md5(file.read_bytes()).hexdigest())
    (x_train, y_train), (x_valid, y_valid) = datasets.icra2020_lidar_collision_avoidance.load_data(file, seq_len=8)
    assert x_train.shape[1:] == (8, 6, 1) and y_train.shape[1:] == (8, 1) and len(x_train) == len(y_train)
    # A drive of n steps gives as many sequences as begin every 4 steps before n - 8, and as many of its mirror.
    count = {True: 0, False: 0}
    order = list(range(29))
    np.random.default_rng(20200822).shuffle(order)
    for place, drive in enumerate(order):
        count[place < 7] += 2 * len(range(0, 20 + drive - 8, 4))
    assert (len(x_valid), len(x_train)) == (count[True], count[False])
    first = drives[f"x_{order[0]}"]
    np.testing.assert_array_equal(x_valid[0, ..., 0], first[:8])
    np.testing.assert_array_equal(x_valid[1, ..., 0], first[4:12])
    mirrored = len(range(0, len(first) - 8, 4))
    np.testing.assert_array_equal(x_valid[mirrored, ..., 0], first[:8, ::-1])
    np.testing.assert_array_equal(y_valid[mirrored], -y_valid[0])
    with pytest.raises(tessera.InvalidArgument, match="no drive is longer than 100 steps"):
        lidar.load_data(file, seq_len=100)


def test_downloads_are_whole_or_not_there(tmp_path):
    source, target = tmp_path / "source", tmp_path / "there" / "file"
    source.write_bytes(b"contents")
    with pytest.raises(tessera.InvalidArgument, match="has MD5 98bf7d8c15784f0a3d63204441e1e2aa, not 1234"):
        download.fetch(source.as_uri(), target, "1234")
    assert list(target.parent.iterdir()) == []
    download.fetch(source.as_uri(), target, "98bf7d8c15784f0a3d63204441e1e2aa")
    assert target.read_bytes() == b"contents"
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("folder/file", "text")
    download.fetch_and_unzip((tmp_path / "archive.zip").as_uri(), tmp_path)
    assert (tmp_path / "folder" / "file").read_text() == "text"
