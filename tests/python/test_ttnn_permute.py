"""ttnn.permute against numpy."""

import numpy as np
import pytest

from tessera import ttnn


@pytest.fixture
def device():
    with ttnn.manage_device() as device:
        yield device


@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT])
@pytest.mark.parametrize("dims", [(0, 2, 3, 1), (0, 1, 3, 2), (3, 2, 1, 0), (0, -1, 1, 2)])
def test_it_is_numpys_transpose(device, layout, dims):
    x = np.arange(2 * 3 * 5 * 7, dtype=np.float32).reshape(2, 3, 5, 7)
    y = ttnn.permute(ttnn.from_numpy(x, ttnn.float32, layout=layout, device=device), dims)
    assert y.layout == layout
    np.testing.assert_array_equal(y.to_numpy(), x.transpose(dims))


def test_it_is_exported_and_refuses_what_is_no_order(device):
    assert "permute" in ttnn.__all__
    x = ttnn.from_numpy(np.zeros((2, 3), np.float32), ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=device)
    with pytest.raises(Exception, match="dimensions"):
        ttnn.permute(x, (0,))
    with pytest.raises(Exception, match="zeros only"):
        ttnn.permute(x, (1, 0), pad_value=1.0)
