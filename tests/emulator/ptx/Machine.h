//===- Machine.h - Runs PTX where there is no GPU -------------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes a text of PTX and runs its entries. Which addresses may be touched, and where in
// this process they lie, says DeviceMemory.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_MACHINE_H
#define DTCC_TESTS_EMULATOR_PTX_MACHINE_H

#include "tests/emulator/ptx/Program.h"
#include <mutex>
#include <shared_mutex>

namespace dtcc::emulator {

/// Bytes [start, start + bytes), as kernels see them; they lie at start + shift in this process.
struct Range {
  uint64_t start = 0, bytes = 0, shift = 0;
  bool holds(uint64_t address, uint64_t count) const {
    return address >= start && count <= bytes && address - start <= bytes - count;
  }
};

/// Memory that kernels may touch. Thread-safe.
class DeviceMemory {
public:
  void add(const Range &range);
  void add(const void *start, uint64_t bytes) { add({reinterpret_cast<uint64_t>(start), bytes}); }
  void remove(uint64_t start);
  /// The range that holds an address; empty if none does.
  Range find(uint64_t address) const;
  /// Address of these bytes, or null if they are not all in one range.
  char *locate(uint64_t address, uint64_t bytes) const;
  /// The range that ends last before an address: who was overrun. Empty if there is none.
  Range before(uint64_t address) const;

private:
  mutable std::shared_mutex lock;
  std::map<uint64_t, Range> ranges;
};

struct Launch {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t dynamicShared = 0;
  /// Threads of the process that share the blocks.
  unsigned threads = 1;
  /// Other orders of blocks and warps; 0 is the plain one.
  uint64_t seed = 0;
  /// Reports two warps that touch a byte of shared memory between two barriers, one of them writing.
  bool checkRaces = true;
  /// As cuLaunchKernel's kernelParams.
  const void *const *parameters = nullptr;
};

/// A loaded module. Its variables live as long as it does.
class Machine {
public:
  /// Throws PtxError.
  Machine(std::string_view text, DeviceMemory &memory);
  ~Machine();
  Machine(const Machine &) = delete;

  bool has(const std::string &entry) const;
  std::vector<std::string> entries() const;
  /// Decodes at the first call. Throws PtxError.
  const Program &entry(const std::string &name);
  /// Runs all blocks. Throws PtxError. Returns the instructions of all threads together.
  uint64_t launch(const std::string &entry, const Launch &launch);
  /// The address of a variable and its bytes; 0 if there is none.
  Range variable(const std::string &name) const;

private:
  Module module;
  DeviceMemory &memory;
  Addresses addresses;
  std::map<std::string, uint64_t> sizes;
  std::vector<void *> storage;
  std::mutex lock;
  std::map<std::string, std::unique_ptr<Program>> programs;
};

/// Loads a text and launches one of its kernels. The message if that fails, else nothing: for
/// callers without exceptions.
std::string problemOf(std::string_view text, DeviceMemory &memory, const std::string &entry, const Launch &launch);

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_MACHINE_H
