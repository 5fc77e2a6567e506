"""Float64 truth of level3/041_gru_bidirectional: gate by gate, step by step."""

from kcbench.formulas import gru


def forward(x, h0, *, params, init):
    own = {name.removeprefix("gru."): value for name, value in params.items() if name.startswith("gru.")}
    return gru(x, own, h0, layers=init[2], bidirectional=True)[0]
