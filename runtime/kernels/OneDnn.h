//===- OneDnn.h - Matrix products by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libdnnl is opened at start, not linked: a compiled program also runs where it
// is missing, on our own product. Its threads are libgomp's, so the rank's team.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ONEDNN_H
#define DTCC_RUNTIME_KERNELS_ONEDNN_H

#include "runtime/kernels/ProductProblem.h"

#include <cstddef>
#include <memory>

namespace dtcc::rt {

/// A product made once for its sizes and strides. The addresses come with each run.
class OneDnnProduct {
public:
  virtual ~OneDnnProduct() = default;
  /// Bytes that run() needs at `workspace`, aligned to 64.
  virtual size_t workspaceBytes() const = 0;
  /// `problem` has the sizes and strides of creation.
  virtual void run(const ProductProblem &problem, std::byte *workspace) = 0;
};

/// Null where oneDNN is missing or refuses. With `packed` (one matrix only: g = 1)
/// the right operand is first copied to the layout that oneDNN prefers.
/// Every dimension of the operands must have stride 1 in one of the last two
/// dimensions; a bias must be dense.
std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &problem, bool packed);

/// True if the library was found.
bool hasOneDnn();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ONEDNN_H
