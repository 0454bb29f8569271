//===- GradSquaresLaunch.cpp - Squares of the gradients that an update has
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/updates/GradSquaresLaunch.h"

namespace dtcc::rt::cuda {

GradSquaresLaunch::GradSquaresLaunch(const BucketSegments &segments, int64_t communicator, dtcc_dtype type,
                                     const Rank &rank, Launcher &launcher) {
  if (!rank.gradSquaresOnGpu.found)
    return;
  std::vector<GradPiece> pieceTable;
  std::vector<GradTensor> tensorTable;
  for (const TensorRange &range : segments.ranges) {
    const dtcc_segment &segment = *segments.all[static_cast<size_t>(range.tensor)];
    if (!ownsCells(rank.image.mesh(), shareLayout(segment, rank, communicator), rank.coordinates.data()))
      continue;
    auto first = static_cast<int64_t>(pieceTable.size());
    for (int64_t begin = range.begin; begin < range.end; begin += gradSquaresPiece)
      pieceTable.push_back({begin, std::min(begin + gradSquaresPiece, range.end)});
    tensorTable.push_back({first, static_cast<int64_t>(pieceTable.size()), segment.state});
  }
  if (pieceTable.empty())
    return;
  pieces = Kernel(launcher, "GradSquares", "grad_squares_pieces");
  tensors = Kernel(launcher, "GradSquares", "grad_squares_tensors");
  pieceCount = static_cast<int64_t>(pieceTable.size());
  p.type = static_cast<int32_t>(type);
  p.pieces = upload(launcher, pieceTable);
  p.tensors = upload(launcher, tensorTable);
  p.tensorCount = static_cast<int64_t>(tensorTable.size());
  p.partial = const_cast<double *>(upload(launcher, std::vector<double>(pieceTable.size())));
  p.ofState = rank.gradSquaresOnGpu.found + GradSquaresOnGpu::ofState;
}

void GradSquaresLaunch::run(const Rank &rank, const Call &call, const void *grad) const {
  if (pieceCount == 0)
    return;
  GradSquaresOfShare here = p;
  here.grad = grad;
  Call asked = call;
  asked.predicate = rank.gradSquaresOnGpu.isAsked;
  pieces(asked, pieceCount, gradSquaresThreads, here);
  tensors(asked, partsOf(p.tensorCount, gradSquaresThreads), gradSquaresThreads, here);
}

} // namespace dtcc::rt::cuda
