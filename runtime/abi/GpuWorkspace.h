//===- GpuWorkspace.h - Scratch memory of library ops on GPUs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upper bounds in bytes of what ops ask of Call::workspace (runtime/cuda/driver/CudaOp.h). The
// compiler plans the largest of each stream as an arena, which the ops of a stream share; an
// op that reserves more is an error when a program starts. An exchange of rows has a buffer of its
// own: it runs beside the ops of another stream.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_GPUWORKSPACE_H
#define DTCC_RUNTIME_ABI_GPUWORKSPACE_H

#include <cstdint>

namespace dtcc::gpu_workspace {

/// The arena of a program that is nothing else.
inline constexpr const char *arenaName = "operations";

/// The arena of messages on their way between stages. For each communicator and receiver it holds as many pieces as
/// messages may be under way, each of the size of the largest message; for each sender it holds the
/// messages of the phase that receives most.
inline constexpr const char *messagesName = "messages";

/// A product by cublasLt: its algorithms are chosen among those that need no more.
inline constexpr int64_t productBytes = int64_t{32} << 20;
/// Besides, the gradient of a bias of n cells, which the library cannot add to another.
constexpr int64_t productSums(int64_t n) { return (4 * n + 255) / 256 * 256; }
/// A recurrent layer: its products, and behind them the floats that the reset gate leaves of a gru's state.
constexpr int64_t recurrence(int64_t resetCells) { return productBytes + 4 * resetCells; }
/// A sum of squares: a double a block.
inline constexpr int64_t sumSquaresBytes = 8 * 2048;

/// Pieces start at multiples of 256.
constexpr int64_t piece(int64_t bytes) { return (bytes + 255) / 256 * 256; }
/// Row numbers in two orders, and counts of 256 digits for each 1,024 rows.
constexpr int64_t sorted(int64_t rows) { return 2 * piece(4 * rows) + piece((rows + 1023) / 1024 * 256 * 4); }
/// Length of a segment of sorted rows that scatter_add adds up one by one (runtime/cuda/kernels/rows/Embedding.h). A
/// block has more segments where there are few columns, and shorter ones keep them in its shared memory.
constexpr int64_t scatterSegment(int64_t columns) { return columns <= 1 ? 16 : columns == 2 ? 32 : 64; }
/// Sorted rows, and on each level but the last two rows of partial sums and their keys for each segment.
constexpr int64_t scatterAdd(int64_t rows, int64_t columns) {
  const int64_t length = scatterSegment(columns);
  int64_t bytes = sorted(rows);
  for (int64_t segments = (rows + length - 1) / length; segments > 1; segments = (2 * segments + length - 1) / length)
    bytes += piece(8 * segments * columns) + piece(8 * segments);
  return bytes;
}
/// Sorted rows, where each group begins, and places of rows; of products that are added up, `cells` floats.
constexpr int64_t grouped(int64_t rows, int64_t groups, int64_t cells) {
  return sorted(rows) + piece(4 * (groups + 1)) + piece(4 * rows) + piece(4 * cells);
}
/// The gradient of attention by kernels of ours: a float for each query of each head.
constexpr int64_t attentionGrad(int64_t queries) { return 4 * queries; }

/// Attention by cuDNN, whose engines want more (tests/conformance/cudnn asks the library for it).
struct LibraryAttention {
  int64_t batch, queries, keys, kvHeads, groups, qkSize, vSize;

