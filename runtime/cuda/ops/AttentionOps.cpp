//===- AttentionOps.cpp - Attention as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Copy.h"
#include "runtime/cuda/kernels/attention/Attention.h"
#include "runtime/cuda/ops/LibraryAttention.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/ops/AttentionCommand.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>

namespace dtcc::rt::cuda {
namespace {

/// The kernels for heads of up to `size` cells, and how they are launched.
struct AttentionKernels {
  Kernel forward, dots, queries, keys, emptyRows, fill;
  int size = 0;
  int tile = attentionTile, threads = 0; // rows and threads of a block
  int64_t forwardBytes = 0, backwardBytes = 0;
};

HeadTensor headTensor(const AttentionTensor &x, dtcc_dtype half) {
  HeadTensor result = {x.data, {}, x.isHalf ? half : DTCC_F32};
  std::copy(std::begin(x.strides), std::end(x.strides), result.strides);
  return result;
}

Attention parametersOf(const AttentionProblem &p, dtcc_dtype half) {
  Attention result = {};
  result.batch = p.batch, result.queries = p.queries, result.keys = p.keys;
  result.kvHeads = p.kvHeads, result.groups = p.groups, result.qkSize = p.qkSize, result.vSize = p.vSize;
  result.q = headTensor(p.q, half), result.k = headTensor(p.k, half), result.v = headTensor(p.v, half);
  result.out = headTensor(p.out, half), result.dout = headTensor(p.dout, half), result.lse = headTensor(p.lse, half);
  result.dq = headTensor(p.dq, half), result.dk = headTensor(p.dk, half), result.dv = headTensor(p.dv, half);
  result.keyMask = p.keyMask;
  std::copy(std::begin(p.keyMaskStrides), std::end(p.keyMaskStrides), result.keyMaskStrides);
  result.rowSegments = p.segments.rows, result.keySegments = p.segments.keys;
  std::copy(std::begin(p.segments.rowStrides), std::end(p.segments.rowStrides), result.rowSegmentStrides);
  std::copy(std::begin(p.segments.keyStrides), std::end(p.segments.keyStrides), result.keySegmentStrides);
  result.scale = p.scale, result.softcap = p.softcap;
  result.causal = p.causal, result.firstQuery = p.firstQuery, result.causalOffset = p.causalOffset;
  result.windowLeft = p.windowLeft, result.windowRight = p.windowRight;
  result.emptyRow = static_cast<int32_t>(p.emptyRow);
  result.continues = p.continues, result.keysBefore = p.keysBefore, result.keysElsewhere = p.keysElsewhere;
  return result;
}

/// Whether some query may see no key, as far as the mask's form says; the cells of a mask are not read.
bool mayHaveEmptyRows(const AttentionProblem &p) {
  return p.keyMask || p.segments.keys || p.windowLeft >= 0 || p.windowRight >= 0 ||
         (p.causal && p.firstQuery + p.causalOffset < 0);
}

class LaunchSolver final : public AttentionCommand::Solver {
public:
  LaunchSolver(const AttentionCommand &command, const AttentionKernels &kernels, const Call &call)
      : command(command), kernels(kernels), call(call) {}

  void solve(const AttentionProblem &problem) override {
    Attention p = parametersOf(problem, command.type());
    const int64_t heads = p.batch * p.kvHeads, rows = heads * p.groups * p.queries;
    const int64_t queryBlocks = heads * p.groups * partsOf(p.queries, kernels.tile);
    auto shape = [&](int64_t blocks, int64_t bytes) {
      return LaunchShape{{static_cast<unsigned>(blocks), 1, 1},
                         {static_cast<unsigned>(kernels.threads), 1, 1},
                         static_cast<unsigned>(bytes)};
    };
    if (!command.backward)
      return kernels.forward(call, shape(queryBlocks, kernels.forwardBytes), p);
    p.dots = at<float>(call, 0);
    kernels.dots(call, partsOf(rows, attentionRowThreads / 32), attentionRowThreads, p);
    kernels.queries(call, shape(queryBlocks, kernels.backwardBytes), p);
    kernels.keys(call, shape(heads * partsOf(p.keys, kernels.tile), kernels.backwardBytes), p);
    if (problem.emptyRow != EmptyRow::Zero && mayHaveEmptyRows(problem))
      kernels.emptyRows(call, heads, attentionRowThreads, p);
  }

