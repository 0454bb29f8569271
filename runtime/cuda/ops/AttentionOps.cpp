//===- AttentionOps.cpp - Attention as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Attention.h"
#include "runtime/cuda/kernels/Copy.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/AttentionCommand.h"

#include <bit>
#include <string>

namespace dtcc::rt::cuda {
namespace {

/// The kernels for heads of up to `size` cells.
struct AttentionKernels {
  Kernel forward, dots, queries, keys, emptyRows, fill;
  int size = 0;
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
  result.scale = p.scale, result.softcap = p.softcap;
  result.causal = p.causal, result.firstQuery = p.firstQuery, result.causalOffset = p.causalOffset;
  result.windowLeft = p.windowLeft, result.windowRight = p.windowRight;
  result.emptyRow = static_cast<int32_t>(p.emptyRow);
  result.continues = p.continues, result.keysBefore = p.keysBefore, result.keysElsewhere = p.keysElsewhere;
  return result;
}

/// Whether some query may see no key: nobody asks the GPU.
bool mayHaveEmptyRows(const AttentionProblem &p) {
  return p.keyMask || p.windowLeft >= 0 || p.windowRight >= 0 || (p.causal && p.firstQuery + p.causalOffset < 0);
}

class LaunchSolver final : public AttentionCommand::Solver {
public:
  LaunchSolver(const AttentionCommand &command, const AttentionKernels &kernels, const Call &call)
      : command(command), kernels(kernels), call(call) {}

  void solve(const AttentionProblem &problem) override {
    Attention p = parametersOf(problem, command.type());
    const unsigned threads = static_cast<unsigned>(attentionThreads(kernels.size));
    const int64_t heads = p.batch * p.kvHeads, rows = heads * p.groups * p.queries;
    const int64_t queryBlocks = heads * p.groups * partsOf(p.queries, attentionTile);
    auto shape = [&](int64_t blocks, int64_t bytes) {
      return LaunchShape{{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, static_cast<unsigned>(bytes)};
    };
    if (!command.backward)
      return kernels.forward(call, shape(queryBlocks, attentionForwardBytes(p.qkSize, p.vSize)), p);
    const int64_t bytes = attentionBackwardBytes(p.qkSize, p.vSize);
    p.dots = at<float>(call, 0);
    kernels.dots(call, partsOf(rows, attentionRowThreads / 32), attentionRowThreads, p);
    kernels.queries(call, shape(queryBlocks, bytes), p);
    kernels.keys(call, shape(heads * partsOf(p.keys, attentionTile), bytes), p);
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
    const int64_t head = std::max(p.qkSize, p.vSize);
    for (int size : attentionSizes)
      if (kernels.size == 0 && head <= size)
        kernels.size = size;
    if (kernels.size == 0)
      operands.reject("sizes of heads must be at most ", attentionSizes[std::size(attentionSizes) - 1],
                      " on GPUs, got: ", head);
    const std::string module = (backward ? "AttentionBackward" : "AttentionForward") + std::to_string(kernels.size);
    auto kernel = [&](const char *name) { return Kernel(launcher, module.c_str(), name); };
    if (isPart)
      kernels.fill = Kernel(launcher, "Copy", "fill_4");
    if (!backward) {
      kernels.forward = kernel("attention_forward");
      return;
    }
    kernels.dots = kernel("attention_dots");
    kernels.emptyRows = kernel("attention_empty_rows");
    kernels.queries = kernel("attention_queries");
    kernels.keys = kernel("attention_keys");
    launcher.reserveWorkspace(static_cast<uint64_t>(p.batch * p.kvHeads * p.groups * p.queries) * sizeof(float));
  }

  void run(Rank &rank, const Call &call) override {
    LaunchSolver solver(command, kernels, call);
    command.run(rank, call.buffers, solver);
  }

private:
  AttentionCommand command;
  AttentionKernels kernels;
};

} // namespace

DTCC_CUDA_OP(ATTENTION, AttentionOp, /*backward=*/false, /*isPart=*/false)
DTCC_CUDA_OP(ATTENTION_GRAD, AttentionOp, /*backward=*/true, /*isPart=*/false)
DTCC_CUDA_OP(ATTENTION_PART, AttentionOp, /*backward=*/false, /*isPart=*/true)
DTCC_CUDA_OP(ATTENTION_PART_GRAD, AttentionOp, /*backward=*/true, /*isPart=*/true)

} // namespace dtcc::rt::cuda
