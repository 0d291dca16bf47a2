"""The LSTM cell of mixed memory."""

from __future__ import annotations

from torch import nn


class LSTMCell(nn.Module):
    """Its parameters, which begin as those of ncps do; the layer around it computes with them."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.input_map = nn.Linear(input_size, 4 * hidden_size)
        self.recurrent_map = nn.Linear(hidden_size, 4 * hidden_size, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.uniform_(self.input_map.bias, -0.1, 0.1)
        nn.init.orthogonal_(self.recurrent_map.weight)
