//===- WinogradProblem.h - A convolution in tiles of 2 x 2 cells -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plain description, without functions: it is read by code of every instruction set (see
// vector/Simd.h). window/Winograd.h says what is computed.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_WINOGRADPROBLEM_H
#define DTCC_RUNTIME_KERNELS_VECTOR_WINOGRADPROBLEM_H

#include <stdint.h>

namespace dtcc::rt {

/// x [samples, inputs, image] is read and y [samples, outputs, result] written, or both are read for the gradient of
/// the kernels. `low` cells of padding stand before an image along each dimension.
struct WinogradProblem {
  int64_t samples, inputs, outputs;
  int64_t image[2], result[2], low[2];
  int64_t tileRows, tileColumns; // of 2 x 2 cells of a result
  bool turned; // transformed kernels are [16, inputs, outputs] and turned by half: a gradient of images
};

/// Rows of tiles of all samples, and channels that are written.
struct WinogradPart {
  int64_t firstRow, rows, firstOutput, outputs;
};

/// Channels that are read and written, at most winogradChannels each, and the rows of tiles that are summed up.
struct WinogradKernelPart {
  int64_t firstRow, rows, firstInput, inputs, firstOutput, outputs;
};

/// Values of a tile in the transformed space.
constexpr int64_t winogradPositions = 16;
/// Channels whose products stand in scratch memory at a time, before they are transformed to results.
constexpr int64_t winogradOutputs = 48;
/// Tiles of a panel of transformed images, which products read from end to end: as many as a register block has.
constexpr int64_t winogradPanel = 64;
/// Most input and output channels of a part of the kernels' gradient, and most tiles whose products are summed at once
/// (or a row of them).
constexpr int64_t winogradChannels = 64, winogradDepth = 128;
/// Sums of a part of the kernels' gradient: [position, output, input].
constexpr int64_t winogradSums = winogradPositions * winogradChannels * winogradChannels;

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_WINOGRADPROBLEM_H
