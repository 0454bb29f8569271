//===- RecurrenceOps.cpp - Recurrent layers as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over the steps, as runtime/kernels/Recurrence.cpp has it for processors: a product of the states of all
// samples with the recurrent weights, then the functions of the cell.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/kernels/Recurrence.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/ProductOps.h"
#include "runtime/kernels/ops/RecurrenceCommand.h"

#include <string>

namespace dtcc::rt::cuda {
namespace {

dtcc_view matrixOf(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  return matrixView(DTCC_F32, rows, columns, rowStride, columnStride);
}

/// The bits of all addresses of a command's operands, and of places that are multiples of `cells` floats behind them:
/// the lowest says how they are aligned.
uint64_t addressBits(const CheckedOperands &operands, const Rank &rank, std::initializer_list<int64_t> cells) {
  uint64_t bits = 0;
  for (size_t i = 0; i < operands.operandCount(); ++i)
    bits |= static_cast<uint64_t>(rank.offset(operands.viewIndex(i)) | operands.operand(i).slot_stride);
  for (int64_t count : cells)
    bits |= static_cast<uint64_t>(count) * sizeof(float);
  return bits;
}

/// The layer, the products and the kernels that the forward and the backward pass share.
class RecurrentLayerOp : public CudaOp {
public:
  std::string_view loads() const override { return loaded; }

protected:
  RecurrentLayerOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher, bool gradient)
      : command(operands, gradient), problem(command.problem), rank(rank), launcher(launcher),
        isPredicated(operands.isPredicated()),
        offset(addressBits(operands, rank,
                           {problem.stateCells(), problem.samples * problem.gateCells(),
                            problem.samples * problem.savedCells(), problem.wholeGates() * problem.units})) {
    layer = {problem.cell,  problem.reverse,      problem.steps,       problem.samples,
             problem.units, problem.info().gates, problem.info().saved};
    launcher.reserveWorkspace(static_cast<uint64_t>(
        gpu_workspace::recurrence(problem.cell == RecurrentCell::Gru ? problem.stateCells() : 0)));
  }

  /// out[samples, n] (+)= lhs[samples, k] * rhs[k, n]; rows of lhs and out are `lhsRow` and `outRow` cells apart.
  /// Columns of rhs are rows of weights if it is `transposed`.
  std::unique_ptr<CudaOp> product(int64_t n, int64_t k, int64_t lhsRow, int64_t outRow, bool transposed, bool adds) {
    ProductCommand wanted;
    wanted.g = 1, wanted.m = problem.samples, wanted.n = n, wanted.k = k;
    wanted.accumulate = adds ? Accumulation::Always : Accumulation::Never;
    wanted.mayRound = command.mayRound;
    const std::vector<ProductView> views = {{matrixOf(problem.samples, k, lhsRow, 1), offset},
                                            {transposed ? matrixOf(k, n, 1, k) : matrixOf(k, n, n, 1), offset},
                                            {matrixOf(problem.samples, n, outRow, 1), offset}};
    auto made = bindProduct(wanted, views, isPredicated, rank, launcher);
    loaded += made->loads();
    return made;
  }
  void multiply(CudaOp &product, const Call &call, const float *lhs, const float *rhs, float *out) const {
    void *const buffers[] = {const_cast<float *>(lhs), const_cast<float *>(rhs), out};
    Call here = call;
    here.buffers = buffers;
    product.run(rank, here);
  }
  /// A gru's [b, h], behind the workspace of its products.
  float *read(const Call &call) const {
    return problem.cell == RecurrentCell::Gru ? at<float>(call, gpu_workspace::productBytes) : nullptr;
  }
  int64_t unitBlocks() const { return partsOf(problem.stateCells(), recurrenceThreads); }
  bool resets() const { return problem.cell == RecurrentCell::Gru; }

