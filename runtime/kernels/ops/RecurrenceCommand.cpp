//===- RecurrenceCommand.cpp - Commands of recurrent layers, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/RecurrenceCommand.h"

namespace dtcc::rt {

RecurrenceCommand::RecurrenceCommand(const CheckedOperands &operands, bool gradient) {
  const size_t attributes = gradient ? 4 : 3;
  auto attribute = [&](size_t i) { return operands.attributeCount() == attributes ? operands.integer(i) : 0; };
  const int64_t cell = attribute(0);
  if (cell < 0 || cell >= int64_t{kRecurrentCells})
    operands.reject("cell must be below ", int64_t{kRecurrentCells}, ", got: ", cell);
  problem.cell = static_cast<RecurrentCell>(cell);
  problem.reverse = attribute(1) != 0;
  mayRound = attribute(2) != 0;
  hasC = problem.cell == RecurrentCell::Lstm, resetAfter = problem.cell == RecurrentCell::GruResetAfter;
  hasDc = gradient && hasC && attribute(3) != 0;
  required = gradient ? 7 + (hasC ? 3 : 0) + (hasDc ? 1 : 0) + (resetAfter ? 1 : 0)
                      : 5 + (hasC ? 2 : 0) + (resetAfter ? 1 : 0);
  operands.expect(required, attributes);

  const RecurrentCellInfo &info = problem.info();
  // The first operand is [t, b, g, h], or of a gradient [t, b, h].
  const dtcc_view &first = operands.operand(0);
  if (first.rank != (gradient ? 3 : 4))
    operands.reject("the first operand must have rank ", gradient ? 3 : 4, ", got: ", int{first.rank});
  const int64_t t = first.sizes[0], b = first.sizes[1], h = first.sizes[first.rank - 1];
  problem.steps = t, problem.samples = b, problem.units = h;
  size_t next = 0;
  auto take = [&](const char *name, std::initializer_list<int64_t> sizes) {
    const dtcc_view &view = operands.tensor(next++, name, sizes);
    int64_t step = 1;
    for (int d = view.rank - 1; d >= 0; step *= view.sizes[d--])
      if (view.sizes[d] > 1 && view.strides[d] != step)
        operands.reject(name, " must be dense, got stride ", view.strides[d], " in dimension ", d);
  };
  auto steps = [&](const char *name) { take(name, {t, b, h}); };
  auto state = [&](const char *name) { take(name, {b, h}); };
  auto inputs = [&](const char *name) { take(name, {t, b, info.gates, h}); };
  auto gates = [&] { take("gates", {t, b, info.saved, h}); };
  gradient ? steps("dh") : inputs("projected");
  take("weight", {info.gates, h, h});
  if (gradient)
    steps("h");
  state("start");
  if (!gradient) {
    if (resetAfter)
      take("bias", {h});
    if (hasC)
      state("start_c");
    steps("h");
    if (hasC)
      steps("c");
    gates();
    return;
  }
  gates();
  if (hasC)
    steps("c"), state("start_c");
  if (hasDc)
    steps("dc");
  inputs("dprojected");
  state("dstart");
  if (hasC)
    state("dstart_c");
  if (resetAfter)
    inputs("dproducts");
}

void RecurrenceCommand::expectWorkspace(const CheckedOperands &operands) const {
  if (problem.cell != RecurrentCell::Gru)
    return;
  const dtcc_view *workspace = operands.operandCount() > required ? &operands.operand(required) : nullptr;
  int64_t bytes = workspace ? dtcc_dtype_size(workspace->dtype) : 0;
  for (int d = 0; workspace && d < workspace->rank; ++d)
    bytes *= workspace->sizes[d];
  if (const int64_t needed = problem.stateCells() * int64_t{sizeof(float)}; bytes < needed)
    operands.reject("the workspace must have ", needed, " bytes, got: ", bytes);
}

namespace {

/// The addresses of operands, one after the other.
class Addresses {
public:
  explicit Addresses(void *const *buffers) : buffers(buffers) {}
  float *take(bool present = true) { return present ? static_cast<float *>(*buffers++) : nullptr; }

private:
  void *const *buffers;
};

} // namespace

RecurrenceTensors RecurrenceCommand::tensors(void *const *buffers, bool hasWorkspace) const {
  Addresses next(buffers);
  RecurrenceTensors x;
  x.projected = next.take(), x.weight = next.take(), x.start = next.take();
  x.bias = next.take(resetAfter), x.cStart = next.take(hasC);
  x.h = next.take(), x.c = next.take(hasC), x.gates = next.take();
  x.read = next.take(hasWorkspace && problem.cell == RecurrentCell::Gru);
  return x;
}

RecurrenceGradTensors RecurrenceCommand::gradTensors(void *const *buffers, bool hasWorkspace) const {
  Addresses next(buffers);
  RecurrenceGradTensors x;
  x.dh = next.take(), x.weight = next.take(), x.h = next.take(), x.start = next.take(), x.gates = next.take();
  x.c = next.take(hasC), x.cStart = next.take(hasC), x.dc = next.take(hasDc);
  x.dprojected = next.take(), x.dstart = next.take();
  x.dcStart = next.take(hasC), x.dproducts = next.take(resetAfter);
  x.read = next.take(hasWorkspace && problem.cell == RecurrentCell::Gru);
  return x;
}

} // namespace dtcc::rt
