//===- Exchange.h - What ranks send each other from GPUs ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Through the host: what a command sends is copied to the rank's mirror, the host's
// communicator does there what it does for processors, and the result is copied back. Slow,
// and right wherever the host's backends are: several ranks on one GPU, several machines,
// no NCCL. Results have the bits that processors get.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_EXCHANGE_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_EXCHANGE_H

#include "runtime/cuda/driver/Gpu.h"

namespace dtcc::rt::cuda {

/// Before the first step: room for the messages of a collective, send or receive.
void reserveExchange(Rank &rank, const dtcc_command &command);

/// A collective, send or receive after what stands on `stream`; the stream goes on when it is done, and the host
/// waits. `buffers`: the GPU's addresses of the operands.
void exchangeThroughHost(Gpu &gpu, Rank &rank, const dtcc_command &command, CUstream stream, void *const *buffers);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_EXCHANGE_H
