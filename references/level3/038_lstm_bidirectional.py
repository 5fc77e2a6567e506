"""Float64 truth of level3/038_lstm_bidirectional: gate by gate, step by step."""

from kcbench.formulas import linear, lstm


def forward(x, h0, c0, *, params, init):
    own = {name.removeprefix("lstm."): value for name, value in params.items() if name.startswith("lstm.")}
    y = lstm(x.transpose(0, 1), own, (h0, c0), layers=init[2], bidirectional=True)[0]
    return linear(y[-1], params["fc.weight"], params["fc.bias"])
