"""Builds the emulator's test library with g++, once a session, and calls it."""

from __future__ import annotations

import atexit
import ctypes
import functools
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent / "layer"
SCHEDULES = {"eager": 0, "late": 1, "random": 2}
FORMATS = {"fp16": 0, "bf16": 1, "tf32": 2}


class _Result(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("name", ctypes.c_char * 40),
        ("message", ctypes.c_char * 240),
        ("file", ctypes.c_char * 240),
        ("line", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("block", ctypes.c_int * 3),
        ("products", ctypes.c_longlong),
        ("barriers", ctypes.c_longlong),
        ("peak_columns", ctypes.c_int),
    )


@dataclass(frozen=True)
class Outcome:
    """What one launch gave."""

    trap: str
    message: str
    file: str
    line: int
    thread: int
    products: int
    barriers: int
    peak_columns: int


class Library:
    """The compiled test kernels and the parts of the emulator, called through ctypes."""

    def __init__(self, path: Path) -> None:
        self.raw = ctypes.CDLL(str(path))
        self.raw.layer_case_name.restype = ctypes.c_char_p
        self.raw.layer_address.restype = ctypes.c_longlong
        self.raw.layer_descriptor.restype = ctypes.c_ulonglong
        self.raw.layer_check_name.restype = ctypes.c_char_p
        self.raw.layer_instruction.restype = ctypes.c_uint
        for name in ("bf16", "fp16", "tf32"):
            getattr(self.raw, f"layer_round_{name}").argtypes = [ctypes.c_float]
            getattr(self.raw, f"layer_round_{name}").restype = ctypes.c_uint
        self.raw.layer_widen_fp16.restype = ctypes.c_float
        self.raw.layer_widen_bf16.restype = ctypes.c_float

    def cases(self) -> list[str]:
        return [self.raw.layer_case_name(i).decode() for i in range(self.raw.layer_case_count())]

    def run(
        self,
        case: str,
        schedule: str = "eager",
        seed: int = 0,
        a: np.ndarray | None = None,
        b: np.ndarray | None = None,
        results: int = 0,
    ) -> tuple[Outcome, np.ndarray]:
        """Runs one small kernel; a and b are float32 operands, the array returned is its output."""
        left = np.ones(1, np.float32) if a is None else np.ascontiguousarray(a, np.float32)
        right = np.ones(1, np.float32) if b is None else np.ascontiguousarray(b, np.float32)
        out = np.full(max(results, 128), np.nan, np.float32)
        result = _Result()
        status = self.raw.layer_run(
            case.encode(),
            SCHEDULES[schedule],
            ctypes.c_ulonglong(seed),
            _floats(left),
            _floats(right),
            _floats(out),
            ctypes.byref(result),
        )
        assert status == 0, f"no kernel {case}"
        return _outcome(result), out

    def check_names(self) -> list[str]:
        """The kernels by which a card is compared with the emulator."""
        return [self.raw.layer_check_name(i).decode() for i in range(self.raw.layer_check_count())]

    def check(
        self, index: int, schedule: str, seed: int, a: np.ndarray, b: np.ndarray, d0: np.ndarray, o_size: int
    ) -> tuple[Outcome, np.ndarray, np.ndarray]:
        """Runs one of them; returns the outcome, d and o."""
        a, b, d0 = (np.ascontiguousarray(x, np.float32) for x in (a, b, d0))
        d, o, result = np.zeros(d0.size, np.float32), np.zeros(o_size, np.float32), _Result()
        self.raw.layer_check(
            index, SCHEDULES[schedule], ctypes.c_ulonglong(seed), *(_floats(x) for x in (a, b, d0, d, o)), ctypes.byref(result)
        )
        return _outcome(result), d, o

    def dots(self, kind: str, a: np.ndarray, b: np.ndarray, d: np.ndarray) -> np.ndarray:
        """One instruction a row: a, b (count, k) as stored bits, d (count,) float32 bits; returns float32 bits."""
        a, b, d = (np.ascontiguousarray(x, np.uint32) for x in (a, b, d))
        out = np.empty_like(d)
        self.raw.layer_dots(FORMATS[kind], a.shape[0], a.shape[1], _words(a), _words(b), _words(d), _words(out))
        return out

    def multiply(self, kind: str, a: np.ndarray, b: np.ndarray, d: np.ndarray, accumulate: bool) -> np.ndarray:
        """d (m, n) = a (m, k) b (k, n), one instruction, all as bits."""
        a, b, d = (np.ascontiguousarray(x, np.uint32).copy() for x in (a, b, d))
        m, k = a.shape
        self.raw.layer_multiply(FORMATS[kind], m, b.shape[1], k, _words(a), _words(b), int(accumulate), _words(d))
        return d

    def address(self, descriptor: int, mn_major: bool, mn: int, k: int, element_bytes: int) -> int | str:
        """The byte address of an element, or the name of the trap."""
        name = ctypes.create_string_buffer(40)
        address = self.raw.layer_address(ctypes.c_ulonglong(descriptor), int(mn_major), mn, k, element_bytes, name)
        return address if address >= 0 else name.value.decode()

    def cell(self, shape: int, thread: int, register: int, second: int = 0) -> tuple[int, int]:
        lane, column = ctypes.c_int(), ctypes.c_int()
        self.raw.layer_cell(shape, thread, register, second, ctypes.byref(lane), ctypes.byref(column))
        return lane.value, column.value


def _outcome(result: _Result) -> Outcome:
    return Outcome(
        result.name.decode(),
        result.message.decode(),
        result.file.decode(),
        result.line,
        result.thread,
        result.products,
        result.barriers,
        result.peak_columns,
    )


def _floats(x: np.ndarray) -> ctypes._Pointer[ctypes.c_float]:
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def _words(x: np.ndarray) -> ctypes._Pointer[ctypes.c_uint32]:
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))


@functools.cache
def _built() -> tuple[Library | None, str]:
    """The library, or why there is none: a build that fails is not tried again."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None, "needs g++"
    folder = tempfile.mkdtemp(prefix="tensor-layer-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = Path(folder) / "layer.so"
    command = [
        compiler,
        "-std=c++20",
        "-O2",
        "-Wall",
        "-Wextra",
        "-fPIC",
        "-shared",
        "-o",
        str(target),
        str(HERE / "library.cpp"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or "warning" in done.stderr:
        return None, done.stderr
    return Library(target), ""


def library() -> Library:
    """The library, built at its first use; skips the test where there is no C++ compiler."""
    built, why = _built()
    if why == "needs g++":
        pytest.skip(why)
    assert built, why
    return built
