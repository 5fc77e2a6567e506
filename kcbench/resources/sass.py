"""Reads SASS text, as ``cuobjdump -sass`` and ``nvdisasm -c`` print it, into functions and steps.

NVIDIA documents no semantics of SASS. What is read here was seen in what ptxas 13.0 and 13.4 make for sm_100: an allocation asks
a bitmap of 32-column units for room (``UTCATOMSWS.FIND_AND_SET``) until it gets some, and freeing clears a mask of them
(``UTCATOMSWS.AND``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kcbench.resources import code
from kcbench.resources.code import Function, Step

_FUNCTION = re.compile(r"^\s*Function : (?P<name>\S+)\s*$|^\.text\.(?P<section>[\w$.]+):\s*$")
_TARGET = re.compile(r"^\s*(?:code for|\.target)\s+(sm_\w+)")
_LABEL = re.compile(r"^\s*(?P<name>[.$\w]+):\s*$")
_INSTRUCTION = re.compile(r"^\s*(?:/\*(?P<address>[0-9a-f]{4,8})\*/)\s+(?P<text>[^;/]+?)\s*;")
_GUARD = re.compile(r"^@(?P<no>!?)(?P<guard>U?P[T\d]+)\s+")
_JUMP = re.compile(r"`\((?P<label>[^)]+)\)|(?P<address>0x[0-9a-f]+)\s*$")
_REGISTER = re.compile(r"U?[RP](?:\d+|Z|T)")
_MEMORY = re.compile(r"tmem\[(?P<address>[^\]]*)\]")
_SPECIAL = {
    "SR_TID.X": "%tid.x",
    "SR_TID.Y": "%tid.y",
    "SR_TID.Z": "%tid.z",
    "SR_CTAID.X": "%ctaid.x",
    "SR_CTAID.Y": "%ctaid.y",
    "SR_CTAID.Z": "%ctaid.z",
    "SR_CgaCtaId": "%cluster_ctarank",
    "SR_LANEID": "%laneid",
}
_TABLES = {"0xc0": "and.b32", "0xfc": "or.b32", "0x3c": "xor.b32"}
"""LOP3's look-up tables of its first two operands."""


@dataclass
class _Open:
    function: Function
    labels: dict[str, int] = field(default_factory=dict)
    """Index of the step at a label or an address."""
    jumps: dict[int, str] = field(default_factory=dict)
    """Where a branch or a call leads, by index."""


def functions(text: str) -> list[Function]:
    """The functions that SASS text shows, with their steps. Anything at all does no harm."""
    found: list[Function] = []
    target, opened = "", None
    for number, line in enumerate(text.split("\n"), 1):
        if match := _FUNCTION.match(line):
            if opened is not None:
                found.append(_close(opened))
            opened = _Open(Function(match["name"] or match["section"], number, target=target))
        elif match := _TARGET.match(line):
            target = match[1]
        elif opened is None:
            continue
        elif match := _INSTRUCTION.match(line):
            opened.labels[f"0x{int(match['address'], 16):x}"] = len(opened.function.steps)
            _read(opened, number, match["text"])
        elif match := _LABEL.match(line):
            opened.labels[match["name"]] = len(opened.function.steps)
    return [*found, _close(opened)] if opened is not None else found


def _close(opened: _Open) -> Function:
    steps = opened.function.steps
    for index, name in opened.jumps.items():
        place = opened.labels.get(name)
        step = steps[index]
        if step.kind == code.CALL:
            # What checks Tensor Memory at run time is called only to stop the kernel.
            stops = "trap" in name or (place is not None and place < len(steps) and steps[place].kind == code.TRAP)
            steps[index] = replace(step, kind=code.TRAP if stops else code.CALL)
        else:
            steps[index] = replace(step, kind=code.LOST) if place is None else replace(step, targets=(place,))
    return opened.function


