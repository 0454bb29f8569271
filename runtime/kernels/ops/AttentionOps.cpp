//===- AttentionOps.cpp - The library ops of attention -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"
#include "runtime/kernels/HalfAttention.h"
#include "runtime/kernels/ops/AttentionCommand.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {
namespace {

class TeamSolver final : public AttentionCommand::Solver {
public:
  TeamSolver(const AttentionCommand &command, Rank &rank) : command(command), rank(rank) {}

  void solve(const AttentionProblem &problem) override {
    const VectorKernels &kernels = vectorKernels();
    if (command.type() == DTCC_F32)
      return command.backward ? attentionGrad(rank.team, kernels, problem, rank.scratch)
                              : attention(rank.team, kernels, problem, rank.scratch);
    if (command.backward)
      return halfAttentionGrad(rank.team, kernels, command.type(), command.isPart, problem, rank.scratch);
    halfAttention(rank.team, kernels, command.type(), command.isPart, problem, rank.scratch);
  }
  void fill(const AttentionTensor &tensor, const std::array<int64_t, 5> &sizes, float value) override {
    const int64_t *strides = tensor.strides;
    const auto [a, b, c, d, e] = sizes;
    for (int64_t i = 0; i < a * b * c * d; ++i) {
      float *row = tensor.data + i / (b * c * d) * strides[0] + i / (c * d) % b * strides[1] + i / d % c * strides[2] +
                   i % d * strides[3];
      for (int64_t j = 0; j < e; ++j)
        row[j * strides[4]] = value;
    }
  }

private:
  const AttentionCommand &command;
  Rank &rank;
};

class AttentionOp final : public LibraryOp {
public:
  AttentionOp(const CheckedOperands &operands, Rank &rank, bool backward, bool isPart)
      : command(operands, rank, backward, isPart) {
    const AttentionProblem &p = command.problem();
    size_t heads = command.type() == DTCC_F32 ? 0 : halfAttentionScratchBytes(p, backward);
    rank.scratch.reserve(attentionScratchBytes(p.qkSize, p.vSize) + heads);
  }

  void run(Rank &rank, void *const *buffers) override {
    TeamSolver solver(command, rank);
    command.run(rank, buffers, solver);
  }

private:
  AttentionCommand command;
};

} // namespace

DTCC_CPU_OP(ATTENTION, AttentionOp, /*backward=*/false, /*isPart=*/false)
DTCC_CPU_OP(ATTENTION_GRAD, AttentionOp, /*backward=*/true, /*isPart=*/false)
DTCC_CPU_OP(ATTENTION_PART, AttentionOp, /*backward=*/false, /*isPart=*/true)
DTCC_CPU_OP(ATTENTION_PART_GRAD, AttentionOp, /*backward=*/true, /*isPart=*/true)

} // namespace dtcc::rt
