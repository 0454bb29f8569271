//===- Work.h - What a layer computes and sends, op by op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input of the cost model: work of one rank for one micro-batch, in local sizes.
// A compiled graph makes it op by op, Transformer.h from the dimensions of a model; both
// are priced by the same code. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_WORK_H
#define DTCC_PLANNER_COST_WORK_H

#include "planner/cost/Devices.h"
#include "planner/parallelism/Group.h"
#include "runtime/abi/Collectives.h"
#include <algorithm>

namespace dtcc::cost {

/// Products that a training step makes for each product of its forward pass: the backward pass makes two, one for the
/// gradient of each factor.
inline constexpr double kProductsInStep = 3;

/// `count` products of [m, k] by [k, n]; of `groups`, the rows are shared out to that many [k, n], which
/// run at once, started one by one unless they are `together`.
struct Gemm {
  double m = 0, n = 0, k = 0, count = 1;
  Width width = Width::B16;
  double groups = 1;
  /// Rows of its matrices start at multiples of 16 bytes, whatever their length.
  bool alignedRows = false;
  /// Bytes that a product reads and writes if its sizes do not say them; 0: they do.
  double bytes = 0;
  /// All of them are one kernel, whose tiles fill the device together.
  bool together = false;
};

/// Products and softmax; FlashAttention, its first version (Triton's) or its second; the makers' own.
enum class AttentionKernel { Plain, FlashFirst, Flash, Tuned };

/// `heads` counts those of all samples.
struct Attention {
  double heads = 0, queries = 0, keys = 0, headSize = 0;
  bool causal = true, backward = false;
  AttentionKernel kernel = AttentionKernel::Flash;
};

/// `bytes`: of the larger side of the collective on a rank.
struct Transfer {
  CollectiveKind kind = CollectiveKind::AllReduce;
  double bytes = 0;
  Group group;
  /// Share that runs beside computation.
  double hidden = 0;
  /// Number of copies of a row in an all-to-all, for ranks drawn at random. Copies for one node cross the network once.
  double copies = 1;
};

/// An exchange of activations, and the product that makes what it sums or reads what it gathers: both can be cut into
/// parts that share `rows` out equally (ExchangeChunks.h).
struct ChunkedExchange {
  Gemm product;
  /// Seconds of the whole exchange. Of these, `start` does not shrink with the bytes, and `copies` brings pieces that
  /// are no ranges of memory together; parts of one row have ranges.
  double seconds = 0, start = 0, copies = 0;
  int64_t rows = 1;
  /// Bytes that kernels move besides if the parts are not ranges of the whole.
  double apartBytes = 0;
};

struct Work {
  std::vector<Gemm> gemms;
  std::vector<Attention> attentions;
  /// Bytes of the values between products, each read by all of its readers and written: what kernels move is estimated.
  double streamBytes = 0;
  /// Bytes that kernels between products read and write, where it is known which values they keep to themselves.
  double kernelBytes = 0;
  /// Values cast to a narrow type.
  double castValues = 0;
  /// Logits of a loss.
  double logits = 0;
  /// Bytes that go to the host or come from it beside the computation.
  double hostBytes = 0;
  std::vector<Transfer> transfers;
  /// Seconds of exposed communication that was priced when it was planned.
  double exchangeSeconds = 0;
  /// The part of it that other work may run beside (Software::filledExchanges).
  double fillableSeconds = 0;
  /// The part of it that may be cut (Software::chunksExchanges).
  std::vector<ChunkedExchange> chunked;
};

/// A matrix that is orthogonalized by `steps` of Newton and Schulz (Jordan et al. 2024, "Muon"), each of three products
/// of bf16. `stepFlops`: those of a step.
struct Orthogonalized {
  double rows = 0, columns = 0, steps = 0, stepFlops = 0;
};

/// Matrices whose directions the optimizer orthogonalizes whole (Muon), by what one rank does if it has all of them:
/// their number and elements, FLOP of products, and seconds of all their kernels.
struct OrthogonalMatrices {
  double count = 0, cells = 0, flops = 0, seconds = 0;
  /// FLOP of the largest matrix of all, and of the largest of each layer, added up.
  double largest = 0, largestOfLayers = 0;
  void add(const OrthogonalMatrices &other, double times) {
    count += times * other.count;
    cells += times * other.cells;
    flops += times * other.flops;
    seconds += times * other.seconds;
    largest = std::max(largest, other.largest);
    largestOfLayers += times * other.largestOfLayers;
  }
};

/// A layer, as often as a stage has it.
struct Layer {
  Work forward, inputGradient, weightGradient;
  /// Part of the forward pass that is recomputed for the backward pass.
  Work recompute;
  /// Elements of parameters that a rank holds, before ZeRO.
  double parameters = 0;
  /// Parameters of experts, which other groups of ranks share (Parallel::ofExperts). Not a part of `parameters`.
  double expertParameters = 0;
  /// Matrices among the parameters that are orthogonalized whole.
  OrthogonalMatrices matrices = {};
  /// Activations that go to the layer behind it, of a micro-batch and rank: a message where a stage ends with it.
  double leavingBytes = 0;
  double count = 1;
  /// Passes that a host issues, each at least as long as it takes it; 0: part of another layer.
  double passes = 1;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_WORK_H
