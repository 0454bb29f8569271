//===- Operands.h - Operands of library commands as kernels take them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_OPERANDS_H
#define DTCC_RUNTIME_CUDA_OPS_OPERANDS_H

#include "runtime/cuda/kernels/Vectors.h"
#include "runtime/cuda/ops/CudaOps.h"
#include "runtime/cuda/ops/Launch.h"

namespace dtcc::rt::cuda {

/// A vector of f32 of the command: its address is known when it runs.
class FloatOperand {
public:
  FloatOperand() = default;
  FloatOperand(const CheckedOperands &operands, size_t index, const char *name, int64_t size)
      : index(index), stride(strideOf(operands.tensor(index, name, {size}), 0)) {}
  FloatVector at(const Call &call) const { return {static_cast<float *>(call.buffers[index]), stride}; }

private:
  size_t index = 0;
  int64_t stride = 1;
};

/// An operand of ids or labels; -1 stands for any size.
class IntegerOperand {
public:
  IntegerOperand() = default;
  IntegerOperand(const CheckedOperands &operands, size_t index, const char *name, int64_t size) : index(index) {
    const dtcc_view &view = operands.integers(index, name, size);
    count = view.sizes[0], stride = strideOf(view, 0), wide = view.dtype == DTCC_I64;
  }
  int64_t size() const { return count; }
  Integers at(const Call &call) const { return {call.buffers[index], stride, wide}; }

private:
  size_t index = 0;
  int64_t count = 0, stride = 1;
  bool wide = true;
};

template <typename T> T *address(const Call &call, size_t operand) { return static_cast<T *>(call.buffers[operand]); }

/// Whether addresses of all operands are multiples of `bytes` in every slot.
inline bool areAligned(const CheckedOperands &operands, const Rank &rank, int64_t bytes) {
  for (size_t i = 0; i < operands.operandCount(); ++i)
    if (rank.offset(operands.viewIndex(i)) % bytes || operands.operand(i).slot_stride % bytes)
      return false;
  return true;
}

/// Suffix of a kernel's name for a type.
inline const char *typeName(uint32_t dtype) { return dtype == DTCC_BF16 ? "bf16" : dtype == DTCC_F16 ? "f16" : "f32"; }

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_OPERANDS_H
