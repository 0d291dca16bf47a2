"""Convolutions and pools worked out by plain loops over the window, in double precision, and how far off a card may be."""

import numpy as np

# Half the distance between neighbours, relative to a number (block floats: to the largest of its block).
ROUNDING = {"FLOAT32": 2.0**-24, "BFLOAT16": 2.0**-9, "BFLOAT8_B": 2.0**-7, "BFLOAT4_B": 2.0**-3}
# What each level of fidelity leaves away of the products of two bfloat16, relative to them.
DROPPED = {"LoFi": 2.0**-4 + 2.0**-6, "HiFi2": 2.0**-6, "HiFi3": 2.0**-12, "HiFi4": 0.0}


def four_paddings(padding):
    return padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])


def convolve(x, w, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, mode="constant"):
    """x: N H W C; w: out, in / groups, kh, kw. Gives N H W out."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    top, bottom, left, right = four_paddings(padding)
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), mode=mode)
    n, height, width, channels = x.shape
    outputs, per_group, kh, kw = w.shape
    h = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    v = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, h, v, outputs))
    each = outputs // groups
    for g in range(groups):
        part = x[..., g * per_group : (g + 1) * per_group]
        for i in range(kh):
            for j in range(kw):
                rows = slice(i * dilation[0], i * dilation[0] + (h - 1) * stride[0] + 1, stride[0])
                columns = slice(j * dilation[1], j * dilation[1] + (v - 1) * stride[1] + 1, stride[1])
                y[..., g * each : (g + 1) * each] += part[:, rows, columns] @ w[g * each : (g + 1) * each, :, i, j].T
    return y if bias is None else y + np.asarray(bias, np.float64).reshape(-1)


# A partial sum that comes back into the matrix engine is cut to tf32: 10 stored bits.
CUT = 2.0**-10


def tolerance(x, w, y, output="BFLOAT16", fidelity="HiFi4", bias=None, **window):
    """For each element of y, of operands that the card holds exactly and sums in float32: what its products drop, what its
    additions round, what partial sums lose on their way back (one for each row of the window, one for the bias), and what
    storing the result rounds. No partial sum is larger than the sum of magnitudes."""
    reduction, passes = w[0].size, w.shape[2] + 1
    magnitude = convolve(np.abs(x), np.abs(w), None if bias is None else np.abs(bias), **window)
    largest = np.abs(y).max(axis=-1, keepdims=True) if output.endswith("_B") else np.abs(y)
    summed = magnitude * (DROPPED[fidelity] + passes * CUT + (reduction + 1) * ROUNDING["FLOAT32"])
    return summed + (largest + summed) * 2 * ROUNDING[output]


def relative_error(y, expected):
    return np.linalg.norm(np.asarray(y) - expected) / np.linalg.norm(expected)


def convolve_transposed(x, w, bias=None, stride=(1, 1), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1), groups=1):
    """x: N H W C; w: in, out / groups, kh, kw. Each pixel adds its window to the output; padding takes its edges off."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    n, height, width, channels = x.shape
    _, per_group, kh, kw = w.shape
    top, bottom, left, right = four_paddings(padding)
    h = (height - 1) * stride[0] + dilation[0] * (kh - 1) + 1 + output_padding[0]
    v = (width - 1) * stride[1] + dilation[1] * (kw - 1) + 1 + output_padding[1]
    y = np.zeros((n, h, v, per_group * groups))
    each = channels // groups
    for g in range(groups):
        outputs = slice(g * per_group, (g + 1) * per_group)
        for i in range(kh):
            for j in range(kw):
                rows = slice(i * dilation[0], i * dilation[0] + (height - 1) * stride[0] + 1, stride[0])
                columns = slice(j * dilation[1], j * dilation[1] + (width - 1) * stride[1] + 1, stride[1])
                y[:, rows, columns, outputs] += x[..., g * each : (g + 1) * each] @ w[g * each : (g + 1) * each, :, i, j]
    y = y[:, top : h - bottom, left : v - right]
    return y if bias is None else y + np.asarray(bias, np.float64).reshape(-1)
