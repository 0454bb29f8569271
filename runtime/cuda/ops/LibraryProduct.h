//===- LibraryProduct.h - A product by cublasLt
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library's matrices lie by columns. Where rows of a result are adjacent it is the
// transpose that is computed, out' = rhs' lhs': a bias then is along the library's rows, which
// is where cublasLt adds one (CUBLASLT_EPILOGUE_BIAS), and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_LIBRARYPRODUCT_H
#define DTCC_RUNTIME_CUDA_OPS_LIBRARYPRODUCT_H

#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/cuda/ops/ProductCommand.h"

#include <string>
#include <vector>

namespace dtcc::rt::cuda {

/// An operand of a product, rank 3 or a vector, and where it lies.
struct ProductView {
  dtcc_view view;
  uint64_t offset; // from an address that is aligned to 256 bytes
};

/// The greatest power of two, at most 256, that divides the address of the view in every slot and batch.
uint64_t alignmentOf(const ProductView &of);

std::vector<ProductView> productViews(const CheckedOperands &operands, const Rank &rank);

/// The library and its version.
std::string productLibrary();
/// All that a product's time depends on, in one line: sizes, types, strides, alignment, what is added and what follows.
std::string textOf(const ProductCommand &command, const std::vector<ProductView> &views, const Rank &rank);

/// The command as one call of cublasLt, its algorithm chosen by the library's heuristic. Null where the library is not
/// there or has no algorithm for these types, strides and epilogue.
std::unique_ptr<CudaOp> bindLibraryProduct(const ProductCommand &command, std::vector<ProductView> views, Rank &rank,
                                           Launcher &launcher);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_LIBRARYPRODUCT_H
