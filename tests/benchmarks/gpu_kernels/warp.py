# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks a warp through machine code: which instructions it issues, how often, and when at the earliest.

Integers that follow from the launch are worked out, so that loops run as often as on a GPU and addresses are known;
all else (what memory holds, every float) is unknown. Where an unknown predicate parts a warp, both ways are walked,
one after the other, as a warp does whose threads part; a call of a subroutine behind such a branch is the rare case
of a division or a root, and is not walked. What decides how often a loop runs must be known: else Unclear is raised.
"""
import re
import struct

import sass

MASK = 0xFFFFFFFF
# Cycles until a result may be used. Memory's are those of `Latency`.
RESULT = {"MUFU": 24, "SHFL": 24, "LDS": 29, "S2R": 20, "S2UR": 20, "LDC": 20, "ULDC": 12, "POPC": 20, "I2F": 24,
          "F2I": 24, "F2F": 24, "DADD": 10, "DMUL": 10, "DFMA": 10, "R2UR": 12}
UNKNOWN_RESULTS = set("""
    FADD FMUL FFMA FSETP FSET FSEL FMNMX F2FP F2F I2FP FCHK HADD2 HMUL2 HFMA2 HMNMX2 HSETP2 DADD
    DMUL DFMA DSETP DMNMX FRND F2IP I2I I2IP FSWZADD LDG LDS LD LDL ATOM ATOMG SHFL VOTE VOTEU MATCH FLO UFLO
    POPC UPOPC BREV UBREV R2P UP2UR BMOV IABS VABSDIFF""".split())
NOTHING = set("NOP BAR WARPSYNC BSSY BSYNC MEMBAR ERRBAR CCTL YIELD DEPBAR STG STS ST STL RED BREAK".split())


class Unclear(Exception):
    """Code that cannot be followed."""


class Launch:
    """What a kernel is started with: `constants` by offset in bank 0, words of `memory` by address."""

    def __init__(self, constants, grid, block, memory=None, sizes=None):
        self.constants, self.grid, self.block = constants, grid, block
        self.memory = memory or {}
        self.sizes = sizes or {}


class Latency:
    """Cycles of loads: the first from memory, of what all blocks read from the second cache, what a block read before
    from its own."""

    def __init__(self, dram, shared, own=34, small=1 << 20):
        self.dram, self.shared, self.own, self.small = dram, shared, own, small


class Block:
    """What the warps of a block have in common."""

    def __init__(self, launch, number, latency, jumps=False):
        self.launch, self.number, self.latency = launch, number, latency
        self.sectors = {}
        # `jumps`: whether a warp takes a branch whose condition is not known. `unknown`: whether there was such a branch.
        self.jumps, self.unknown = jumps, False

    def load(self, address, now, size):
        """(when it arrives, bytes that come from memory)."""
        if address is None:
            return now + self.latency.dram, size
        sector = address // 32
        if sector in self.sectors:
            return max(self.sectors[sector], now + self.latency.own), 0
        small = self.launch.sizes.get(address >> 40, self.latency.small + 1) <= self.latency.small
        self.sectors[sector] = now + (self.latency.shared if small else self.latency.dram)
        return self.sectors[sector], 0 if small else size


class Warp:
    """One lane of a warp, for all of it."""

    def __init__(self, code, block, thread):
        self.code, self.block, self.thread = code, block, thread
        self.values, self.ready = {}, {}
        self.now, self.place = 0, 0
        self.counts = {}
        self.flying, self.most = [], 0  # loads on their way: (when they arrive, bytes); the most at once
        self.moved = 0  # bytes of a lane, loaded from memory for the first time or stored
        self.joins = []  # where parted threads meet: (barrier, place, ways)
        self.steps = 0

    # Operands.

    def value(self, text):
        negative, inverted = text.startswith("-") and not text.startswith("-0x"), text[:1] in "~!"
        name = text[1:] if negative or inverted else text
        if text.startswith("-0x"):
            return -int(text[1:], 16) & MASK
        if name.startswith("|"):
            return None
        if name in ("RZ", "URZ", "SRZ"):
            found = 0
        elif name in ("PT", "UPT"):
            found = True
        elif re.fullmatch(r"U?[RP]\d+", name):
            found = self.values.get(name)
        elif name.startswith("0x"):
            found = int(name, 16)
        elif match := re.fullmatch(r"c\[0x0\]\[(0x[0-9a-f]+|RZ)\]", name):
            found = self.block.launch.constants.get(0 if match[1] == "RZ" else int(match[1], 16))
        else:
            return None
        if found is None or isinstance(found, bool):
            return (not found) if inverted and found is not None else found
        return (-found if negative else ~found if inverted else found) & MASK

    def pair(self, text):
        """64 bits of a register and the next, or of a constant."""
        if text in ("RZ", "URZ"):
            return 0
        if match := re.fullmatch(r"c\[0x0\]\[(0x[0-9a-f]+)\]", text):
            low, high = (self.block.launch.constants.get(int(match[1], 16) + more) for more in (0, 4))
        elif re.fullmatch(r"U?R\d+", text):
            low, high = (self.values.get(name) for name in sass.following(text, 2))
        else:
            return None
        return None if low is None or high is None else low | high << 32

    def address(self, operand):
        match = sass.ADDRESS.search(operand)
        if not match:
            return None
        base = self.pair(match[1]) if ".64" in operand or match[1].startswith("UR") else self.value(match[1])
        more = self.pair(match[2]) if match[2] else 0
        return None if base is None or more is None else base + more + int(match[3] or "0", 16)

    def guard(self, i):
        return True if not i.guard else self.value(i.guard)

    # Steps.

    def issue(self, i):
        self.now = max([self.now + 1] + [self.ready.get(name, 0) for name in i.reads])
        self.counts[i.opcode] = self.counts.get(i.opcode, 0) + 1
        self.steps += 1
        if self.steps > 3_000_000:
            raise Unclear("more than 3,000,000 instructions")

    def run(self):
        """Runs to the end; yields at every barrier."""
        while True:
            i = self.code[self.place // 16]
            go = self.guard(i)
            self.issue(i)
            if i.base == "EXIT":
                if go:
                    return
            elif i.base in ("BRA", "CALL", "RET", "BRX", "JMP"):
                if self.branch(i, go):
                    continue
            elif i.base == "BSSY":
                self.joins.append((i.operands[0], int(i.operands[1], 16), []))
            elif i.base == "BSYNC":
                if self.join(i):
                    continue
            elif i.base == "BAR" and go:
                yield self.now
            elif go is not False:
                self.do(i, go)
            self.place += 16

    def calls(self, begin, end):
        return any(i.base == "CALL" for i in self.code[begin // 16:end // 16])

    def branch(self, i, go):
        if i.base != "BRA":
            if go is False:
                return False
            raise Unclear(f"{i.opcode} at {i.place:#x}")
        if "DIV" in i.parts:
            return False
        if len(i.operands) > 1:
            for operand in i.operands[:-1]:
                more = self.value(operand)
                go = None if go is None or more is None else go and more
        target = int(i.operands[-1], 16)
        if go is None:
            if target > i.place and self.calls(i.place + 16, min(target, i.place + 16 * 6)):
                go = True
            elif self.calls(target, target + 16 * 6):
                go = False
            elif target <= i.place:
                raise Unclear(f"the loop back to {target:#x} runs as often as memory says")
            elif not self.joins:
                # The whole warp goes one way.
                self.block.unknown = True
                go = self.block.jumps
            else:
                self.joins[-1][2].append(("walk", target, dict(self.values)))
                go = False
        if go:
            if target == i.place:
                raise Unclear("a loop without end")
            self.place = target
        return bool(go)

    def join(self, i):
        """At a meeting point: walks what is left to walk, and keeps what all ways agree on."""
        # Points that were jumped over.
        while self.joins and self.joins[-1][0] != i.operands[0]:
            if self.joins.pop()[2]:
                raise Unclear(f"threads that parted meet elsewhere, at {i.place:#x}")
        if not self.joins:
            return False
        _, place, ways = self.joins[-1]
        for at, (state, target, values) in enumerate(ways):
            if state == "walk":
                ways[at] = ("done", None, dict(self.values))
                self.values, self.place = values, target
                return True
        for _, _, values in ways:
            for name in set(values) | set(self.values):
                if values.get(name) != self.values.get(name):
                    self.values[name] = None
        self.joins.pop()
        self.place = place
        return True

    def do(self, i, go):
        later = self.now + RESULT.get(i.base, 5)
        results = evaluate(self, i)
        if i.base in ("LDG", "LD"):
            at = self.address(i.operands[-1])
            later, fresh = self.block.load(at, self.now, i.bytes)
            self.moved += fresh
            if fresh:
                self.flying = [flight for flight in self.flying if flight[0] > self.now] + [(later, fresh)]
                self.most = max(self.most, sum(size for _, size in self.flying))
            words = [self.block.launch.memory.get(None if at is None else at + 4 * n) for n in range(i.bytes // 4)]
            results = dict(zip([w for w in i.writes if "R" in w], words))
        elif i.base in ("STG", "ST"):
            self.moved += i.bytes
        for name in i.writes:
            self.values[name] = results.get(name) if go else None
            self.ready[name] = later


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def evaluate(warp, i):
    """Known results by register."""
    if i.base in NOTHING or i.base in UNKNOWN_RESULTS and not (i.base == "HFMA2" and i.operands[1:3] == ["-RZ", "RZ"]):
        return {}
    rule = RULES.get(i.base.removeprefix("U") if i.base not in RULES else i.base)
    if rule is None:
        raise Unclear(f"{i.opcode} at {i.place:#x}")
    return rule(warp, i) or {}


def low_high(i, value):
    if value is None:
        return {}
    registers = [w for w in i.writes if "R" in w]
    return {name: value >> 32 * n & MASK for n, name in enumerate(registers)}


def moves(warp, i):
    return low_high(i, warp.value(i.operands[-1] if i.base != "R2UR" else i.operands[1]))


def loads_constant(warp, i):
    return low_high(i, warp.pair(i.operands[1]) if "64" in i.parts else warp.value(i.operands[1]))


def special(warp, i):
    block = warp.block
    known = {"SR_TID.X": warp.thread, "SR_CTAID.X": block.number, "SR_TID.Y": 0, "SR_TID.Z": 0, "SR_CTAID.Y": 0,
             "SR_CTAID.Z": 0, "SR_CgaCtaId": 0, "SR_LANEID": warp.thread % 32, "SRZ": 0}
    return low_high(i, known.get(i.operands[-1]))


def multiplies(warp, i):
    if "MOV" in i.parts or "IADD" in i.parts and len(i.operands) < 4:
        return low_high(i, warp.value(i.operands[-1]))
    wide, high = "WIDE" in i.parts, "HI" in i.parts
    operands = [o for o in i.operands[1:] if not re.fullmatch(r"!?U?P(\d|T)", o)]
    carries = [warp.value(o) for o in i.operands[1:] if re.fullmatch(r"!?U?P(\d|T)", o)] if "X" in i.parts else [0]
    a, b = warp.value(operands[0]), warp.value(operands[1])
    c = warp.pair(operands[2]) if wide and operands[2].strip("-")[:2] != "0x" else warp.value(operands[2])
    if a == 0 or b == 0:
        a = b = 0
    if None in (a, b, c) or None in carries:
        return {}
    if (wide or high) and "U32" not in i.parts:
        a, b = signed(a), signed(b)
    if high:
        return low_high(i, (a * b >> 32) + c & MASK) if c == 0 else {}
    return low_high(i, a * b + c + sum(map(int, carries)) & (2**64 - 1 if wide else MASK))


def adds(warp, i):
    operands = i.operands[1:]
    outs = []
    while re.fullmatch(r"U?P(\d|T)", operands[0]):
        outs.append(operands.pop(0))
    sources = [o for o in operands if not re.fullmatch(r"!?U?P(\d|T)", o)]
    values = [warp.value(o) for o in sources]
    if "X" in i.parts:
        values += [warp.value(o) for o in operands if re.fullmatch(r"!?U?P(\d|T)", o)]
    if None in values:
        return {}
    # x - y is x + ~y + 1, of which the carry is taken: that of x - 0 is 1.
    zeros = 0 if "X" in i.parts else sum(o.startswith("-") and value == 0 for o, value in zip(sources, values))
    total = sum(map(int, values)) + (zeros << 32)
    results = low_high(i, total & MASK)
    for number, out in enumerate(outs):
        results[out] = total >> 32 + number != 0
    return results


def shifts_and_adds(warp, i):
    operands = i.operands[1:]
    outs = []
    while re.fullmatch(r"U?P(\d|T)", operands[0]):
        outs.append(operands.pop(0))
    carry = int(warp.value(operands.pop()) or 0) if "X" in i.parts else 0
    if "SX32" in i.parts:
        a = warp.value(operands[0])
        operands.insert(2, "RZ" if a is not None and not a >> 31 else "0xffffffff")
    values = [warp.value(o) for o in operands]
    if None in values:
        return {}
    if "HI" in i.parts:
        a, b, c, shift = values
        total = ((c << 32 | a) << shift >> 32 & MASK) + b + carry
    else:
        a, b, shift = values[:3]
        total = (a << shift & MASK) + b + carry
    results = low_high(i, total & MASK)
    for out in outs:
        results[out] = total >> 32 != 0
    return results


def shifts(warp, i):
    low, by, high = (warp.value(o) for o in i.operands[1:4])
    left, upper, wide = "L" in i.parts, "HI" in i.parts, "U64" in i.parts or "S64" in i.parts
    if by is None:
        return {}
    if not wide and (left and low is not None or not left and high is not None):
        by = min(by, 32) if "W" not in i.parts else by & 31
        if left:
            return low_high(i, low << by & MASK)
        if upper:
            return low_high(i, (signed(high) >> by if "S32" in i.parts else high >> by) & MASK)
    if low is None or high is None:
        return {}
    both = high << 32 | low
    moved = both << by if left else both >> by
    return low_high(i, moved >> 32 & MASK if upper else moved & MASK)


def look_up(table, bits):
    """A function of three inputs, bit by bit."""
    a, b, c = bits
    return sum((((table >> n) & 1) * MASK) & (a if n & 4 else ~a) & (b if n & 2 else ~b) & (c if n & 1 else ~c)
               for n in range(8)) & MASK


def logic(warp, i):
    operands = list(i.operands)
    out = operands.pop(0) if re.fullmatch(r"U?P(\d|T)", operands[0]) else None
    target, sources, table = operands[0], [warp.value(o) for o in operands[1:4]], int(operands[4], 16)
    if None in sources:
        # An input that makes no difference may be unknown.
        for n, value in enumerate(sources):
            if value is None:
                bit = 4 >> n
                if all((table >> k & 1) == (table >> (k ^ bit) & 1) for k in range(8)):
                    sources[n] = 0
    if None in sources:
        return {}
    value = look_up(table, sources)
    return {target: value, **({out: value != 0} if out else {})}


def compares(warp, i):
    out, _, a, b, more = i.operands[:5]
    x, y, other = warp.value(a), warp.value(b), warp.value(more)
    if None in (x, y):
        if other is False and "AND" in i.parts:
            return {out: False}
        return {}
    if "U32" not in i.parts:
        x, y = signed(x), signed(y)
    kind = i.parts[1]
    result = {"LT": x < y, "LE": x <= y, "GT": x > y, "GE": x >= y, "EQ": x == y, "NE": x != y}[kind]
    if "EX" in i.parts:
        below = warp.value(i.operands[5])
        if below is None:
            return {}
        result = (x == y and below) or (result and x != y)
    if other is None:
        return {}
    return {out: (result and other) if "AND" in i.parts else (result or other) if "OR" in i.parts else result != other}


def predicates(warp, i):
    out, _, a, b, c, table = i.operands[:6]
    values = [warp.value(o) for o in (a, b, c)]
    if None in values:
        return {}
    return {out: look_up(int(table, 16), [MASK if v else 0 for v in values]) != 0}


def selects(warp, i):
    condition = warp.value(i.operands[3])
    return {} if condition is None else low_high(i, warp.value(i.operands[1 if condition else 2]))


def least(warp, i):
    a, b, smaller = (warp.value(o) for o in i.operands[1:4])
    if None in (a, b, smaller):
        return {}
    key = (lambda v: v) if "U32" in i.parts else signed
    return low_high(i, (min if smaller else max)(a, b, key=key))


def permutes(warp, i):
    a, selector, b = (warp.value(o) for o in i.operands[1:4])
    if selector is None:
        return {}
    used = {selector >> 4 * n & 7 for n in range(4)}
    if (a is None and any(u < 4 for u in used)) or (b is None and any(u >= 4 for u in used)) or selector & 0x8888:
        return {}
    whole = (b or 0) << 32 | (a or 0)
    return low_high(i, sum((whole >> 8 * (selector >> 4 * n & 7) & 255) << 8 * n for n in range(4)))


def extends(warp, i):
    value, bits = warp.value(i.operands[1]), warp.value(i.operands[2])
    if value is None or bits is None:
        return {}
    value &= (1 << bits) - 1
    negative = "U32" not in i.parts and value >> bits - 1
    return low_high(i, value - (1 << bits) & MASK if negative else value)


def packs(warp, i):
    mask = int(i.operands[-1], 16)
    bits = [warp.values.get(f"P{n}") for n in range(7) if mask >> n & 1]
    if not mask or None in bits:
        return {}
    return low_high(i, sum(warp.values[f"P{n}"] << n for n in range(7) if mask >> n & 1))


# Floats that are known are those by which integers are divided: bits, as registers hold them.


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def to_float(warp, i):
    value = warp.value(i.operands[1])
    if value is None or i.parts[1:3] != ("U32", "RP"):
        return {}
    bits = bits_of(value)
    return low_high(i, bits + (float_of(bits) < value))


def to_integer(warp, i):
    value = warp.value(i.operands[1])
    if value is None or "U32" not in i.parts or "TRUNC" not in i.parts:
        return {}
    number = float_of(value)
    return low_high(i, min(int(number), MASK)) if number >= 0 and number < 2**33 else {}


def functions(warp, i):
    value = warp.value(i.operands[1])
    if value is None or i.parts[1] != "RCP" or not 1 <= float_of(value) < 2**32:
        return {}
    return low_high(i, bits_of(1 / float_of(value)))


def constant_halves(_, i):
    high, low = (sass.half_bits(o) for o in i.operands[3:5])
    return low_high(i, high << 16 | low)


RULES = {"MOV": moves, "R2UR": moves, "LDC": loads_constant, "S2R": special, "S2UR": special, "CS2R": special,
         "IMAD": multiplies, "IADD3": adds, "VIADD": adds, "LEA": shifts_and_adds, "SHF": shifts, "LOP3": logic,
         "ISETP": compares, "PLOP3": predicates, "SEL": selects, "SGXT": extends, "IMNMX": least, "VIMNMX": least,
         "PRMT": permutes, "HFMA2": constant_halves, "I2F": to_float, "F2I": to_integer, "MUFU": functions,
         "P2R": packs}


def walk(code, launch, number, latency):
    """All warps of a block, from barrier to barrier. Returns (instructions, cycles, bytes of loads on their way, bytes
    moved), the last two of all lanes. Where whole warps go a way that is not known, the slower of going on and of jumping
    at each such branch."""
    block, found = walk_block(code, Block(launch, number, latency))
    if block.unknown:
        found = max(found, walk_block(code, Block(launch, number, latency, jumps=True))[1], key=lambda each: each[1])
    return found


def walk_block(code, block):
    launch = block.launch
    warps = [Warp(code, block, thread) for thread in range(0, launch.block, 32)]
    running = [(warp, warp.run()) for warp in warps]
    while running:
        waiting = []
        for warp, steps in running:
            if next(steps, None) is not None:
                waiting.append((warp, steps))
        for warp, _ in waiting:
            warp.now = max(other.now for other, _ in waiting)
        running = waiting
    counts = {}
    for warp in warps:
        for opcode, count in warp.counts.items():
            counts[opcode] = counts.get(opcode, 0) + count
    lanes = min(32, launch.block)
    return block, (counts, max(warp.now for warp in warps), lanes * sum(warp.most for warp in warps),
                   lanes * sum(warp.moved for warp in warps))
