#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Walks small pieces of machine code, for gpu-roofline.test: gpu_roofline.py FOLDER-OF-THE-BENCHMARK"""
import json
import sys

sys.path.insert(0, sys.argv[1])
import machine  # noqa: E402
import sass  # noqa: E402
import warp  # noqa: E402

# c[0x0][0x210] from, 0x218 to; 0x220 is the distance of a thread's units, and 0x224 where a block's end.
COPY = """
S2R R0,SR_CTAID.X
S2R R1,SR_TID.X
IMAD R0,R0,c[0x0][0x224],RZ
IADD3 R3,R0,c[0x0][0x224],RZ
IADD3 R0,R0,R1,RZ
ULDC.64 UR4,c[0x0][0x208]
LDC.64 R4,c[0x0][0x210]
LDC.64 R6,c[0x0][0x218]
IMAD.WIDE.U32 R8,R0,0x10,R4
LDG.E.128 R12,desc[UR4][R8.64]
IMAD.WIDE.U32 R8,R0,0x10,R6
IADD3 R0,R0,c[0x0][0x220],RZ
ISETP.GE.U32.AND P0,PT,R0,R3,PT
STG.E.128 desc[UR4][R8.64],R12
@!P0 BRA 0x80
EXIT
"""
PARTED = """
LDG.E R0,desc[UR4][R2.64]
FSETP.GT.AND P0,PT,R0,RZ,PT
BSSY B0,0x90
@P0 BRA 0x60
FADD R1,R0,R0
BRA 0x80
FADD R1,R0,-R0
FADD R1,R1,R1
BSYNC B0
FADD R1,R1,R1
FADD R1,R1,R1
EXIT
"""
DIVISION = """
MUFU.RCP R1,R0
ISETP.GT.U32.AND P0,PT,R1,0x727fffff,PT
@!P0 BRA 0x60
MOV R4,0x50
CALL.REL.NOINC slow
BRA 0x70
FFMA R1,R1,R0,R1
EXIT
"""
BARRIER = """
S2R R0,SR_TID.X
ISETP.NE.AND P0,PT,R0,RZ,PT
LDG.E R4,desc[UR4][R2.64]
@!P0 FADD R5,R4,R4
BAR.SYNC.DEFER_BLOCKING 0x0
EXIT
"""
# A predicate that is kept in a register, and a quotient of integers by a reciprocal: 3 turns.
KEPT = """
S2R R0,SR_TID.X
ISETP.GE.U32.AND P2,PT,R0,RZ,PT
P2R R27,RZ,0x4
FCHK P2,R0,R1
ISETP.NE.AND P1,PT,R27,RZ,PT
@!P1 EXIT
MOV R9,0x1000
I2F.U32.RP R4,R9
MUFU.RCP R4,R4
VIADD R5,R4,0xffffffe
F2I.FTZ.U32.TRUNC.NTZ R3,R5
SHF.R.U32.HI R3,RZ,0x12,R3
IADD3 R3,R3,-0x1,RZ
ISETP.NE.AND P0,PT,R3,RZ,PT
@P0 BRA 0xc0
EXIT
"""
# All threads of the warp skip the additions, or none does: the slower counts.
SKIPPED = """
LDG.E R0,desc[UR4][R2.64]
FSETP.GT.AND P0,PT,R0,RZ,PT
@P0 BRA 0x60
FADD R1,R0,R0
FADD R1,R1,R1
FADD R1,R1,R1
EXIT
"""
LOOP = """
LDG.E R0,desc[UR4][R2.64]
ISETP.NE.AND P0,PT,R0,RZ,PT
@P0 BRA 0x0
EXIT
"""


def code(text):
    rows = []
    for line in text.strip().splitlines():
        words = line.split(" ", 1) if not line.startswith("@") else line.split(" ", 2)[1:]
        row = {"opcode": words[0]}
        if len(words) > 1:
            row["operands"] = words[1]
        if line.startswith("@"):
            row["predicate"] = line.split()[0]
        rows.append(row)
    return sass.functions(json.dumps([{}, [{"function-name": "f", "sass-instructions": rows}]]))["f"]


def launch(grid, block, units=4):
    constants = {0x210: 0, 0x214: 1 << 8, 0x218: 0, 0x21c: 2 << 8, 0x220: block, 0x224: units * block}
    return warp.Launch(constants, grid, block, sizes={1: 1 << 30, 2: 1 << 30})


def main():
    latency = warp.Latency(1000, 300)
    counts, cycles, flight, moved = warp.walk(code(COPY), launch(64, 256), 1, latency)
    print(f"copy: {sum(counts.values()) // 8} instructions a warp, {counts['LDG.E.128'] // 8} loads, "
          f"{counts['STG.E.128'] // 8} stores, {moved // 256} bytes a lane, {flight // 1024} KiB on their way")
    alone = warp.walk(code(COPY), launch(64, 32), 1, latency)[1]
    print(f"copy takes four loads: {4000 < cycles < 4400 and cycles == alone}")
    grid = 132 * 8 * 64
    moved = 2 * 16 * 4 * 256 * grid
    found = machine.bound(machine.H100, code(COPY), launch(grid, 256), moved, 16, 0)
    print(f"large copy: {'memory' if found.share == 1 else found.limit}, share {found.share}")
    lines = COPY.strip().splitlines()
    slow = "\n".join(lines[:-4] + ["FADD R20,R21,R22"] * 400 + lines[-4:])
    found = machine.bound(machine.H100, code(slow), launch(grid, 256), moved, 16, 0)
    print(f"slow copy: {found.limit}, share {found.share:.2f}")
    counts = warp.walk(code(PARTED), launch(1, 32), 0, latency)[0]
    print(f"parted: {counts['FADD']} FADD")
    counts = warp.walk(code(DIVISION), launch(1, 32), 0, latency)[0]
    print(f"division: {counts['FFMA']} FFMA, {counts.get('CALL.REL.NOINC', 0)} CALL")
    counts = warp.walk(code(KEPT), launch(1, 32), 0, latency)[0]
    print(f"kept: {counts['BRA']} turns")
    counts = warp.walk(code(SKIPPED), launch(1, 32), 0, latency)[0]
    print(f"skipped: {counts['FADD']} FADD")
    one, two = (warp.walk(code(BARRIER), launch(1, block), 0, latency)[1] for block in (32, 64))
    print(f"barrier: {one > 1000 and two == one}")
    print("resident:", *(machine.resident(machine.H100, 256, *held) for held in ((32, 0), (40, 4096), (16, 100 << 10))))
    for text in (LOOP, "UNHEARD.OF R0,R1\nEXIT"):
        try:
            warp.walk(code(text), launch(1, 32), 0, latency)
        except warp.Unclear as unclear:
            print(f"not known: {unclear}")


if __name__ == "__main__":
    sys.exit(main())
