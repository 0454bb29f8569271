//===- Worlds.h - The plans of a program, by number of ranks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has a plan for each number of ranks that it was compiled for. Which one runs is decided before an image is
// read: by the processes that a launcher started, by --ranks, or by the cores of this machine.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_WORLDS_WORLDS_H
#define DTCC_RUNTIME_LAUNCH_WORLDS_WORLDS_H

#include "runtime/abi/World.h"
#include "runtime/collective/Communicator.h"

#include <set>
#include <span>

namespace dtcc::rt {

class Worlds {
public:
  /// The rows of the executable, at least one, in any order. They outlive this.
  explicit Worlds(std::span<const dtcc_world> rows);

  /// The worlds by ascending number of ranks.
  std::span<const dtcc_world> all() const { return rows; }
  /// The world of a launch, before its options are read. `asked` is the number of --ranks, or 0. Without a launcher and
  /// --ranks it is the largest with a core for every rank, or else the smallest. Where no world has the number, it is
  /// any of them, and check() fails.
  const dtcc_world &choose(const Launch &launch, int64_t asked) const;
  /// Fails, with the numbers that there are, if `launch` or `asked` has another number of ranks than the chosen world.
  void check(const Launch &launch, int64_t asked) const;
  /// "2, 4 or 8 ranks"
  std::string text() const;

private:
  std::set<int64_t> numbers() const;
  std::vector<dtcc_world> rows;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_WORLDS_WORLDS_H
