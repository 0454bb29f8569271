//===- CheckedOperands.cpp - A library command's operands, checked -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt {

CheckedOperands::CheckedOperands(const dtcc_command &command, const Rank &rank)
    : CommandReader(command, rank.image), name(rank.image.string(command.name)),
      mnemonic(libraryOpMnemonic(command.op)), communicators(rank.image.communicators().size()) {}

void CheckedOperands::expect(size_t required, size_t attributes) const {
  if (operandCount() != required && operandCount() != required + 1)
    reject("takes ", required, " operands and a workspace, got: ", operandCount());
  if (attributeCount() != attributes)
    reject("takes ", attributes, " attributes, got: ", attributeCount());
}

void CheckedOperands::sizesMatch(const dtcc_view &view, const char *operand,
                                 std::initializer_list<int64_t> sizes) const {
  if (view.rank != sizes.size())
    reject(operand, " must have rank ", sizes.size(), ", got: ", int{view.rank});
  int i = 0;
  for (int64_t size : sizes) {
    if (size >= 0 && view.sizes[i] != size)
      reject("size ", i, " of ", operand, " must be ", size, ", got: ", view.sizes[i]);
    ++i;
  }
}

const dtcc_view &CheckedOperands::tensor(size_t i, const char *operand, std::initializer_list<int64_t> sizes,
                                         dtcc_dtype type) const {
  const dtcc_view &view = this->operand(i);
  if (view.dtype != type)
    reject(operand, " must have element type ", int{type}, ", got: ", int{view.dtype});
  sizesMatch(view, operand, sizes);
  return view;
}

const dtcc_view &CheckedOperands::floats(size_t i, const char *operand, std::initializer_list<int64_t> sizes) const {
  const dtcc_view &view = this->operand(i);
  if (view.dtype != DTCC_F32 && view.dtype != DTCC_BF16 && view.dtype != DTCC_F16)
    reject(operand, " must be f32, bf16 or f16, got element type: ", int{view.dtype});
  sizesMatch(view, operand, sizes);
  return view;
}

const dtcc_view &CheckedOperands::integers(size_t i, const char *operand, int64_t size) const {
  const dtcc_view &view = this->operand(i);
  if (view.dtype != DTCC_I64 && view.dtype != DTCC_I32)
    reject(operand, " must be i64 or i32, got element type: ", int{view.dtype});
  sizesMatch(view, operand, {size});
  return view;
}

const dtcc_view &CheckedOperands::dense(size_t i, const char *operand, int64_t size) const {
  const dtcc_view &view = tensor(i, operand, {size});
  expectContiguousRows(view, operand);
  return view;
}

const dtcc_view &CheckedOperands::denseFloats(size_t i, const char *operand, int64_t size) const {
  const dtcc_view &view = floats(i, operand, {size});
  expectContiguousRows(view, operand);
  return view;
}

std::optional<dtcc_dtype> CheckedOperands::halfCopy(size_t i, int64_t size) const {
  if (operandCount() <= i)
    return std::nullopt;
  const dtcc_view &view = denseFloats(i, "copy", size);
  if (view.dtype == DTCC_F32)
    reject("copy must be bf16 or f16, got element type: ", int{view.dtype});
  return static_cast<dtcc_dtype>(view.dtype);
}

const dtcc_view &CheckedOperands::scalar(size_t i, const char *operand, dtcc_dtype type) const {
  const dtcc_view &view = this->operand(i);
  if (view.dtype != type)
    reject(operand, " must have element type ", int{type}, ", got: ", int{view.dtype});
  if (elementCount(view) != 1)
    reject(operand, " must have one element, got: ", elementCount(view));
  return view;
}

void CheckedOperands::expectContiguousRows(const dtcc_view &view, const char *operand) const {
  int last = view.rank - 1;
  if (view.sizes[last] > 1 && view.strides[last] != 1)
    reject("elements of ", operand, " must be adjacent, got stride: ", view.strides[last]);
}

int64_t CheckedOperands::communicator(size_t attribute) const {
  int64_t index = integer(attribute);
  if (index < -1 || index >= static_cast<int64_t>(communicators))
    reject("coordinate must be a communicator or -1, got: ", index);
  return index;
}

Accumulation CheckedOperands::accumulation(size_t attribute) const {
  int64_t mode = integer(attribute);
  if (mode < 0 || mode > 2)
    reject("accumulate must be 0, 1 or 2, got: ", mode);
  return static_cast<Accumulation>(mode);
}

} // namespace dtcc::rt
