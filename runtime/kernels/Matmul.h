//===- Matmul.h - Matrix products over the threads of a rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses once, when a command is bound, between oneDNN, a BLAS and our own product: by a rule,
// for which README.md has the measurements, or as a measurement on this machine says (--tune).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_MATMUL_H
#define DTCC_RUNTIME_KERNELS_MATMUL_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/blas/BlasLibrary.h"
#include "runtime/kernels/onednn/OneDnnProduct.h"
#include "runtime/kernels/vector/VectorKernels.h"

#include <optional>

namespace dtcc::rt {

/// Implementation that computes a product.
enum class ProductMethod { OneDnn, OneDnnPacked, OpenBlas, Mkl, Own };

/// A method and its name in files of choices (runtime/tuning/Choices.h).
struct ProductMethodName {
  ProductMethod method;
  const char *name;
};
inline constexpr ProductMethodName productMethodNames[] = {{ProductMethod::OneDnn, "onednn"},
                                                           {ProductMethod::OneDnnPacked, "onednn-packed"},
                                                           {ProductMethod::OpenBlas, "openblas"},
                                                           {ProductMethod::Mkl, "mkl"},
                                                           {ProductMethod::Own, "ours"}};

class Matmul {
public:
  /// Plans `problem`, of which only addresses may change later (whether there is a
  /// bias may not), by the method of the rule, or by `wanted` if that is possible. Reserves what it needs of `scratch`.
  /// Must be called by the thread that runs the product, because oneDNN plans for the team of that thread.
  Matmul(const ProductProblem &problem, const VectorKernels &kernels, TeamScratch &scratch,
         std::optional<ProductMethod> wanted = std::nullopt);

  /// The addresses of `problem`, everything else as planned.
  void run(ThreadTeam &team, const TeamScratch &scratch, const ProductProblem &problem) const;

  ProductMethod method() const { return chosen; }

private:
  /// Makes what computes the planned problem by a library. False if our own product must, or is meant.
  bool take(ProductMethod method, TeamScratch &scratch);

  /// The problem after merging and transposing; its addresses are stale.
  ProductProblem planned;
  bool transposed = false; // out^T = rhs^T lhs^T is computed instead
  const VectorKernels &kernels;
  std::unique_ptr<OneDnnProduct> oneDnn;
  Sgemm sgemm = nullptr; // of a BLAS
  ProductMethod chosen = ProductMethod::Own;
};

/// Computes `problem` by our own product alone: deterministic for any number of
/// threads. `scratch` holds productScratch floats a thread.
void ownProduct(ThreadTeam &team, const VectorKernels &kernels, const ProductProblem &problem,
                const TeamScratch &scratch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_MATMUL_H
