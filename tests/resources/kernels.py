"""Small kernels in PTX."""

from __future__ import annotations

HEAD = ".version 8.7\n.target sm_100a\n.address_size 64\n"


def entry(*lines: str, threads: str = "", name: str = "kernel") -> str:
    """A kernel of some instructions."""
    size = f".reqntid {threads}\n" if threads else ""
    body = "\n".join(lines)
    return f"{HEAD}.visible .entry {name}(.param .u32 flag)\n{size}{{\n.reg .b32 %r<16>;\n.shared .b32 slot;\n{body}\n}}\n"
