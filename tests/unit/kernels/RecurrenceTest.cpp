//===- RecurrenceTest.cpp - Recurrent layers against their definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward pass is compared with RecurrentCells.def written out in f64, the backward pass with central differences
// of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Recurrence.h"
#include "Fixture.h"
#include <cmath>
#include <vector>

using namespace dtcc;
using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

using Doubles = std::vector<double>;

/// The operands of a layer in f64, in the order in which differences move them.
struct Inputs {
  Doubles projected, weight, start, other;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// h and c [t, b, h] of a layer; c is empty but of an lstm.
std::pair<Doubles, Doubles> forward(const RecurrenceProblem &p, const Inputs &x) {
  const int64_t n = p.units, gates = p.info().gates;
  Doubles hs(static_cast<size_t>(p.steps * p.stateCells())), cs(p.cell == RecurrentCell::Lstm ? hs.size() : 0);
  for (int64_t sample = 0; sample < p.samples; ++sample) {
    auto startOf = [&](const Doubles &all) {
      return Doubles(all.begin() + sample * n, all.begin() + (sample + 1) * n);
    };
    Doubles h = startOf(x.start), c = cs.empty() ? Doubles() : startOf(x.other);
    for (int64_t i = 0; i < p.steps; ++i) {
      const int64_t row = p.time(i) * p.samples + sample;
      auto input = [&](int64_t g, int64_t u) { return x.projected[static_cast<size_t>((row * gates + g) * n + u)]; };
      auto times = [&](int64_t g, int64_t u, const Doubles &with) {
        double sum = 0;
        for (int64_t k = 0; k < n; ++k)
          sum += x.weight[static_cast<size_t>((g * n + u) * n + k)] * with[static_cast<size_t>(k)];
        return sum;
      };
      auto gate = [&](int64_t g, int64_t u) { return input(g, u) + times(g, u, h); };
      Doubles read = h, next = h;
      for (int64_t u = 0; p.cell == RecurrentCell::Gru && u < n; ++u)
        read[static_cast<size_t>(u)] *= logistic(gate(1, u));
      for (int64_t u = 0; u < n; ++u) {
        const auto at = static_cast<size_t>(u);
        switch (p.cell) {
        case RecurrentCell::Tanh:
          next[at] = std::tanh(gate(0, u));
          break;
        case RecurrentCell::Relu:
          next[at] = std::max(gate(0, u), 0.0);
          break;
        case RecurrentCell::Lstm:
          c[at] = logistic(gate(2, u)) * c[at] + logistic(gate(0, u)) * std::tanh(gate(3, u));
          next[at] = logistic(gate(1, u)) * std::tanh(c[at]);
          break;
        case RecurrentCell::Gru:
        case RecurrentCell::GruResetAfter: {
          const double inner =
              p.cell == RecurrentCell::Gru ? times(2, u, read) : logistic(gate(1, u)) * (times(2, u, h) + x.other[at]);
          const double update = logistic(gate(0, u));
          next[at] = (1 - update) * std::tanh(input(2, u) + inner) + update * h[at];
          break;
        }
        }
      }
      h = next;
      std::copy(h.begin(), h.end(), hs.begin() + row * n);
      std::copy(c.begin(), c.end(), cs.empty() ? cs.begin() : cs.begin() + row * n);
    }
  }
  return {hs, cs};
}

std::vector<float> narrowed(const Doubles &values) { return {values.begin(), values.end()}; }

void expectNear(const std::vector<float> &got, const Doubles &want, const char *what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 2e-5 * std::max(1.0, std::fabs(want[i]))) << what << " cell " << i;
}

