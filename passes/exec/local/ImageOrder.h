//===- ImageOrder.h - The order of cells that lie with their channels last
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image is a value [n, c.., s..]: n samples, one or more dimensions of channels (groups and factors of a number of
// channels are dimensions of their own), and one or more dimensions of cells. With its channels last it is [n, s..,
// c..]. How many of its dimensions are channels is no part of a type, so it goes along with the value.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_IMAGEORDER_H
#define DTCC_PASSES_EXEC_LOCAL_IMAGEORDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace dtcc::exec {

/// Dimension i of the image with its channels last is dimension permutation[i] of the image.
llvm::SmallVector<int64_t> permutationOf(int64_t rank, int64_t channels);
template <typename T> llvm::SmallVector<T> permuted(llvm::ArrayRef<T> values, llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<T> result;
  for (int64_t from : permutation)
    result.push_back(values[from]);
  return result;
}

/// Dimensions of channels of `to`, a reshape of an image of sizes `from` that has `channels` of them, if channels stay
/// channels and cells stay cells. Where sizes of 1 leave a choice it is `wanted`, else as few as possible.
std::optional<int64_t> channelsOfReshape(llvm::ArrayRef<int64_t> from, int64_t channels, llvm::ArrayRef<int64_t> to,
                                         std::optional<int64_t> wanted);

/// Images by the dimensions of channels with which convolutions read them, or values that are images just as they are.
using WantedImages = llvm::DenseMap<mlir::Value, int64_t>;

/// The values of the block from which convolutions of 16-bit images compute, by way of ops that keep cells in their
/// order. A product or a transpose that makes such a value may as well make it with its channels last.
WantedImages findWantedImages(mlir::Block &block);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_IMAGEORDER_H
