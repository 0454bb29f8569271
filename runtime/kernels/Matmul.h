//===- Matmul.h - Matrix products over the threads of a rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses once, when a command is bound, between oneDNN on plain operands, oneDNN
// on a copy of the right one and our own product. README.md has the measurements
// behind the choice.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_MATMUL_H
#define DTCC_RUNTIME_KERNELS_MATMUL_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/OneDnn.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

/// How a product is computed.
enum class ProductMethod { OneDnnPacked, OneDnnPlain, Own };

/// The workspace, in bytes, with which the fastest method runs; the compiler plans it
/// by the same formula (LibraryOps.def). It is what a copy of a row-major right
/// operand takes whose rows are a multiple of 4 KiB apart: such rows fall into the
/// same sets of the caches, and oneDNN loses a sixth of its speed on them. Other
/// products need none.
size_t matmulWorkspaceBytes(const ProductProblem &problem);

class Matmul {
public:
  /// Plans `problem`, of which only addresses may change later (whether there is a
  /// bias may not). `workspaceBytes`: what run() may use, 0 is legal. `scratch` is grown.
  /// To be called by the thread that runs it: oneDNN plans for its team.
  Matmul(const ProductProblem &problem, size_t workspaceBytes, const VectorKernels &kernels, TeamScratch &scratch);

  /// The addresses of `problem`, everything else as planned. `workspace` is aligned to 64.
  void run(ThreadTeam &team, const TeamScratch &scratch, const ProductProblem &problem, std::byte *workspace) const;

  ProductMethod method() const { return chosen; }

private:
  /// The problem after merging and transposing; its addresses are stale.
  ProductProblem planned;
  bool transposed = false; // out^T = rhs^T lhs^T is computed instead
  const VectorKernels &kernels;
  std::unique_ptr<OneDnnProduct> library;
  ProductMethod chosen = ProductMethod::Own;
};

/// Computes `problem` by our own product alone: deterministic for any number of
/// threads. `scratch` holds productScratch floats a thread.
void ownProduct(ThreadTeam &team, const VectorKernels &kernels, const ProductProblem &problem,
                const TeamScratch &scratch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_MATMUL_H
