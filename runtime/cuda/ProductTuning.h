//===- ProductTuning.h - Algorithms of products by measurement - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--tune=FILE`. The library's heuristic proposes algorithms, at most with the workspace that
// is planned; each is run where the product will run, before there are states, on zeros. A
// problem (sizes, types, strides, alignment, epilogue, GPU, version of the library) is
// measured once, by the first rank that has it, and all ranks take its choice: what one
// rank adds up in another order the others must, too. The file keeps choices between runs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_PRODUCTTUNING_H
#define DTCC_RUNTIME_CUDA_PRODUCTTUNING_H

#include "runtime/collective/Communicator.h"
#include "runtime/cuda/CudaOp.h"
#include "runtime/cuda/Gpu.h"

#include <array>
#include <string>
#include <vector>

namespace dtcc::rt::cuda {

/// cublasLtMatmulAlgo_t, which the same version of the library takes again (cublasLt.h).
using ProductAlgorithm = std::array<uint64_t, 8>;

/// A product whose algorithm can be chosen.
class TunableProduct {
public:
  virtual ~TunableProduct() = default;
  /// All that a choice depends on but the GPU and the library, in one line.
  virtual const std::string &problem() const = 0;
  /// At most `most`, the likely best first, none with more workspace than is planned.
  virtual std::vector<ProductAlgorithm> algorithms(int most) = 0;
  /// False if the library does not take it here, or only with more workspace.
  virtual bool choose(const ProductAlgorithm &algorithm) = 0;
};

/// A product and the addresses of its operands.
struct TuningSite {
  TunableProduct *product;
  CudaOp *op;
  std::vector<void *> buffers;
};

/// Chooses the algorithms of all sites. `all`: the group of all ranks, each of which calls this; null: one rank. The
/// first reads and writes `file`. Throws Error if that is no such file, or cannot be written.
void tuneProducts(std::span<const TuningSite> sites, const std::string &file, Gpu &gpu, Rank &rank, void *workspace,
                  Communicator *all);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_PRODUCTTUNING_H
