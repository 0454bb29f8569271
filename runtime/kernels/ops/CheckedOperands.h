//===- CheckedOperands.h - A library command's operands, checked -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits commands and the runtime runs them, so a wrong command is a
// fault of ours: it must still be one message that names the command and the
// operand, in the bind phase, and never a wild pointer.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_CHECKEDOPERANDS_H
#define DTCC_RUNTIME_KERNELS_OPS_CHECKEDOPERANDS_H

#include "runtime/core/Error.h"
#include "runtime/kernels/ops/LibraryOp.h"

#include <initializer_list>
#include <optional>
#include <string>

namespace dtcc::rt {

/// The mnemonic of a library op, as LibraryOps.def has it.
const char *libraryOpMnemonic(uint32_t op);

/// The `accumulate` attribute: whether a result is added to what is there.
enum class Accumulation { Never = 0, Always = 1, UnlessFirstSlot = 2 };
inline bool accumulates(Accumulation mode, const Rank &rank) {
  return mode == Accumulation::Always || (mode == Accumulation::UnlessFirstSlot && rank.abi.slot != 0);
}

class CheckedOperands : public CommandReader {
public:
  CheckedOperands(const dtcc_command &command, const Rank &rank);

  /// Fails unless there are `count` attributes and `required` operands, or one
  /// more, the workspace.
  void expect(size_t required, size_t attributes) const;
  /// Operand `i` if it has this type and these sizes; -1 stands for any size.
  const dtcc_view &tensor(size_t i, const char *name, std::initializer_list<int64_t> sizes,
                          dtcc_dtype type = DTCC_F32) const;
  /// Operand i of type f32, bf16 or f16.
  const dtcc_view &floats(size_t i, const char *name, std::initializer_list<int64_t> sizes) const;
  /// Operand i of ids or labels, i64 or i32.
  const dtcc_view &integers(size_t i, const char *name, int64_t size) const;
  /// Operand i of ids or labels, dense and of rank 1.
  const dtcc_view &dense(size_t i, const char *name, int64_t size) const;
  /// Operand i of type f32, bf16 or f16, dense and of rank 1.
  const dtcc_view &denseFloats(size_t i, const char *name, int64_t size) const;
  /// The element type of operand i, bf16 or f16, if the command has it: a copy of `size` parameters for their readers.
  /// It stands last, where other commands have a workspace.
  std::optional<dtcc_dtype> halfCopy(size_t i, int64_t size) const;
  /// A single element of any rank.
  const dtcc_view &scalar(size_t i, const char *name, dtcc_dtype type = DTCC_F32) const;
  /// Fails unless elements along the last dimension are adjacent.
  void expectContiguousRows(const dtcc_view &view, const char *name) const;
  /// The communicator of a `coordinate` attribute, or -1.
  int64_t communicator(size_t attribute) const;
  Accumulation accumulation(size_t attribute) const;

  template <typename... Parts> [[noreturn]] void reject(const Parts &...parts) const {
    fail("command '", name, "' (", mnemonic, "): ", parts...);
  }

private:
  void sizesMatch(const dtcc_view &view, const char *name, std::initializer_list<int64_t> sizes) const;
  std::string name;
  const char *mnemonic;
  size_t communicators;
};

/// The stride of a dimension; 0 where it has one element, whose stride says nothing.
inline int64_t strideOf(const dtcc_view &view, int dimension) {
  return view.sizes[dimension] == 1 ? 0 : view.strides[dimension];
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_CHECKEDOPERANDS_H