/// A layer of random operands, by our kernels and in f64.
void check(const RecurrenceProblem &p, bool inPlace, int threads, const VectorKernels &kernels) {
  SCOPED_TRACE(std::string(p.info().mnemonic) + (p.reverse ? " reverse " : " ") + std::to_string(p.units));
  std::mt19937 random(11);
  auto drawn = [&](int64_t count) {
    std::normal_distribution<float> normal(0, 0.6f);
    Doubles values(static_cast<size_t>(count));
    for (double &value : values)
      value = normal(random); // a float, so that both compute on the same numbers
    return values;
  };
  const bool hasC = p.cell == RecurrentCell::Lstm, resetAfter = p.cell == RecurrentCell::GruResetAfter;
  const int64_t states = p.steps * p.stateCells();
  Inputs x{drawn(p.steps * p.samples * p.gateCells()), drawn(p.gateCells() * p.units), drawn(p.stateCells()),
           drawn(hasC         ? p.stateCells()
                 : resetAfter ? p.units
                              : 0)};
  const Doubles dh = drawn(states), dc = drawn(hasC ? states : 0);
  auto objective = [&](const Inputs &at) {
    auto [h, c] = forward(p, at);
    double sum = 0;
    for (size_t i = 0; i < h.size(); ++i)
      sum += h[i] * dh[i] + (hasC ? c[i] * dc[i] : 0);
    return sum;
  };

  ThreadTeam team(threads);
  TeamScratch scratch(threads);
  Recurrence layer(p, /*gradient=*/false, kernels, scratch), backward(p, /*gradient=*/true, kernels, scratch);
  auto room = [](int64_t count) { return std::vector<float>(static_cast<size_t>(count), 77.0f); };
  std::vector<float> weight = narrowed(x.weight), start = narrowed(x.start), other = narrowed(x.other);
  std::vector<float> saved = room(p.steps * p.samples * p.savedCells()), projected = narrowed(x.projected);
  std::vector<float> h = room(states), c = room(hasC ? states : 0), read = room(p.stateCells());
  const bool over = inPlace && saved.size() == projected.size();
  if (over)
    saved = projected;
  RecurrenceTensors f;
  f.projected = over ? saved.data() : projected.data(), f.weight = weight.data(), f.start = start.data();
  f.cStart = hasC ? other.data() : nullptr, f.bias = resetAfter ? other.data() : nullptr;
  f.h = h.data(), f.c = hasC ? c.data() : nullptr, f.gates = saved.data(), f.read = read.data();
  layer.run(team, scratch, f);
  auto [wantH, wantC] = forward(p, x);
  expectNear(h, wantH, "h");
  expectNear(c, wantC, "c");

  const std::vector<float> gradH = narrowed(dh), gradC = narrowed(dc);
  std::vector<float> dprojected = room(static_cast<int64_t>(projected.size())), dproducts = dprojected;
  std::vector<float> dstart = room(p.stateCells()), dcStart = room(hasC ? p.stateCells() : 0);
  RecurrenceGradTensors g;
  g.dh = gradH.data(), g.dc = hasC ? gradC.data() : nullptr, g.weight = weight.data(), g.h = h.data();
  g.start = start.data(), g.c = f.c, g.cStart = f.cStart, g.gates = saved.data(), g.read = read.data();
  g.dprojected = over ? saved.data() : dprojected.data(), g.dproducts = resetAfter ? dproducts.data() : nullptr;
  g.dstart = dstart.data(), g.dcStart = hasC ? dcStart.data() : nullptr;
  backward.run(team, scratch, g);

  auto differences = [&](Doubles Inputs::*which) {
    Doubles slopes;
    for (size_t i = 0; i < (x.*which).size(); ++i) {
      Inputs up = x, down = x;
      (up.*which)[i] += 1e-5, (down.*which)[i] -= 1e-5;
      slopes.push_back((objective(up) - objective(down)) / 2e-5);
    }
    return slopes;
  };
  expectNear(over ? saved : dprojected, differences(&Inputs::projected), "dprojected");
  expectNear(dstart, differences(&Inputs::start), "dstart");
  if (hasC)
    expectNear(dcStart, differences(&Inputs::other), "dcStart");
  if (resetAfter) {
    // The bias is added to the last product in every step.
    Doubles dbias(static_cast<size_t>(p.units), 0);
    for (int64_t row = 0; row < p.steps * p.samples; ++row)
      for (int64_t u = 0; u < p.units; ++u)
        dbias[static_cast<size_t>(u)] += dproducts[static_cast<size_t>((row * 3 + 2) * p.units + u)];
    expectNear(narrowed(dbias), differences(&Inputs::other), "dbias");
  }
}

TEST(Recurrence, IsItsDefinitionAndItsSlopesAreDifferences) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    for (int threads : {1, 3})
      for (uint32_t cell = 0; cell < kRecurrentCells; ++cell)
        for (bool reverse : {false, true})
          for (int64_t units : {1, 5, 19}) {
            const RecurrenceProblem problem{static_cast<RecurrentCell>(cell), 4, 3, units, reverse};
            check(problem, /*inPlace=*/units == 5, threads, kernels);
          }
  });
}

} // namespace