  /// Sizes of heads that it takes.
  constexpr bool fits() const { return qkSize % 8 == 0 && vSize % 8 == 0; }
  constexpr int64_t heads() const { return batch * kvHeads * groups; }
  /// An engine's own: it rounds rows up.
  static constexpr int64_t littleBytes = 4096;
  static constexpr int64_t rows(int64_t count) { return (count + 63) / 64 * 64; }
  /// The sums of dq in f32.
  constexpr int64_t sums() const { return piece(4 * heads() * rows(queries) * qkSize); }
  /// dk and dv of each head of queries, in halves, where several share a head of keys.
  constexpr int64_t shared() const {
    return groups == 1 ? 0 : piece(2 * heads() * rows(keys) * qkSize) + piece(2 * heads() * rows(keys) * vSize);
  }
  constexpr int64_t dots() const { return piece(attentionGrad(heads() * queries)); }
  constexpr int64_t forward() const { return littleBytes; }
  constexpr int64_t backward() const { return dots() + sums() + shared() + littleBytes; }
};
/// Four floats for each range of parameters with one decay and rate: at most two a state, and what is between.
constexpr int64_t update(int64_t states) { return 16 * (2 * states + 2); }
/// Sums of squares of n cells and of as many of their direction, in pieces of 65,536 cells of one of `states` tensors.
constexpr int64_t tensorSquares(int64_t n, int64_t states) { return 16 * (n / 65536 + states); }
/// A direction of LAMB: two floats of the step.
inline constexpr int64_t lambDirectionBytes = 8;
/// Sums by row and column of a share of n cells: the rows of a matrix are cut into parts, which leave a double for each
/// column. Parts are as long as they must be for this to suffice; 8 MiB hold parts enough to keep any GPU busy.
constexpr int64_t factorSquares(int64_t n) { return n < (int64_t{1} << 27) ? n / 16 : int64_t{8} << 20; }
/// A direction of Adafactor: a float for each matrix of the bucket, which has a row and a column at least among the
/// factors.
constexpr int64_t adafactorDirection(int64_t factors) { return factors / 2 * 4; }

/// The gradient of a convolution's kernel is a small matrix over a great depth: it is cut into so many parts that tiles
/// of 128 x 128 times parts fill a GPU, of depths that are worth it, and these are added up in their order. The same
/// on every GPU.
constexpr int64_t convolutionParts(int64_t groups, int64_t outputs, int64_t columns, int64_t depth) {
  constexpr int64_t enoughBlocks = 512, leastDepth = 512, mostBytes = int64_t{32} << 20;
  const int64_t tiles = groups * ((outputs + 127) / 128) * ((columns + 127) / 128);
  int64_t parts = tiles > 0 ? enoughBlocks / tiles : 1;
  if (parts > depth / leastDepth)
    parts = depth / leastDepth;
  if (const int64_t bytes = 4 * groups * outputs * columns; bytes > 0 && parts > mostBytes / bytes)
    parts = mostBytes / bytes;
  return parts < 1 ? 1 : parts;
}
constexpr int64_t convolutionKernelGrad(int64_t groups, int64_t outputs, int64_t columns, int64_t depth) {
  const int64_t parts = convolutionParts(groups, outputs, columns, depth);
  return parts > 1 ? 4 * parts * groups * outputs * columns : 0;
}

/// A convolution or a gradient of one by cuDNN, whose engines want more. `type`: bytes of an operand's cell.
/// tests/conformance/cudnn asks the library for it.
struct LibraryConvolution {
  int64_t samples, groups, inputs, outputs, imageCells, windowCells, resultCells, type;

  /// Partial sums and small tables of an engine.
  static constexpr int64_t engineBytes = int64_t{32} << 20;
  constexpr int64_t kernelCells() const { return groups * outputs * inputs * windowCells; }
  /// Engines for tensor cores first copy an image to one whose number of channels divides by 8.
  constexpr int64_t padded(int64_t channels, int64_t cells) const {
    return groups > 1 || type != 2 || channels % 8 == 0 ? 0 : piece(type * samples * cells * ((channels + 7) / 8 * 8));
  }
  /// The kernel in the order of the images.
  constexpr int64_t ordered() const { return piece(type * groups * outputs * ((inputs + 7) / 8 * 8) * windowCells); }
  constexpr int64_t engine() const {
    return engineBytes + ordered() + padded(inputs, imageCells) + padded(outputs, resultCells);
  }
  /// The kernel's gradient in the operands' type, for a result that is f32 or added up.
  constexpr int64_t kernelGrad() const { return piece(type * kernelCells()); }
  /// All that an op of any direction asks for.
  constexpr int64_t bytes() const { return engine() + kernelGrad(); }
};

} // namespace dtcc::gpu_workspace

#endif // DTCC_RUNTIME_ABI_GPUWORKSPACE_H
