# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GPU can do at most, and how long a kernel takes on it at least."""
import dataclasses
import math

import warp


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    bandwidth: float  # bytes a second
    processors: int = 132
    clock: float = 1.7e9
    registers: int = 65536
    threads: int = 2048
    blocks: int = 32
    shared: int = 227 << 10
    memory_seconds: float = 700e-9  # until a load under traffic arrives
    cache_cycles: int = 270
    port: float = 64  # bytes that a multiprocessor gets from the second cache in a cycle


H100 = Machine("h100", 3.35e12)
H200 = Machine("h200", 4.8e12)

# Warps' instructions that a multiprocessor starts each cycle; NVIDIA's table of throughputs for compute capability 9.0
# (results of a cycle, by 32 lanes), loads and stores by the 128 bytes that the first cache moves in a cycle.
SPECIAL = ("MUFU", "F2F", "F2I", "I2F", "FRND", "POPC", "FLO", "BREV", "I2FP", "F2IP")
FLOATS = ("FADD", "FMUL", "FFMA", "FSWZADD", "HADD2", "HMUL2", "HFMA2")
PRODUCTS = ("IMAD",)
DOUBLES = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")
MEMORY = ("LDG", "STG", "LD", "ST", "LDS", "STS", "SHFL", "ATOM", "ATOMG", "RED", "LDL", "STL", "ATOMS", "REDUX",
          "VOTE", "MATCH")
# Handled beside the pipes, but started like all others.
ELSEWHERE = ("BRA", "EXIT", "BSSY", "BSYNC", "BAR", "NOP", "LDC", "S2R", "S2UR", "R2UR")


def cycles(counts):
    """Cycles of a multiprocessor for instructions of warps, at least, and what they are spent on."""
    spent = dict.fromkeys(("issue", "float", "integer", "special", "double", "memory"), 0.0)
    for opcode, count in counts.items():
        base, *parts = opcode.split(".")
        spent["issue"] += count / 4
        if base in SPECIAL:
            spent["special"] += count * 2
        elif base in DOUBLES:
            spent["double"] += count / 2
        elif base in PRODUCTS:
            spent["float"] += count / 2
        elif base in FLOATS:
            spent["float"] += count / 4
        elif base in MEMORY:
            spent["memory"] += count * (4 if "128" in parts else 2 if "64" in parts else 1)
        elif not base.startswith("U") and base not in ELSEWHERE:
            spent["integer"] += count / 2
    what = max(spent, key=spent.get)
    return spent[what], what


def resident(machine, block, registers, shared):
    """Blocks that a multiprocessor holds at once."""
    warps = math.ceil(block / 32)
    # Registers are given out in units of 8 a thread, shared memory with 1 KiB for the system.
    by_registers = machine.registers // (math.ceil(max(registers, 1) / 8) * 8 * 32 * warps)
    return min(machine.blocks, machine.threads // (32 * warps), by_registers, machine.shared // (shared + 1024))


@dataclasses.dataclass
class Bound:
    """Seconds of a launch, at least: of memory alone, of instructions, of a block after another."""
    memory: float
    instructions: float
    waits: float
    limit: str
    counts: dict
    blocks: int
    flight: int
    moved: int

    @property
    def share(self):
        """Of the copy's bandwidth, at most."""
        return self.memory / max(self.memory, self.instructions, self.waits)


def bound(machine, code, launch, moved, registers, shared):
    """How long `code` takes at least to move `moved` bytes; warp.Unclear where that cannot be said."""
    latency = warp.Latency(int(machine.memory_seconds * machine.clock), machine.cache_cycles)
    counts, chain, flight, touched = warp.walk(code, launch, launch.grid // 2, latency)
    blocks = resident(machine, launch.block, registers, shared)
    each, what = cycles(counts)
    instructions = each * math.ceil(launch.grid / machine.processors) / machine.clock
    waits = math.ceil(launch.grid / (machine.processors * blocks)) * chain / machine.clock
    port = math.ceil(launch.grid / machine.processors) * touched / machine.port / machine.clock
    memory = moved / machine.bandwidth
    limit = what if instructions > max(waits, port) else "port" if port > waits else (
        "latency" if launch.grid >= machine.processors * blocks else "grid")
    here = min(blocks, math.ceil(launch.grid / machine.processors))
    return Bound(memory, instructions, max(waits, port), limit, counts, blocks, flight * here, touched * launch.grid)
