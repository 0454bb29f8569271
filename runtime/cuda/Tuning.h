//===- Tuning.h - Algorithms of libraries by measurement ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--tune=FILE`. A library's heuristic proposes algorithms, at most with the workspace that
// is planned, for attention beside a kernel of ours; each is run where the command will run,
// before there are states, on zeros. A problem (sizes, types, strides, alignment, epilogue or
// mask, GPU, version of the library) is measured once, by the first rank that has it, and all
// ranks take its choice: what one rank adds up in another order the others must, too. The file
// keeps choices between runs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_TUNING_H
#define DTCC_RUNTIME_CUDA_TUNING_H

#include "runtime/collective/Communicator.h"
#include "runtime/cuda/CudaOp.h"
#include "runtime/cuda/Gpu.h"

#include <array>
#include <string>
#include <vector>

namespace dtcc::rt::cuda {

/// What the same version of a library takes again: of cublasLt a cublasLtMatmulAlgo_t.
using TunedAlgorithm = std::array<uint64_t, 8>;

/// A command whose algorithm can be chosen.
class TunableOp {
public:
  virtual ~TunableOp() = default;
  /// The library and its version.
  virtual std::string library() const = 0;
  /// All else that a choice depends on but the GPU, in one line.
  virtual const std::string &problem() const = 0;
  /// At most `most`, the likely best first, none with more workspace than is planned.
  virtual std::vector<TunedAlgorithm> algorithms(int most) = 0;
  /// False if the library does not take it here, or only with more workspace.
  virtual bool choose(const TunedAlgorithm &algorithm) = 0;
};

/// A command, the addresses of its operands, and its workspace.
struct TuningSite {
  TunableOp *tunable;
  CudaOp *op;
  std::vector<void *> buffers;
  void *workspace = nullptr;
};

/// Chooses the algorithms of all sites. `all`: the group of all ranks, each of which calls this; null: one rank. The
/// first reads and writes `file`. Throws Error if that is no such file, or cannot be written.
void tune(std::span<const TuningSite> sites, const std::string &file, Gpu &gpu, Rank &rank, Communicator *all);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_TUNING_H
