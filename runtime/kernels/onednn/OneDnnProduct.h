//===- OneDnnProduct.h - Matrix products by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is made once for its sizes and strides, in the bind phase of a program,
// and run each step.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNPRODUCT_H
#define DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNPRODUCT_H

#include "runtime/kernels/vector/ProductProblem.h"

#include <cstddef>
#include <memory>

namespace dtcc::rt {

/// A product made once for its sizes and strides. The addresses come with each run.
class OneDnnProduct {
public:
  virtual ~OneDnnProduct() = default;
  /// Bytes that run() needs for the threads' tiles: about 1 MiB, more with more threads.
  virtual size_t scratchBytes() const = 0;
  /// `problem` has the sizes and strides of creation; `scratch` is aligned to 64.
  virtual void run(const ProductProblem &problem, std::byte *scratch) = 0;
};

/// Null where oneDNN is missing or refuses. One of the last two strides of each
/// operand must be 1; a bias must be dense.
std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &problem);

/// True if the library was found.
bool hasOneDnn();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNPRODUCT_H
