//===- OneDnnProduct.h - Matrix products by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is made once for its sizes and strides, in the bind phase of a program,
// and run each step. oneDNN adds the products of a sum one after the other, so a long
// sum is made of several products, each added to what is there. Copies of operands in
// the library's own order cost some 3 % of a product of a thousand rows, and spare more
// where rows of an operand crowd into few sets of the caches.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNPRODUCT_H
#define DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNPRODUCT_H

#include "runtime/kernels/vector/ProductProblem.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <string>

namespace dtcc::rt {

/// The place where the library reads the operands: as they lie, or from copies in the order of its choice.
enum class OneDnnOperands { InPlace, Packed };

/// A product made once for its sizes and strides. The addresses come with each run.
class OneDnnProduct {
public:
  virtual ~OneDnnProduct() = default;
  /// Bytes that run() needs: about 1 MiB for the threads' tiles, more with more threads, and the packed copies.
  virtual size_t scratchBytes() const = 0;
  /// `problem` has the sizes and strides of creation; `scratch` is aligned to 64.
  virtual void run(const ProductProblem &problem, std::byte *scratch) = 0;
};

/// No sum of the library is longer than `longestSum` products, where it is given.
/// Null where oneDNN is missing or refuses. One of the last two strides of each
/// operand must be 1; a bias must be dense.
std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &problem,
                                                   OneDnnOperands operands = OneDnnOperands::InPlace,
                                                   int64_t longestSum = std::numeric_limits<int64_t>::max());

/// True if the library was found.
bool hasOneDnn();
/// The library and its version, for files of choices; "no oneDNN" where it is missing.
std::string oneDnnText();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNPRODUCT_H
