//===- Recurrence.cpp - Recurrent layers over the threads of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Recurrence.h"

#include <algorithm>

namespace dtcc::rt {
namespace {

/// Units that are worth a thread of their own.
constexpr int64_t grainUnits = 4096;

/// out[samples, n] (+)= lhs[samples, k] * rhs[k, n], rows of lhs and out `lhsRow` and `outRow` cells apart. Columns of
/// rhs are rows of weights if it is `transposed`.
ProductProblem productOf(int64_t samples, int64_t n, int64_t k, int64_t lhsRow, int64_t outRow, bool transposed,
                         bool accumulate) {
  ProductProblem product;
  product.m = samples, product.n = n, product.k = k;
  product.lhsStrides[1] = lhsRow, product.lhsStrides[2] = 1;
  product.rhsStrides[1] = transposed ? 1 : n, product.rhsStrides[2] = transposed ? k : 1;
  product.outStrides[1] = outRow, product.outStrides[2] = 1;
  product.accumulate = accumulate;
  return product;
}

ProductProblem at(const float *lhs, const float *rhs, float *out) {
  ProductProblem product;
  product.lhs = lhs, product.rhs = rhs, product.out = out;
  return product;
}

} // namespace

Recurrence::Recurrence(const RecurrenceProblem &problem, bool gradient, const VectorKernels &kernels,
                       TeamScratch &scratch)
    : p(problem), kernels(kernels) {
  const int64_t units = p.units, columns = p.wholeGates() * units;
  const bool resets = p.cell == RecurrentCell::Gru;
  if (gradient) {
    // A part of a gru's state passes the step unchanged: the products are added to its gradient.
    const bool passes = resets || p.cell == RecurrentCell::GruResetAfter;
    whole.emplace(productOf(p.samples, units, columns, p.gateCells(), units, /*transposed=*/false, passes), kernels,
                  scratch);
    if (resets)
      last.emplace(productOf(p.samples, units, units, p.gateCells(), units, /*transposed=*/false, false), kernels,
                   scratch);
    return;
  }
  whole.emplace(productOf(p.samples, columns, units, units, p.savedCells(), /*transposed=*/true, true), kernels,
                scratch);
  if (resets)
    last.emplace(productOf(p.samples, units, units, units, p.savedCells(), /*transposed=*/true, true), kernels,
                 scratch);
}

template <typename Fn> void Recurrence::forEachSample(ThreadTeam &team, const Fn &fn) const {
  team.parallelFor(p.samples, std::max<int64_t>(1, grainUnits / p.units), [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample)
      fn(sample);
  });
}

void Recurrence::run(ThreadTeam &team, const TeamScratch &scratch, const RecurrenceTensors &x) const {
  const int64_t units = p.units, gates = p.gateCells(), saved = p.savedCells(), whole = p.wholeGates() * units;
  const float *before = x.start, *cBefore = x.cStart;
  for (int64_t i = 0; i < p.steps; ++i) {
    const int64_t t = p.time(i);
    const float *projected = x.projected + t * p.samples * gates;
    float *to = x.gates + t * p.samples * saved, *h = x.h + t * p.stateCells();
    float *c = x.c ? x.c + t * p.stateCells() : nullptr;
    auto row = [&](int64_t sample) {
      const int64_t at = sample * units;
      return RecurrentRow{
          units,  projected + sample * gates, to + sample * saved,           before + at, c ? cBefore + at : nullptr,
          h + at, c ? c + at : nullptr,       x.read ? x.read + at : nullptr};
    };
    if (to != projected)
      forEachSample(team, [&](int64_t sample) {
        const int64_t copied = x.bias ? 2 * units : gates;
        std::copy_n(projected + sample * gates, copied, to + sample * saved);
        if (x.bias)
          std::copy_n(x.bias, units, to + sample * saved + copied);
      });
    this->whole->run(team, scratch, at(before, x.weight, to));
    if (last) {
      forEachSample(team, [&](int64_t sample) { kernels.recurrentReset(row(sample)); });
      last->run(team, scratch, at(x.read, x.weight + whole * units, to + whole));
    }
    forEachSample(team, [&](int64_t sample) { kernels.recurrentStep(p.cell, row(sample)); });
    before = h, cBefore = c;
  }
}

void Recurrence::run(ThreadTeam &team, const TeamScratch &scratch, const RecurrenceGradTensors &x) const {
  const int64_t units = p.units, gates = p.gateCells(), saved = p.savedCells(), whole = p.wholeGates() * units;
  std::fill_n(x.dstart, p.stateCells(), 0.0f);
  if (x.dcStart)
    std::fill_n(x.dcStart, p.stateCells(), 0.0f);
  for (int64_t i = p.steps; i-- > 0;) {
    const int64_t t = p.time(i), states = t * p.stateCells();
    const float *from = x.gates + t * p.samples * saved;
    float *d = x.dprojected + t * p.samples * gates;
    float *products = x.dproducts ? x.dproducts + t * p.samples * gates : d;
    const int64_t earlier = i > 0 ? p.time(i - 1) * p.stateCells() : 0;
    const float *before = i > 0 ? x.h + earlier : x.start;
    const float *cBefore = i > 0 && x.c ? x.c + earlier : x.cStart;
    auto row = [&](int64_t sample) {
      const int64_t at = sample * units;
      RecurrentGradRow r = {};
      r.units = units;
      r.gates = from + sample * saved, r.before = before + at;
      r.dh = x.dh + states + at, r.carried = x.dstart + at;
      if (x.c) {
        r.c = x.c + states + at, r.cBefore = cBefore + at, r.cCarried = x.dcStart + at;
        r.dc = x.dc ? x.dc + states + at : nullptr;
      }
      r.dprojected = d + sample * gates, r.dproducts = products + sample * gates;
      r.dread = x.read ? x.read + at : nullptr;
      return r;
    };
    forEachSample(team, [&](int64_t sample) { kernels.recurrentStepGrad(p.cell, row(sample)); });
    if (last) {
      last->run(team, scratch, at(d + whole, x.weight + whole * units, x.read));
      forEachSample(team, [&](int64_t sample) { kernels.recurrentResetGrad(row(sample)); });
    }
    this->whole->run(team, scratch, at(products, x.weight, x.dstart));
  }
}

} // namespace dtcc::rt
