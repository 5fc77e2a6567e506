"""Float64 truth of level3/037_lstm_cn: gate by gate, step by step."""

from kcbench.formulas import lstm


def forward(x, h0, c0, *, params, init):
    own = {name.removeprefix("lstm."): value for name, value in params.items() if name.startswith("lstm.")}
    return lstm(x.transpose(0, 1), own, (h0, c0), layers=init[2])[2]
