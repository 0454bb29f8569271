//===- LibraryOp.h - A library op bound to its command -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One LibraryOp per DTCC_LIBRARY command and rank, made in the bind phase before
// the first step: primitives and algorithms are chosen there, run() only runs
// them. run() allocates no tensors: scratch memory is the command's workspace
// operand.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_LIBRARYOP_H
#define DTCC_RUNTIME_KERNELS_OPS_LIBRARYOP_H

#include "runtime/image/Rank.h"

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace dtcc::rt {

/// The ways to compute an op, by name.
class OpWays {
public:
  virtual ~OpWays() = default;
  /// One line with everything on which a choice depends, but for the machine.
  virtual std::string problem() const = 0;
  /// The names of the ways that are possible here, first the one that the op takes by itself. Making the list may
  /// reserve memory.
  virtual std::vector<std::string> names(Rank &rank) = 0;
  /// Takes a way from now on. False, and nothing changes, if it is not possible here.
  virtual bool take(const std::string &name, Rank &rank) = 0;
};

class LibraryOp {
public:
  virtual ~LibraryOp() = default;
  /// The ways to compute the op; null: there is one.
  virtual OpWays *ways() { return nullptr; }
  /// `buffers`: the address of each operand's view for the running slot.
  virtual void run(Rank &rank, void *const *buffers) = 0;
};

/// Makes the op of one DTCC_LIBRARY command of the rank's image. Throws Error if
/// the operands or attributes are not those of LibraryOps.def.
std::unique_ptr<LibraryOp> createLibraryOp(const dtcc_command &command, Rank &rank);

/// Operands and attributes of a command by position.
class CommandReader {
public:
  CommandReader(const dtcc_command &command, const Image &image)
      : image(image), views(image.operands(command)), values(image.attributes(command)),
        predicated(command.predicate != DTCC_NONE) {}

  size_t operandCount() const { return views.size(); }
  /// Type, sizes and strides (in elements) of operand `i`.
  const dtcc_view &operand(size_t i) const { return image.views()[views[i]]; }
  /// The view's index: operands with equal indices are the same memory.
  uint32_t viewIndex(size_t i) const { return views[i]; }

  /// Whether the command may be told not to run.
  bool isPredicated() const { return predicated; }

  size_t attributeCount() const { return values.size(); }
  int64_t integer(size_t i) const { return values[i]; }
  bool flag(size_t i) const { return values[i] != 0; }
  /// A double stored by its bits.
  double real(size_t i) const { return std::bit_cast<double>(values[i]); }

private:
  const Image &image;
  std::span<const uint32_t> views;
  std::span<const int64_t> values;
  bool predicated;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_LIBRARYOP_H