  void fill(const AttentionTensor &tensor, const std::array<int64_t, 5> &sizes, float value) override {
    StridedBox box = {};
    box.to = tensor.data, box.rank = 5, box.units = 1;
    for (size_t d = 0; d < 5; ++d) {
      box.sizes[d] = sizes[d], box.units *= sizes[d];
      box.toStrides[d] = tensor.strides[d] * static_cast<int64_t>(sizeof(float));
    }
    box.setDivisions();
    box.pattern[0] = std::bit_cast<uint32_t>(value);
    kernels.fill(call, partsOf(box.units, copyThreads), copyThreads, box);
  }

private:
  const AttentionCommand &command;
  const AttentionKernels &kernels;
  const Call &call;
};

class AttentionOp final : public CudaOp {
public:
  AttentionOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher, bool backward, bool isPart)
      : command(operands, rank, backward, isPart) {
    const AttentionProblem &p = command.problem();
    const bool mma = suitsTensorCores(operands, rank);
    const int64_t head = std::max(p.qkSize, p.vSize);
    const std::span<const int> sizes = mma ? std::span<const int>(mmaSizes) : std::span<const int>(attentionSizes);
    const auto fits = std::find_if(sizes.begin(), sizes.end(), [&](int size) { return head <= size; });
    if (fits == sizes.end())
      operands.reject("sizes of heads must be at most ", sizes.back(), " on GPUs, got: ", head);
    kernels.size = *fits;
    kernels.tile = mma ? mmaRows : attentionTile;
    kernels.threads = mma ? mmaThreads : attentionThreads(kernels.size);
    kernels.forwardBytes = mma ? mmaForwardBytes(kernels.size) : attentionForwardBytes(p.qkSize, p.vSize);
    kernels.backwardBytes = mma ? mmaBackwardBytes(kernels.size) : attentionBackwardBytes(p.qkSize, p.vSize);
    auto kernel = [&](const char *module, const char *name, int64_t sharedBytes) {
      std::string size = std::to_string(kernels.size);
      return Kernel(launcher, (mma ? "AttentionMma" + size + typeName(command.type()) : module + size).c_str(), name,
                    sharedBytes);
    };
    if (isPart)
      kernels.fill = Kernel(launcher, "Copy", "fill_4");
    if (!backward) {
      kernels.forward = kernel("AttentionForward", "attention_forward", kernels.forwardBytes);
      return;
    }
    kernels.dots = Kernel(launcher, "AttentionRows", "attention_dots");
    kernels.emptyRows = Kernel(launcher, "AttentionRows", "attention_empty_rows");
    kernels.queries = kernel("AttentionBackward", "attention_queries", kernels.backwardBytes);
    kernels.keys = kernel("AttentionBackward", "attention_keys", kernels.backwardBytes);
    launcher.reserveWorkspace(static_cast<uint64_t>(p.batch * p.kvHeads * p.groups * p.queries) * sizeof(float));
  }

  void run(Rank &rank, const Call &call) override {
    LaunchSolver solver(command, kernels, call);
    command.run(rank, call.buffers, solver);
  }

private:
  /// Whether tensor cores take the problem: halves whose rows are whole units of 16 bytes.
  bool suitsTensorCores(const CheckedOperands &operands, const Rank &rank) const {
    const AttentionProblem &p = command.problem();
    if (command.type() == DTCC_F32 || p.softcap > 0 || p.qkSize % 8 || p.vSize % 8 ||
        std::max(p.qkSize, p.vSize) > mmaSizes[std::size(mmaSizes) - 1])
      return false;
    for (size_t i = 0; i < operands.operandCount(); ++i) {
      const dtcc_view &view = operands.operand(i);
      const bool isHead = view.rank == 5 || (view.rank == 4 && view.dtype == command.type());
      if (!isHead)
        continue; // a mask, or sums of f32
      if (view.strides[view.rank - 1] != 1 || rank.offset(operands.viewIndex(i)) % 16 || view.slot_stride % 16)
        return false;
      for (int d = 0; d + 1 < view.rank; ++d)
        if (strideOf(view, d) % 8)
          return false;
    }
    // Sums of parts, which are f32, lie in rows too.
    for (const AttentionTensor *tensor : {&p.dk, &p.dv})
      if (command.backward && tensor->strides[3] != 1)
        return false;
    return true;
  }

  AttentionCommand command;
  AttentionKernels kernels;
};

/// Binds attention to cuDNN if it supports the command, else to our own kernels.
std::unique_ptr<CudaOp> bindAttention(const CheckedOperands &operands, Rank &rank, Launcher &launcher, bool backward) {
  auto makeOwn = [operands, &rank, &launcher, backward]() -> std::unique_ptr<CudaOp> {
    return std::make_unique<AttentionOp>(operands, rank, launcher, backward, /*isPart=*/false);
  };
  if (std::unique_ptr<CudaOp> library = bindLibraryAttention(operands, rank, launcher, backward, makeOwn))
    return library;
  return makeOwn();
}

} // namespace

template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_ATTENTION>(const CheckedOperands &operands, Rank &rank,
                                                       Launcher &launcher) {
  return bindAttention(operands, rank, launcher, /*backward=*/false);
}
template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_ATTENTION_GRAD>(const CheckedOperands &operands, Rank &rank,
                                                            Launcher &launcher) {
  return bindAttention(operands, rank, launcher, /*backward=*/true);
}
DTCC_CUDA_OP(ATTENTION_PART, AttentionOp, /*backward=*/false, /*isPart=*/true)
DTCC_CUDA_OP(ATTENTION_PART_GRAD, AttentionOp, /*backward=*/true, /*isPart=*/true)

} // namespace dtcc::rt::cuda
