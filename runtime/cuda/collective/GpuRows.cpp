//===- GpuRows.cpp - Tokens to experts and back, between GPUs - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/GpuRows.h"

#include "runtime/core/Error.h"

namespace dtcc::rt::cuda {

RowShape RowShape::of(const dtcc_command &command, const Image &image) {
  auto operands = image.operands(command);
  const dtcc_view &rows = image.views()[operands[0]], &ids = image.views()[operands[1]];
  RowShape shape = {};
  shape.combines = command.op == DTCC_COMBINE_ROWS;
  shape.members = image.mesh().sizeOf(image.communicators()[command.communicator]);
  shape.picks = ids.sizes[ids.rank - 1];
  shape.tokens = elementCount(ids) / shape.picks / shape.members;
  shape.experts = image.attributes(command)[0];
  shape.columns = rows.sizes[rows.rank - 1];
  shape.type = static_cast<dtcc_dtype>(rows.dtype), shape.idType = static_cast<dtcc_dtype>(ids.dtype);
  shape.bound = command.attribute_count > 1 ? image.attributes(command)[1] : 0;
  return shape;
}

std::unique_ptr<GpuRows> GpuRows::bind(const RowShape &shape, Launcher &launcher) {
  if (shape.type != DTCC_F32 && shape.type != DTCC_BF16 && shape.type != DTCC_F16)
    fail("GPUs exchange rows of f32, bf16 or f16, got type: ", int(shape.type));
  return shape.bound > 0 ? bindPickedRows(shape, launcher) : bindTokenRows(shape, launcher);
}

GpuRows::GpuRows(const RowShape &shape, Launcher &launcher)
    : shape(shape), launcher(launcher), sends(static_cast<size_t>(shape.members)), receives(sends.size()),
      counts(2 * sends.size()) {}

int GpuRows::unitOf(const void *from, const void *to) const {
  int unit = 4;
  while (shape.rowBytes() % (int64_t{1} << unit) || !isAligned(from, uint64_t{1} << unit) ||
         !isAligned(to, uint64_t{1} << unit))
    --unit;
  return unit;
}

void GpuRows::run(Gpu &gpu, NcclCommunicator &group, CUstream stream, void *const *buffers) {
  const Call call{stream, buffers};
  auto bytes = [&](int operand) { return static_cast<std::byte *>(buffers[operand]); };
  int next = shape.combines ? 4 : 3;
  std::byte *packed = shape.combines && shape.bound > 0 ? nullptr : bytes(next++);
  const Run run{gpu,
                group,
                call,
                buffers[1],
                bytes(0),
                bytes(2),
                bytes(shape.combines ? 3 : 2),
                packed,
                reinterpret_cast<int32_t *>(bytes(next))};
  const int32_t *found = route(run);
  gpu.copyToHost(counts.data(), reinterpret_cast<CUdeviceptr>(found), counts.size() * sizeof(int32_t), stream);
  gpu.synchronize(stream);
  for (int32_t count : counts)
    if (count < 0)
      fail(gpu.where(), ": a router's pick must be one of ", shape.experts * shape.members, " experts");
  exchange(run);
}

} // namespace dtcc::rt::cuda