def _read(opened: _Open, line: int, text: str) -> None:
    shown = " ".join(text.split())
    guard, negated = "", False
    if match := _GUARD.match(text):
        if match["guard"].endswith("T"):
            if match["no"]:
                return  # Never executed.
        else:
            guard, negated = f"%{match['guard']}", match["no"] == "!"
        text = text[match.end() :]
    op, *rest = text.split(None, 1)
    operands = [item.strip() for item in rest[0].split(",")] if rest else []
    if op.startswith(("BRA", "CALL", "JMP")) and (jump := _JUMP.search(text)):
        opened.jumps[len(opened.function.steps)] = jump["label"] or f"0x{int(jump['address'], 16):x}"
        if op.startswith("BRA") and len(operands) > 1:
            predicate = operands[0]
            if guard or not predicate.lstrip("!").startswith(("P", "UP")):
                guard, negated = "%unknown", False  # ``BRA.DIV``: decided by what the other threads do.
            else:
                guard, negated = f"%{predicate.lstrip('!')}", predicate.startswith("!")
    for step in _steps(op, operands, line, shown[:200]):
        opened.function.steps.append(replace(step, guard=guard, negated=negated))


def _steps(op: str, operands: Sequence[str], line: int, text: str) -> list[Step]:
    base, *flags = op.split(".")
    if base in ("BRA", "JMP"):
        return [Step(line, text, code.BRANCH, op)]
    if base == "CALL":
        return [Step(line, text, code.CALL, op)]
    if base in ("BRX", "JMX", "BRXU"):
        return [Step(line, text, code.LOST, op)]
    if base in ("EXIT", "RET"):
        return [Step(line, text, code.LEAVE, op)]
    if base == "BPT":
        return [Step(line, text, code.TRAP, op)]
    group = 2 if "2CTA" in flags else 1
    if base == "UTCATOMSWS" and "FIND_AND_SET" in flags and len(operands) > 2:
        columns = f"%columns@{line}"
        return [
            Step(line, text, code.COMPUTE, "mul.lo.u32", (columns,), (_operand(operands[2]), "32")),
            Step(line, text, code.ALLOCATE, op, (_name(operands[1]), _name(operands[0])), ("", columns), group=group),
        ]
    if base == "UTCATOMSWS" and "AND" in flags and len(operands) > 1:
        return [Step(line, text, code.FREE, op, (), (_operand(operands[1]),), group=group)]
    if base == "UVIRTCOUNT" and flags[:2] == ["DEALLOC", "SMPOOL"]:
        return [Step(line, text, code.RELINQUISH, op)]
    addresses = tuple(f"[{_address(match['address'])}]" for item in operands for match in _MEMORY.finditer(item))
    if addresses:
        named = group if base.startswith(("UTC", "LDTM", "STTM")) and "2CTA" in flags else 0
        written = (_name(operands[0]),) if base == "LDTM" else ()
        return [Step(line, text, code.USE, op, written, addresses, group=named)]
    return _computed(base, flags, operands, line, text)


def _computed(base: str, flags: Sequence[str], operands: Sequence[str], line: int, text: str) -> list[Step]:
    """Arithmetic in PTX's words, where it says anything about allocations."""
    values = [_operand(item) for item in operands]
    plain = base.removeprefix("U")
    if base in ("STS", "STG", "ST", "STL"):
        op = "st.shared.b32" if base == "STS" else "st"
        return [
            Step(line, text, code.COMPUTE, op, (), (f"[{_address(operands[0].strip('[]'))}]", values[-1]) if operands else ())
        ]
    if not operands or not _REGISTER.fullmatch(operands[0]):
        return [Step(line, text, code.COMPUTE, base.lower())]
    result = _name(operands[0])
    done = _TRANSLATED.get(plain, _unknown)(flags, values, operands)
    steps = []
    if plain == "LOP3" and operands[0].lstrip("U").startswith("P") and len(values) > 5:
        # With a predicate for "not zero" before what is usually there.
        made = f"%bits@{line}"
        steps.append(Step(line, text, code.COMPUTE, *_named(made, _lop3(flags, values[1:], operands[1:]))))
        done = ("setp.ne.u32", (made, "0"))
    elif plain == "ELECT":
        done = ("elect.sync", ())
    written = [result]
    if plain == "ISETP" and len(operands) > 1 and operands[1].startswith(("P", "UP")) and not operands[1].endswith("T"):
        written.append(_name(operands[1]))
    steps.append(Step(line, text, code.COMPUTE, done[0], tuple(written), done[1]))
    width = {"64": 1, "WIDE": 1, "128": 3}
    for more in range(1, 1 + max((width.get(flag, 0) for flag in flags), default=0)):
        if match := re.fullmatch(r"%(U?R)(\d+)", result):
            steps.append(Step(line, text, code.COMPUTE, "high", (f"%{match[1]}{int(match[2]) + more}",)))
    return steps


