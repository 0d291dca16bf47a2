import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture
def device():
    with ttnn.manage_device() as device:
        yield device


@pytest.mark.parametrize("place", [ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG])
def test_interleaved_images_of_any_size_change_their_order_where_they_are(place, device):
    image = np.arange(2 * 33 * 35, dtype=np.float32).reshape(1, 2, 33, 35)
    x = ttnn.from_numpy(image, ttnn.float32, device=device, memory_config=place)
    last = ttnn.experimental.convert_to_hwc(x)
    wanted = np.zeros((1, 1, 70, 40), np.float32)  # channels are filled up to 16 bytes of bfloat16
    wanted[..., :33] = image.transpose(0, 1, 3, 2).reshape(1, 1, 70, 33)
    np.testing.assert_array_equal(last.to_numpy(), wanted)
    assert last.memory_config() == place
    first = ttnn.experimental.convert_to_chw(ttnn.to_layout(last, ttnn.TILE_LAYOUT))
    np.testing.assert_array_equal(first.to_numpy(), wanted.transpose(0, 1, 3, 2))
    assert ttnn.experimental.convert_to_chw(last, dtype=ttnn.bfloat16).dtype == ttnn.bfloat16
    with pytest.raises(tessera.InvalidArgument, match=r"\[1, 1, HW, C\]"):
        ttnn.experimental.convert_to_chw(x)
