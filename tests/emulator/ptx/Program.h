//===- Program.h - A kernel as the emulator runs it ------------ -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry and all it calls, decoded once. A register of a warp is 32 cells side by side
// in the warp's frame (a predicate: 32 bits); constants and special registers are
// registers that are filled before the warp starts. An instruction is the function that
// does it for the lanes of a mask, and the places of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_PROGRAM_H
#define DTCC_TESTS_EMULATOR_PTX_PROGRAM_H

#include "tests/emulator/ptx/Syntax.h"
#include <memory>

namespace dtcc::emulator {

class Warp;
struct Code;
using Handler = void (*)(Warp &, const Code &, uint32_t lanes);

constexpr uint32_t kNowhere = ~0u;
constexpr int kWarpSize = 32;

/// Effect of an instruction on the control flow of the lanes.
enum class Control : uint8_t {
  None,     ///< on to the next
  Branch,   ///< to `target`
  BranchTo, ///< to tables[target][register a]
  Call,     ///< to `target`, back to the next: kept in register d
  Return,   ///< to register a
  Exit,
  Collective, ///< `handler` when all lanes of register `members` are here
  Barrier,    ///< until the block is at barrier a (b: how many threads, else all)
  Arrive,     ///< is counted at a barrier without waiting
  Trap,
};

/// One decoded instruction. d, a, b, c are places in the frame.
struct Code {
  Handler handler = nullptr;
  uint32_t d = kNowhere, a = kNowhere, b = kNowhere, c = kNowhere;
  uint32_t guard = kNowhere;
  uint32_t flip = 0; ///< ~0: where the guard is false
  Control control = Control::None;
  bool aligned = false;         ///< a barrier at which a warp must arrive whole
  uint8_t bytes = 0, count = 1; ///< of an access: of one element, elements
  uint8_t width = 0, from = 0;  ///< bytes of a register's cell (of a source's)
  Space space = Space::Generic;
  bool flag = false;   ///< as the handler says
  bool atomic = false; ///< an access that races with nobody
  uint32_t members = kNowhere;
  uint32_t target = kNowhere;
  int64_t value = 0;        ///< the offset of an address, or as the handler says
  uint32_t list = kNowhere; ///< first of more places, in Program::places
  unsigned line = 0;
};

/// Registers whose value the place of a thread gives.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Lane,
  WarpNumber,
  WarpCount,
  Processor,
  LanesLess,
  LanesLessEqual,
  LanesEqual,
  LanesGreater,
  LanesGreaterEqual,
  DynamicShared,
  TotalShared,
};

struct Program {
  std::string name;
  std::vector<Code> code;
  uint32_t start = 0;
  std::vector<uint32_t> places;
  std::vector<std::vector<uint32_t>> tables;

  uint32_t frameBytes = 0;
  struct Constant {
    uint32_t place;
    uint8_t bytes;
    uint64_t bits;
  };
  std::vector<Constant> constants;
  std::vector<std::pair<uint32_t, Special>> specials;

  uint32_t localBytes = 0;  ///< of a thread
  uint32_t sharedBytes = 0; ///< of a block, before what a launch adds
  uint64_t mostThreads = 1024;
  struct Parameter {
    uint64_t offset, bytes;
  };
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0;
  unsigned registers = 0;
};

/// The addresses of a module's variables.
using Addresses = std::unordered_map<std::string, uint64_t>;

/// Throws PtxError.
std::unique_ptr<Program> decode(const Module &module, const std::string &entry, const Addresses &variables);

/// Generic addresses of what is no device memory; none is a pointer of a process.
constexpr uint64_t kSharedWindow = 0x7a00'0000'0000'0000, kLocalWindow = 0x7b00'0000'0000'0000,
                   kParamWindow = 0x7c00'0000'0000'0000, kWindowMask = 0xff00'0000'0000'0000;
/// First address of shared memory. The system's own part lies below, so that null is no address.
constexpr uint32_t kSharedStart = 1024;
constexpr uint32_t kLocalStart = 16;

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_PROGRAM_H