  const RecurrenceCommand command;
  const RecurrenceProblem &problem;
  RecurrentLayer layer;

private:
  Rank &rank;
  Launcher &launcher;
  const bool isPredicated;
  const uint64_t offset;
  std::string loaded;
};

class RecurrenceOp final : public RecurrentLayerOp {
public:
  RecurrenceOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : RecurrentLayerOp(operands, rank, launcher, /*gradient=*/false),
        inputs(launcher, "Recurrence", "recurrence_inputs"), reset(launcher, "Recurrence", "recurrence_reset"),
        step(launcher, "Recurrence", "recurrence_step") {
    const int64_t units = problem.units, saved = problem.savedCells();
    whole = product(problem.wholeGates() * units, units, units, saved, /*transposed=*/true, /*adds=*/true);
    if (resets())
      last = product(units, units, units, saved, /*transposed=*/true, /*adds=*/true);
  }
  void run(Rank &, const Call &call) override {
    RecurrenceForward p = {layer, command.tensors(call.buffers, /*hasWorkspace=*/false), 0};
    p.x.read = read(call);
    const int64_t states = problem.stateCells(), wholeCells = problem.wholeGates() * problem.units;
    if (p.x.gates != p.x.projected)
      inputs(call, partsOf(problem.steps * problem.samples * problem.gateCells(), recurrenceThreads), recurrenceThreads,
             p);
    const float *before = p.x.start;
    for (; p.step < problem.steps; ++p.step) {
      const int64_t time = problem.time(p.step);
      float *gates = p.x.gates + time * problem.samples * problem.savedCells();
      multiply(*whole, call, before, p.x.weight, gates);
      if (last) {
        reset(call, unitBlocks(), recurrenceThreads, p);
        multiply(*last, call, p.x.read, p.x.weight + wholeCells * problem.units, gates + wholeCells);
      }
      step(call, unitBlocks(), recurrenceThreads, p);
      before = p.x.h + time * states;
    }
  }

private:
  std::unique_ptr<CudaOp> whole, last;
  Kernel inputs, reset, step;
};

class RecurrenceGradOp final : public RecurrentLayerOp {
public:
  RecurrenceGradOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : RecurrentLayerOp(operands, rank, launcher, /*gradient=*/true),
        step(launcher, "Recurrence", "recurrence_step_grad"), reset(launcher, "Recurrence", "recurrence_reset_grad") {
    const int64_t units = problem.units, gates = problem.gateCells();
    // A part of a gru's state passes the step unchanged: the products are added to its gradient.
    const bool passes = resets() || problem.cell == RecurrentCell::GruResetAfter;
    whole = product(units, problem.wholeGates() * units, gates, units, /*transposed=*/false, passes);
    if (resets())
      last = product(units, units, gates, units, /*transposed=*/false, /*adds=*/false);
  }
  void run(Rank &, const Call &call) override {
    RecurrenceBackward p = {layer, command.gradTensors(call.buffers, /*hasWorkspace=*/false), 0};
    p.x.read = read(call);
    const int64_t wholeCells = problem.wholeGates() * problem.units;
    for (p.step = problem.steps; p.step-- > 0;) {
      const int64_t at = problem.time(p.step) * problem.samples * problem.gateCells();
      step(call, unitBlocks(), recurrenceThreads, p);
      if (last) {
        multiply(*last, call, p.x.dprojected + at + wholeCells, p.x.weight + wholeCells * problem.units, p.x.read);
        reset(call, unitBlocks(), recurrenceThreads, p);
      }
      multiply(*whole, call, (p.x.dproducts ? p.x.dproducts : p.x.dprojected) + at, p.x.weight, p.x.dstart);
    }
  }

private:
  std::unique_ptr<CudaOp> whole, last;
  Kernel step, reset;
};

} // namespace

DTCC_CUDA_OP(RECURRENCE, RecurrenceOp)
DTCC_CUDA_OP(RECURRENCE_GRAD, RecurrenceGradOp)

} // namespace dtcc::rt::cuda