def _named(result: str, done: tuple[str, tuple[str, ...]]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return done[0], (result,), done[1]


_Done = tuple[str, tuple[str, ...]]


def _unknown(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    return "unknown", ()


def _mov(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    return "mov.b32", tuple(values[1:2])


def _special(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    name = _SPECIAL.get(operands[1], "") if len(operands) > 1 else ""
    return ("mov.b32", (name,)) if name else ("unknown", ())


def _multiply_add(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    if len(values) != 4 or {"WIDE", "HI", "X"} & set(flags):
        return "unknown", ()
    if values[1] == values[2] == "0":
        return "mov.b32", (values[3],)
    if values[2] == "1":
        return "add.s32", (values[1], values[3])
    return ("mul.lo.u32", (values[1], values[2])) if values[3] == "0" else ("mad.lo.u32", tuple(values[1:]))


def _add(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    terms = [value for value, item in zip(values[1:], operands[1:], strict=True) if not item.lstrip("!").startswith(("P", "UP"))]
    terms = [item for item in terms if item != "0"] or ["0"]
    if "X" in flags or len(terms) > 2:
        return "unknown", ()
    return ("add.s32", tuple(terms)) if len(terms) == 2 else ("mov.b32", tuple(terms))


def _shift(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    if len(values) != 4 or {"U64", "S64", "W"} & set(flags):
        return "unknown", ()
    if "L" in flags and values[3] == "0":
        return "shl.b32", (values[1], values[2])
    if "R" in flags and values[1] == "0":
        return ("shr.s32" if "S32" in flags else "shr.u32"), (values[3], values[2])
    return "unknown", ()


def _lop3(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    if len(values) < 5:
        return "unknown", ()
    table, first, second = operands[4].lower(), values[1], values[2]
    if table == "0x33" and first == "0":
        return "not.b32", (second,)
    if table in _TABLES and values[3] == "0":
        return _TABLES[table], (first, second)
    return "unknown", ()


def _compare(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    if len(values) != 5 or not flags or "EX" in flags:
        return "unknown", ()
    kind = "u32" if "U32" in flags else "s32"
    combine = next((flag.lower() for flag in flags[1:] if flag in ("AND", "OR", "XOR")), "and")
    return f"setp.{flags[0].lower()}.{combine}.{kind}", tuple(values[2:5])


def _lea(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    return ("lea", tuple(values[1:])) if not {"HI", "X"} & set(flags) else ("unknown", ())


def _load(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    return "ld.shared", (f"[{_address(operands[1].strip('[]'))}]",) if len(operands) > 1 else ()


def _constant(flags: Sequence[str], values: Sequence[str], operands: Sequence[str]) -> _Done:
    return "mov.b32", tuple(values[1:2])


_TRANSLATED: dict[str, Callable[[Sequence[str], Sequence[str], Sequence[str]], _Done]] = {
    "MOV": _mov,
    "R2UR": _mov,
    "S2R": _special,
    "S2UR": _special,
    "IMAD": _multiply_add,
    "IADD3": _add,
    "IADD": _add,
    "VIADD": _add,
    "SHF": _shift,
    "LOP3": _lop3,
    "ISETP": _compare,
    "LEA": _lea,
    "LDS": _load,
    "LDC": _constant,
    "LDCU": _constant,
}


def _name(operand: str) -> str:
    return f"%{operand.partition('.')[0]}"


def _operand(text: str) -> str:
    """An operand in PTX's words: a register with ``%``, a number, or the constant bank, whose cells never change."""
    text = text.strip().removesuffix(".reuse")
    positive = text.lstrip("!")
    if positive in ("RZ", "URZ"):
        return "0"
    if positive in ("PT", "UPT"):
        return "0" if text.startswith("!") else "1"
    if _REGISTER.fullmatch(positive):
        return f"!%{positive}" if text.startswith("!") else f"%{positive}"
    if text.startswith("c[") and "R" not in text:
        return "c_" + re.sub(r"\W+", "_", text[1:])
    return text if re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", text) else ""


def _address(text: str) -> str:
    """``R2+0x14`` in PTX's words."""
    return "+".join(_operand(item) for item in text.split("+"))


def is_sass(text: str) -> bool:
    """Whether text looks like SASS."""
    return re.search(r"^\s*/\*[0-9a-f]{4,8}\*/", text, re.MULTILINE) is not None
