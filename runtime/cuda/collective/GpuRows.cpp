//===- GpuRows.cpp - Tokens to experts and back, between GPUs - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/GpuRows.h"

#include "runtime/core/Error.h"

namespace dtcc::rt::cuda {

std::unique_ptr<GpuRows> GpuRows::bind(const RowExchange &exchange, Launcher &launcher) {
  if (exchange.type != DTCC_F32 && exchange.type != DTCC_BF16 && exchange.type != DTCC_F16)
    fail("GPUs exchange rows of f32, bf16 or f16, got type: ", int(exchange.type));
  return exchange.isBounded() ? bindPickedRows(exchange, launcher) : bindTokenRows(exchange, launcher);
}

GpuRows::GpuRows(const RowExchange &exchange, Launcher &launcher)
    : exchange(exchange), launcher(launcher), sends(static_cast<size_t>(exchange.members)), receives(sends.size()),
      counts(2 * sends.size()) {}

int GpuRows::unitOf(const void *from, const void *to) const {
  int unit = 4;
  while (exchange.rowBytes() % (int64_t{1} << unit) || !isAligned(from, uint64_t{1} << unit) ||
         !isAligned(to, uint64_t{1} << unit))
    --unit;
  return unit;
}

void GpuRows::run(Gpu &gpu, NcclCommunicator &group, CUstream stream, void *const *buffers) {
  const Call call{stream, buffers};
  const RowOperands places(exchange.combines, exchange.isBounded(), /*isForGpus=*/true);
  auto bytes = [&](size_t operand) { return static_cast<std::byte *>(buffers[operand]); };
  const Run run{gpu,
                group,
                call,
                buffers[places.picks],
                bytes(places.rows),
                bytes(places.out),
                bytes(places.returned()),
                places.isPacked ? bytes(places.packed()) : nullptr,
                reinterpret_cast<int32_t *>(bytes(places.lists()))};
  const int32_t *found = route(run);
  gpu.copyToHost(counts.data(), reinterpret_cast<CUdeviceptr>(found), counts.size() * sizeof(int32_t), stream);
  gpu.synchronize(stream);
  for (int32_t count : counts)
    if (count < 0)
      fail(gpu.where(), ": a router's pick must be one of ", exchange.experts * exchange.members, " experts");
  move(run);
}

} // namespace dtcc::rt::cuda
