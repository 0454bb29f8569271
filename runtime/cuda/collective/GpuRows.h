//===- GpuRows.h - Tokens to experts and back, between GPUs --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU form of RowExchange.h: rows stay on GPUs, and results have the same bits.
// How many go where follows from the picks, which lie on the GPU, and NCCL wants counts
// from the host: it waits for two integers a member, nothing else of an exchange.
//
// Rows for a member are packed into one piece, as many as it has room for
// (RowSizes::rowsOfRound), in as many rounds as the longest list takes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_GPUROWS_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_GPUROWS_H

#include "runtime/abi/Collectives.h"
#include "runtime/collective/RowExchange.h"
#include "runtime/cuda/collective/Nccl.h"
#include "runtime/cuda/driver/Gpu.h"
#include "runtime/cuda/ops/Launch.h"

#include <vector>

namespace dtcc::rt::cuda {

class GpuRows {
public:
  static bool takes(const dtcc_command &command) {
    return command.kind == DTCC_COLLECTIVE && collectiveInfo(command.op).traffic == Traffic::ToPicked;
  }
  /// Called in the bind phase. Throws Error for rows that are neither f32 nor of a 16-bit type.
  static std::unique_ptr<GpuRows> bind(const RowExchange &exchange, Launcher &launcher);
  virtual ~GpuRows() = default;

  /// After what stands on `stream`, which `group` uses. `buffers`: the GPU's addresses of the operands. Throws Error
  /// for a pick that is no expert.
  /// Operands are those of Collectives.def.
  void run(Gpu &gpu, NcclCommunicator &group, CUstream stream, void *const *buffers);

protected:
  GpuRows(const RowExchange &exchange, Launcher &launcher);

  struct Run {
    Gpu &gpu;
    NcclCommunicator &group;
    const Call &call;
    const void *ids;
    std::byte *in, *out, *received, *packed; /* received: as rows come in, before they are spread or summed */
    int32_t *lists;
  };
  /// Numbers the rows that go out and those that come in. Returns the address of their counts.
  virtual const int32_t *route(const Run &run) = 0;
  /// Moves the rows, whose counts are known.
  virtual void move(const Run &run) = 0;

  std::span<const int32_t> outgoing() const { return std::span(counts).first(counts.size() / 2); }
  std::span<const int32_t> incoming() const { return std::span(counts).last(counts.size() / 2); }
  /// Logarithm of the bytes that kernels move at a time, which rows and both addresses are multiples of.
  int unitOf(const void *from, const void *to) const;

  const RowExchange exchange;
  Launcher &launcher;
  std::vector<NcclCommunicator::Piece> sends, receives;

private:
  std::vector<int32_t> counts; /* of rows to each member, then from each */
};

/// The exchange whose rows have the places of all members' tokens.
std::unique_ptr<GpuRows> bindTokenRows(const RowExchange &exchange, Launcher &launcher);
/// The exchange whose rows are those of kept picks, with a bound (--moe-capacity).
std::unique_ptr<GpuRows> bindPickedRows(const RowExchange &exchange, Launcher &launcher);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_GPUROWS_H
