//===- WholeTensorOps.cpp - Steps along directions of whole tensors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/updates/DirectionCommands.h"
#include "runtime/kernels/ops/updates/OrthogonalizeCommand.h"
#include "runtime/kernels/ops/updates/UpdateRanges.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace dtcc::rt {
namespace {

float *floatsAt(void *const *buffers, size_t i) { return static_cast<float *>(buffers[i]); }

/// An op that makes the direction of a step: behind the operands of a GradientOp p, slots and the direction.
class DirectionOp : public GradientOp {
protected:
  DirectionOp(const CheckedOperands &operands, const Rank &rank, size_t slots, size_t attributes)
      : GradientOp(operands, rank, 6 + slots, attributes) {
    operands.dense(4, "p", size);
    for (size_t i = 0; i < slots; ++i)
      operands.dense(5 + i, "slot", size);
    operands.dense(5 + slots, "direction", size);
  }
};

class MuonDirectionOp final : public DirectionOp {
public:
  MuonDirectionOp(const CheckedOperands &operands, const Rank &rank)
      : DirectionOp(operands, rank, 1, 4), momentum(operands.real(2)), nesterov(operands.flag(3)) {}
  void update(Rank &rank, void *const *buffers) override {
    muonDirection(rank.team, size, momentum, nesterov, *floats(buffers, 1), floats(buffers, 0), floats(buffers, 5),
                  floats(buffers, 6));
  }

private:
  double momentum;
  bool nesterov;
};

class LambDirectionOp final : public DirectionOp {
public:
  LambDirectionOp(const CheckedOperands &operands, const Rank &rank)
      : DirectionOp(operands, rank, 2, 5), options{operands.real(2), operands.real(3), operands.real(4)} {}
  void update(Rank &rank, void *const *buffers) override {
    lambDirection(rank.team, segments.ranges, size, options, *floats(buffers, 1), stepOf(buffers), floats(buffers, 0),
                  floats(buffers, 4), floats(buffers, 5), floats(buffers, 6), floats(buffers, 7));
  }

private:
  LambOptions options;
};

class TensorSquaresOp final : public LibraryOp {
public:
  TensorSquaresOp(const CheckedOperands &operands, const Rank &rank)
      : command(operands, rank), partial(sumSquaresBlocks) {}
  void run(Rank &rank, void *const *buffers) override {
    tensorSquares(rank.team, vectorKernels(), command.segments.ranges, command.tensors(), floatsAt(buffers, 0),
                  floatsAt(buffers, 1), partial, floatsAt(buffers, 2));
  }

private:
  TensorSquaresCommand command;
  std::vector<double> partial;
};

class ApplyDirectionOp final : public LibraryOp {
public:
  ApplyDirectionOp(const CheckedOperands &operands, const Rank &rank)
      : command(operands, rank), steps(command.segments.ranges.size()) {}
  void run(Rank &rank, void *const *buffers) override {
    if (std::isnan(*floatsAt(buffers, 1)))
      return;
    const size_t parameter = command.parameter;
    HalfCopy copy = command.copyType ? HalfCopy{*command.copyType, buffers[parameter + 1]} : HalfCopy{};
    const auto lr = static_cast<double>(*floatsAt(buffers, 2));
    const std::vector<TensorRange> &ranges = command.segments.ranges;
    for (size_t r = 0; r < steps.size(); ++r)
      steps[r] = stepOf(r, lr * ranges[r].lrScale, *static_cast<const int64_t *>(buffers[3]),
                        floatsAt(buffers, 4) + 2 * ranges[r].tensor);
    applyDirection(rank.team, vectorKernels(), ranges, steps, floatsAt(buffers, 0), floatsAt(buffers, parameter), copy);
  }

private:
  /// `squares`: of the tensor of a range, in the parameter and in the direction; not read if the step is plain.
  DirectionStep stepOf(size_t r, double rate, int64_t step, const float *squares) const {
    const double decay = command.segments.ranges[r].decay;
    if (command.kind == DTCC_DIRECTION_PLAIN)
      return {1 - rate * decay, rate};
    const auto ofParameter = static_cast<double>(squares[0]), ofDirection = static_cast<double>(squares[1]);
    if (command.kind == DTCC_DIRECTION_BY_RMS)
      return rmsStep(command.rms, rate, decay, step, command.cells[r], ofParameter, ofDirection);
    // The direction holds the decay.
    return {1, rate * trustRatio(command.trust, decay, ofParameter, ofDirection)};
  }

  const ApplyDirectionCommand command;
  std::vector<DirectionStep> steps;
};

class OrthogonalizeOp final : public LibraryOp {
public:
  OrthogonalizeOp(const CheckedOperands &operands, Rank &rank) : command(operands, rank) {
    command.expectWorkspace(operands, OrthogonalizeOn::Processor);
    for (const OrthogonalizeCommand::Matrix &matrix : command.matrices)
      kinds.try_emplace({matrix.rows, matrix.columns}, command.options, matrix.rows, matrix.columns, vectorKernels(),
                        rank.scratch);
  }
  void run(Rank &rank, void *const *buffers) override {
    const float *whole = floatsAt(buffers, 0);
    float *direction = floatsAt(buffers, 1);
    auto *workspace = static_cast<std::byte *>(buffers[2]);
    std::fill_n(direction, command.size, 0.0f);
    for (const OrthogonalizeCommand::Matrix &of : command.matrices) {
      const Orthogonalization &kind = kinds.at({of.rows, of.columns});
      float *matrix = kind.matrix(workspace);
      for (int64_t i = 0; i < command.members; ++i) {
        const float *from = whole + i * command.length + of.begin;
        BlockRuns runs(of.parts[static_cast<size_t>(i)]);
        for (Run run; runs.next(run);)
          std::memcpy(matrix + run.whole, from + run.local, static_cast<size_t>(run.length) * sizeof(float));
      }
      kind.run(rank.team, rank.scratch, workspace);
      BlockRuns runs(of.parts.back());
      for (Run run; runs.next(run);) {
        // Cells of the run that lie in the share.
        int64_t at = of.begin + run.local - command.offset, skip = std::max<int64_t>(-at, 0);
        int64_t count = std::min(run.length, command.size - at) - skip;
        if (count > 0)
          std::memcpy(direction + at + skip, matrix + run.whole + skip, static_cast<size_t>(count) * sizeof(float));
      }
    }
  }

private:
  OrthogonalizeCommand command;
  std::map<std::pair<int64_t, int64_t>, Orthogonalization> kinds; /* by shape */
};

} // namespace

DTCC_CPU_OP(MUON_DIRECTION, MuonDirectionOp)
DTCC_CPU_OP(LAMB_DIRECTION, LambDirectionOp)
DTCC_CPU_OP(TENSOR_SQUARES, TensorSquaresOp)
DTCC_CPU_OP(APPLY_DIRECTION, ApplyDirectionOp)
DTCC_CPU_OP(ORTHOGONALIZE, OrthogonalizeOp)

} // namespace dtcc::rt
