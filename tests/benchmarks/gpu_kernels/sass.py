# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of NVIDIA's GPUs, as `nvdisasm -json` prints it."""
import dataclasses
import json
import re
import struct

REGISTER = re.compile(r"(?<![\w.])(U?)(R|P)(\d+|Z|T)(?![\w])")
ADDRESS = re.compile(r"\[(U?R\d+|U?RZ)(?:\.X\d+|\.U32|\.64)*(?:\+(UR\d+))?(?:\+(-?0x[0-9a-f]+))?\]$")
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@dataclasses.dataclass
class Instruction:
    place: int
    guard: str  # "P0", "!P0", or empty
    opcode: str
    operands: list
    parts: tuple = ()
    base: str = ""
    reads: tuple = ()
    writes: tuple = ()

    def __post_init__(self):
        self.parts = tuple(self.opcode.split("."))
        self.base = self.parts[0]
        self.reads, self.writes = dependences(self)

    @property
    def bytes(self):
        """What a thread moves, of an access of memory."""
        return next((WIDTHS[part] for part in self.parts if part in WIDTHS), 4)


def names(text):
    """Registers in an operand that hold something."""
    return [f"{u}{kind}{number}" for u, kind, number in REGISTER.findall(text) if number not in "ZT"]


def following(name, count):
    kind, number = re.match(r"(U?R)(\d+)", name).groups()
    return [f"{kind}{int(number) + i}" for i in range(count)]


STORES = ("STG", "STS", "ST", "STL", "RED")
WITHOUT_RESULT = ("BRA", "EXIT", "BSSY", "BSYNC", "BAR", "CALL", "RET", "NOP", "WARPSYNC")


def dependences(i):
    """Names of the registers that an instruction waits for, and of those that it sets."""
    reads, writes = names(i.guard), []
    operands = list(i.operands)
    if i.base not in STORES and i.base not in WITHOUT_RESULT:
        # Results stand first: two predicates, or a register and predicates before or behind it.
        if i.base.removeprefix("U") in ("ISETP", "FSETP", "DSETP", "HSETP2", "PLOP3"):
            writes += names(operands.pop(0)) + names(operands.pop(0))
        elif i.base == "FCHK":
            writes += names(operands.pop(0))
        else:
            while operands and re.fullmatch(r"U?(R|P)(\d+|Z|T)", operands[0]):
                found = operands.pop(0)
                writes += names(found)
                if "R" in found:
                    break
            carries = i.base.removeprefix("U") in ("IADD3", "LEA")
            while carries and operands and re.fullmatch(r"U?P(\d+|T)", operands[0]):
                writes += names(operands.pop(0))
    first = next((w for w in writes if "R" in w), None)
    wide = i.bytes // 4 if i.base in ("LDG", "LDS", "LDC", "ULDC", "LD", "LDL") else 0
    if first and (wide > 1 or "WIDE" in i.parts or (i.base == "CS2R" and "32" not in i.parts)
                  or i.base in ("DADD", "DMUL", "DFMA")):
        writes += following(first, max(2, wide))[1:]
    for operand in operands:
        found = names(operand)
        reads += found
        if ".64" in operand or ("WIDE" in i.parts and operand is operands[-1]):
            reads += [more for name in found if "R" in name for more in following(name, 2)]
        if i.base in STORES and operand is operands[-1] and i.bytes > 4 and found:
            reads += following(found[0], i.bytes // 4)
    return tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes))


def split(operands):
    """At commas; there are none inside brackets."""
    return [operand.replace(".reuse", "").strip() for operand in operands.split(",")] if operands else []


def guard_of(row):
    """P2R's source stands in the same field."""
    guard = row.get("predicate", "")
    return guard[1:] if guard.startswith("@") else ""


def functions(text):
    """Instructions by function."""
    found = {}
    for function in json.loads(text)[1]:
        found[function["function-name"]] = [
            Instruction(16 * number, guard_of(row), row["opcode"], split(row.get("operands", "")))
            for number, row in enumerate(function["sass-instructions"])]
    return found


def half_bits(number):
    return struct.unpack("<H", struct.pack("<e", float(number)))[0]
