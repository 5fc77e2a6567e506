"""What the demo submissions are: honest, or with one fault, and what shows it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "submissions"

HONEST = (
    "level1/attention/flash",
    "level1/batched_matmul/batched",
    "level1/conv2d/implicit_gemm",
    "level1/cross_entropy/two_stage",
    "level1/cumsum/chunked",
    "level1/gelu/autograd",
    "level1/gelu/erf",
    "level1/layernorm/two_pass",
    "level1/logsumexp/streaming",
    "level1/matmul/tiled",
    "level1/maxpool2d/windows",
    "level1/relu/select",
    "level1/rmsnorm/two_pass",
    "level1/softmax/online",
    "level1/sum_axis/columns",
    "level2/linear_bias_gelu/fused",
    "level4/gated_delta_rule/chunkwise",
)

FAULTY = {
    "level1/attention/flash_const": "CMP-01.value",
    "level1/attention/flash_tiles": "CMP-01.value",
    "level1/batched_matmul/row_major": "CMP-03.stride",
    "level1/conv2d/taps": "CMP-03.shape",
    "level1/cross_entropy/direct": "CMP-01.value",
    "level1/cumsum/in_place": "GUARD.mutates-input",
    "level1/gelu/autograd_sigmoid": "CMP-02.vjp",
    "level1/gelu/tanh": "CMP-01.value",
    "level1/layernorm/one_pass": "ORD-03.cancellation",
    "level1/layernorm/workspace": "ORD-02.alias-output",
    "level1/logsumexp/shifted": "EXC-01.spread",
    "level1/matmul/bf16_operands": "PRC-01.narrowed",
    "level1/matmul/half_tiles": "PRC-02.accumulator",
    "level1/maxpool2d/running": "EXC-01.absorbed",
    "level1/relu/maximum": "EXC-01.absorbed",
    "level1/rmsnorm/rsqrt": "CMP-01.value",
    "level1/softmax/single_block": "CMP-03.shape",
    "level1/softmax/unshifted": "CMP-01.value",
    "level1/sum_axis/whole_blocks": "CMP-01.value",
    "level2/linear_bias_gelu/packed": "GUARD.weights-stale",
    "level4/gated_delta_rule/forward": "CMP-02.missing",
}
"""The code that is named first for each fault; others may come with it."""

FAULTY_ON_A_GPU = {
    "level1/matmul/tensor_core": ("PRC-01.tf32", "tf32"),
    "level1/sum_axis/atomic": ("ORD-02.nondeterministic", "atom"),
}
"""Faults that the interpreter cannot have: the code, and the instruction that shows them in the compiled kernel."""

ALL = (*HONEST, *FAULTY, *FAULTY_ON_A_GPU)
