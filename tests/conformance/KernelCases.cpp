//===- KernelCases.cpp - Commands that every device must compute alike
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/KernelCases.h"

#include "runtime/abi/RecurrentCell.h"
#include "runtime/kernels/GroupedMatmul.h"
#include "tests/conformance/CaseMaker.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace dtcc::rt::test {
namespace {

void addCopies(Cases &cases) {
  // One is four times what a grid holds, and more. The last two are transposed, in tiles of pairs and of cells.
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {1000}, {3, 4, 5}, {2, 16, 8}, {1, 7, 1, 9}, {2, 2, 2, 2, 2, 2, 2, 2}, {3, 30001}, {64, 2, 130}, {65, 3, 66}};
  for (auto type : {DTCC_F32, DTCC_BF16})
    for (const auto &shape : shapes)
      for (int kind : {0, 1, 2, 3, 4}) {
        Maker m("copy " + std::to_string(shape.size()) + " kind " + std::to_string(kind), DTCC_LIB_COUNT);
        m.command().setKind(DTCC_COPY);
        std::vector<int> reversed(kind >= 2 ? shape.size() : 0);
        std::iota(reversed.rbegin(), reversed.rend(), 0);
        m.floats(type, shape, reversed);
        m.output(type, shape, kind == 3 ? reversed : std::vector<int>(), shape.empty() ? 0 : kind == 1 ? 3 : kind == 4);
        m.made.tolerance = 0;
        cases.push_back(m.made);
        Maker f("fill " + std::to_string(shape.size()) + " kind " + std::to_string(kind), DTCC_LIB_COUNT);
        f.command().setKind(DTCC_FILL);
        f.output(type, shape, reversed, kind == 1 && !shape.empty() ? 8 : 0);
        f.attributes({0x3f803f80});
        f.made.tolerance = 0;
        cases.push_back(f.made);
      }
}

void addProducts(Cases &cases) {
  struct Shape {
    int64_t g, m, n, k;
  };
  for (Shape s : {Shape{1, 5, 7, 3}, Shape{1, 70, 65, 40}, Shape{3, 20, 33, 17}, Shape{1, 64, 128, 32}})
    for (dtcc_dtype type : floatTypes)
      for (int form : {0, 1, 2, 3}) {
        Maker m("matmul " + text({s.g, s.m, s.n, s.k, type, form}), DTCC_LIB_MATMUL, 1, 2);
        const bool transposes = form == 1, wide = form == 2, bias = form >= 2;
        m.floats(type, {s.g, s.m, s.k}, transposes ? std::vector<int>{0, 2, 1} : std::vector<int>{});
        m.floats(type, {s.g, s.k, s.n}, transposes ? std::vector<int>{0, 2, 1} : std::vector<int>{}, wide ? 3 : 0);
        if (bias)
          m.floats(DTCC_F32, {s.n});
        m.output(wide ? DTCC_F32 : type, {s.g, s.m, s.n}, {}, wide ? 5 : 0);
        m.attributes({form % 3, bias}); // accumulate: never, always, not in the first slot
        m.made.slot = wide;
        m.made.tolerance = wide || type == DTCC_F32 ? 1e-5f : type == DTCC_BF16 ? 1e-2f : 2e-3f;
        if (form == 3)
          m.made.tolerance *= 4; // what a bias is added to may have been rounded
        cases.push_back(m.made);
      }
}

void addGroupedProducts(Cases &cases) {
  using Grouped = std::array<int64_t, 6>;
  // Few rows, squares with and without a rest, more matrices than rows; cells that lie in pieces of 16 bytes and not.
  for (auto [rows, lhsRows, outRows, k, n, groups] :
       {Grouped{6, 3, 3, 4, 5, 2}, Grouped{150, 75, 150, 33, 70, 4}, Grouped{20, 20, 10, 8, 8, 300},
        Grouped{300, 150, 300, 40, 136, 1}, Grouped{140, 140, 70, 136, 40, 2}, Grouped{640, 320, 640, 168, 264, 2}})
    for (dtcc_dtype type : floatTypes)
      for (bool wide : {false, true})
        for (int gradient : {0, 1})
          for (int64_t rank : {0, 1}) {
            if (wide && type == DTCC_F32)
              continue;
            Maker m("grouped " + text({rows, groups, type, wide, gradient, rank}),
                    gradient ? DTCC_LIB_GROUPED_MATMUL_GRAD : DTCC_LIB_GROUPED_MATMUL, 2, 2);
            const dtcc_dtype outType = wide ? DTCC_F32 : type;
            const bool plain = k % 8 == 0 && n % 8 == 0;
            m.floats(type, {lhsRows, k}, plain ? std::vector<int>{} : std::vector<int>{1, 0});
            if (gradient)
              m.floats(type, {outRows, n}, {}, plain ? 0 : 2);
            else
              m.floats(type, {groups, k, n}, rank ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 2, 1});
            m.integers(rank ? DTCC_I64 : DTCC_I32, rows, 0, 2 * groups);
            if (gradient)
              m.output(outType, {groups, k, n}, rank ? std::vector<int>{0, 2, 1} : std::vector<int>{});
            else
              m.output(outType, {outRows, n}, {}, plain ? 0 : 1);
            GroupedProblem p{type, outType, rows, groups, k, n, {}, {rows / outRows, 0, 1}, {}};
            m.workspace(grouped_workspace::bytes(rows, groups, p.leftRow(), gradient ? p.rightRow() : p.productRow()));
            m.attributes({0});
            if (gradient)
              m.attributes({2});
            m.made.rank = m.made.slot = rank;
            m.made.tolerance = outType == DTCC_F32 ? 3e-5f : outType == DTCC_BF16 ? 1e-2f : 2e-3f;
            cases.push_back(m.made);
          }
}

void addEmbeddings(Cases &cases) {
  for (dtcc_dtype type : floatTypes)
    for (int64_t columns : {5, 24})
      for (int64_t rank : {0, 1}) {
        Maker m("embedding " + text({type, columns, rank}), DTCC_LIB_EMBEDDING, 2);
        m.floats(type, {7, columns}, columns == 5 ? std::vector<int>{1, 0} : std::vector<int>{});
        m.integers(rank ? DTCC_I64 : DTCC_I32, 40, -1, 15);
        m.output(type, std::vector<int64_t>{40, columns}, {}, columns == 5 ? 1 : 0);
        m.attributes({0});
        m.made.rank = rank, m.made.tolerance = 0;
        cases.push_back(m.made);
        for (int64_t rows : {40, 2500}) {
          int64_t table = rows == 40 ? 7 : 700;
          Maker g("embedding gradient " + text({type, columns, rank, rows}), DTCC_LIB_SCATTER_ADD, 2, 2);
          g.floats(type, {rows, columns}, {}, rank);
          g.integers(rank ? DTCC_I64 : DTCC_I32, rows, -1, 2 * table + 1);
          g.output(DTCC_F32, std::vector<int64_t>{table, columns}, {}, rank);
          g.attributes({0, rank + 1, rank ? 9 : -1});
          g.made.rank = rank, g.made.slot = columns == 5;
          g.made.tolerance = rows == 40 ? 0 : 2e-6f; // parts of sums are added where there are several segments
          cases.push_back(g.made);
        }
      }
}

void addCrossEntropy(Cases &cases) {
  for (int64_t columns : {3, 50, 1500, 5000})
    for (int64_t rank : {0, 1}) {
      const int64_t rows = 9, classes = 2 * columns - 2;
      auto labels = [&](Maker &m) { m.integers(rank ? DTCC_I64 : DTCC_I32, rows, -1, classes); };
      Maker s("cross entropy statistics " + text({columns, rank}), DTCC_LIB_CE_STATS, 2);
      s.floats(DTCC_F32, {rows, columns}, {}, rank, 4);
      labels(s);
      for (int i = 0; i < 3; ++i)
        s.output(DTCC_F32, std::vector<int64_t>{rows});
      s.attributes({0, classes});
      s.made.rank = rank;
      cases.push_back(s.made);
      for (auto [inPlace, type] :
           {std::pair(0, DTCC_F32), std::pair(1, DTCC_F32), std::pair(0, DTCC_BF16), std::pair(0, DTCC_F16)}) {
        Maker g("cross entropy gradient " + text({type, columns, rank, inPlace}), DTCC_LIB_CE_GRAD, 2);
        size_t logits = g.floats(DTCC_F32, {rows, columns}, {}, rank, 4);
        labels(g);
        g.content(rank ? DTCC_F64 : DTCC_F32, {rows}, std::vector<float>(static_cast<size_t>(rows), 9.5f));
        size_t grad = g.output(type, std::vector<int64_t>{rows, columns}, {}, inPlace ? rank : 2);
        if (inPlace) {
          g.command().view(grad) = g.command().view(logits);
        }
        g.attributes({0, classes, -1, rank});
        g.made.rank = rank;
        cases.push_back(g.made);
      }
    }
  Maker m("cross entropy merge", DTCC_LIB_CE_MERGE);
  const float none = -std::numeric_limits<float>::infinity();
  m.content(DTCC_F32, {4}, {1, none, none, -3});
  m.content(DTCC_F32, {4}, {1.5f, none, 2, -3});
  m.made.outputs = {m.content(DTCC_F32, {4}, {7, 0, 0, 11})};
  cases.push_back(m.made);
  for (int64_t rows : {5, 3000})
    for (int64_t mode : {0, 1, 2}) {
      Maker l("cross entropy loss " + text({rows, mode}), DTCC_LIB_CE_LOSS, 1, 2);
      std::vector<float> sums;
      for (int64_t i = 0; i < rows; ++i)
        sums.push_back(1 + static_cast<float>(i) * 0.37f);
      l.floats(DTCC_F32, {rows}, {}, 0, 3);
      l.content(DTCC_F32, {rows}, sums);
      l.floats(DTCC_F32, {rows});
      l.integers(DTCC_I64, rows, 0, 4);
      for (auto sizes : {std::vector<int64_t>{rows}, std::vector<int64_t>{}, std::vector<int64_t>{}})
        l.output(DTCC_F32, sizes);
      l.attributes({2, mode != 1, mode});
      l.made.slot = mode == 2;
      cases.push_back(l.made);
    }
}

void addRows(Cases &cases) {
  for (int64_t columns : {1, 8, 77})
    for (int64_t picked : {1, 3}) {
      if (picked > columns)
        continue;
      Maker m("top k " + text({columns, picked}), DTCC_LIB_TOP_K);
      std::vector<float> values;
      for (int64_t i = 0; i < 6 * columns; ++i)
        values.push_back(i % 17 == 5 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i * 31 % 11));
      m.content(DTCC_F32, {6, columns}, values);
      m.output(DTCC_F32, std::vector<int64_t>{6, picked});
      m.made.outputs.push_back(
          m.command().longs({6, picked}, std::vector<int64_t>(static_cast<size_t>(6 * picked), -9)));
      m.made.tolerance = 0;
      cases.push_back(m.made);
    }
  for (int64_t chunks : {0, 4})
    for (int64_t rank : {0, 1})
      for (int64_t inverse : {0, 1})
        for (int64_t columns : {1, 3, 16})
          for (dtcc_dtype type : {DTCC_F32, DTCC_BF16}) {
            // Ten positions, padded to twelve rows of two ranks; the way back has all rows.
            Maker m("reorder " + text({chunks, rank, inverse, columns, type}), DTCC_LIB_REORDER, 2);
            m.floats(type, {2, inverse ? 12 : 10, columns});
            m.output(type, std::vector<int64_t>{2, inverse ? 10 : 6, columns});
            m.attributes({inverse ? -1 : 0, chunks, inverse, 0});
            m.made.rank = rank, m.made.tolerance = 0;
            cases.push_back(m.made);
          }
  Maker m("reorder ids", DTCC_LIB_REORDER);
  m.command().longs({1, 5, 1}, {1, 2, 3, 4, 5});
  m.made.outputs = {m.command().longs({1, 8, 1}, std::vector<int64_t>(8))};
  m.attributes({-1, 0, 0, -100});
  cases.push_back(m.made);
}

void addWindows(Cases &cases) {
  struct Shape {
    int64_t n, g, c, o, image[3], window[3], strides[3], dilations[3], low[3], high[3];
  };
  const Shape shapes[] = {
      {2, 1, 3, 5, {1, 9, 8}, {1, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
      {1, 2, 2, 3, {4, 5, 6}, {2, 3, 1}, {1, 1, 2}, {1, 2, 1}, {0, 2, 0}, {1, 1, 0}},
      {2, 3, 1, 1, {1, 1, 20}, {1, 1, 5}, {1, 1, 3}, {1, 1, 2}, {0, 0, 4}, {0, 0, 2}},
      {1, 1, 70, 66, {1, 6, 6}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
      // Rows and left matrices by 16 bytes, tiles of 64 and 128 rows, more columns than a tile has.
      {3, 1, 8, 24, {1, 12, 12}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
      {1, 1, 72, 136, {1, 8, 8}, {1, 2, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0}, {0, 0, 1}},
      // A depth in parts; strides with and without common factors with dilations; phases without a window cell.
      {2, 1, 3, 8, {1, 30, 30}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
      {1, 1, 5, 6, {1, 13, 17}, {1, 4, 3}, {1, 2, 3}, {1, 2, 2}, {0, 1, 2}, {0, 3, 2}},
      {2, 1, 3, 5, {1, 8, 9}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
      // Products of the library: by samples, by groups; depthwise, two results a channel.
      {2, 1, 16, 8, {1, 4, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
      {1, 3, 8, 16, {1, 4, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
      {2, 6, 1, 2, {1, 9, 7}, {1, 3, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 2}, {0, 1, 1}},
  };
  int number = 0;
  for (const Shape &s : shapes) {
    int64_t y[3];
    for (int d = 0; d < 3; ++d)
      y[d] = (s.image[d] + s.low[d] + s.high[d] - (s.window[d] - 1) * s.dilations[d] - 1) / s.strides[d] + 1;
    const std::vector<int64_t> image = {s.n, s.g, s.c, s.image[0], s.image[1], s.image[2]},
                               kernel = {s.g, s.o, s.c, s.window[0], s.window[1], s.window[2]},
                               result = {s.n, s.g, s.o, y[0], y[1], y[2]};
    auto steps = [&](Maker &m) {
      for (const int64_t *three : {s.strides, s.dilations, s.low})
        m.attributes({three[0], three[1], three[2]});
    };
    ++number;
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16, DTCC_F16})
      for (int64_t kind : {0, 1, 2, 3, 4}) {
        // The kernel's gradient: of a first slot, added up, of the operands' type.
        const dtcc_library_op ops[] = {DTCC_LIB_CONVOLUTION, DTCC_LIB_CONVOLUTION_INPUT_GRAD,
                                       DTCC_LIB_CONVOLUTION_KERNEL_GRAD, DTCC_LIB_CONVOLUTION_KERNEL_GRAD,
                                       DTCC_LIB_CONVOLUTION_KERNEL_GRAD};
        if (kind == 4 && type == DTCC_F32)
          continue;
        Maker m("convolution " + text({number, type, kind}), ops[kind], 1, 2);
        m.floats(type, kind == 0 ? image : result);
        m.floats(type, kind < 2 ? kernel : image);
        m.output(kind == 2 || kind == 3 ? DTCC_F32 : type, kind == 0 ? result : kind == 1 ? image : kernel);
        steps(m);
        if (kind >= 2)
          m.attributes({2});
        m.made.slot = kind >= 3;
        // Sums differ by their order, which halves may round apart.
        const int64_t taps = s.window[0] * s.window[1] * s.window[2];
        const int64_t terms = kind == 0 ? s.c * taps : kind == 1 ? s.o * taps : s.n * y[0] * y[1] * y[2];
        const float order = std::max(2e-5f, 2e-6f * std::sqrt(static_cast<float>(terms)));
        const float rounding = type == DTCC_F32 ? order : type == DTCC_BF16 ? 8e-3f : 1e-3f;
        m.made.tolerance = kind == 2 || kind == 3 ? order : rounding;
        // It rounds sums of the kernel's gradient before they are added, and on an H100 or H200 parts of sums of f16.
        const float many = kind < 2 ? std::max(1.0f, 1e-2f / rounding) : std::sqrt(static_cast<float>(terms));
        m.made.cudnnTolerance = type == DTCC_F32 ? rounding : rounding * many;
        cases.push_back(m.made);
      }
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16, DTCC_F16})
      for (int64_t gradient : {0, 1}) {
        const std::vector<int64_t> planes = {s.n, s.c, s.image[0], s.image[1], s.image[2]},
                                   pooled = {s.n, s.c, y[0], y[1], y[2]};
        Maker m("pooling " + text({number, type, gradient}), gradient ? DTCC_LIB_MAX_POOL_GRAD : DTCC_LIB_MAX_POOL);
        if (gradient)
          m.floats(type, pooled);
        m.floats(type, planes);
        m.output(type, gradient ? planes : pooled);
        m.attributes({s.window[0], s.window[1], s.window[2]});
        steps(m);
        m.made.tolerance = 0;
        cases.push_back(m.made);
      }
  }
}

/// Recurrent layers of all cells in both directions, and their gradients. Names of layers whose products may round
/// their factors start with "rounding".
void addRecurrences(Cases &cases) {
  struct Shape {
    int64_t steps, samples, units;
  };
  for (Shape s : {Shape{1, 2, 3}, Shape{5, 3, 7}, Shape{4, 2, 40}})
    for (uint32_t number = 0; number < kRecurrentCells; ++number)
      for (int64_t reverse : {0, 1})
        for (int64_t form : {0, 1, 2}) {
          const auto cell = static_cast<RecurrentCell>(number);
          const bool hasC = cell == RecurrentCell::Lstm, resetAfter = cell == RecurrentCell::GruResetAfter;
          const RecurrentCellInfo &info = kRecurrentCellInfos[number];
          const std::vector<int64_t> inputs = {s.steps, s.samples, info.gates, s.units}, state = {s.samples, s.units},
                                     states = {s.steps, s.samples, s.units},
                                     saved = {s.steps, s.samples, info.saved, s.units},
                                     weight = {info.gates, s.units, s.units};
          const bool gradient = form > 0, hasDc = form == 2, mayRound = s.units > 8;
          if (hasDc && !hasC)
            continue;
          Maker m((mayRound ? "rounding recurrence " : "recurrence ") +
                      text({s.steps, s.samples, s.units, number, reverse, form}),
                  gradient ? DTCC_LIB_RECURRENCE_GRAD : DTCC_LIB_RECURRENCE);
          auto floats = [&](const std::vector<int64_t> &sizes) { m.floats(DTCC_F32, sizes, {}, 0, 0.5f); };
          auto output = [&](const std::vector<int64_t> &sizes) { m.output(DTCC_F32, sizes); };
          floats(gradient ? states : inputs);
          // Gradients neither grow nor shrink much from step to step, or sums would round by more than the tolerance.
          m.floats(DTCC_F32, weight, {}, 0, 1 / std::sqrt(static_cast<float>(s.units)));
          if (gradient) {
            floats(states), floats(state), floats(saved);
            if (hasC)
              floats(states), floats(state);
            if (hasDc)
              floats(states);
            output(inputs), output(state);
          } else {
            floats(state);
            if (hasC || resetAfter)
              floats(hasC ? state : std::vector<int64_t>{s.units});
            output(states);
            if (hasC)
              output(states);
            output(saved);
          }
          if (gradient && (hasC || resetAfter))
            output(hasC ? state : inputs);
          m.workspace(s.samples * s.units * int64_t{sizeof(float)});
          m.attributes({number, reverse, mayRound});
          if (gradient)
            m.attributes({hasDc});
          m.made.tolerance = 2e-5f;
          cases.push_back(m.made);
        }
}

} // namespace

std::vector<KernelCase> kernelCases() {
  Cases cases;
  addCopies(cases);
  addProducts(cases);
  addGroupedProducts(cases);
  addEmbeddings(cases);
  addCrossEntropy(cases);
  addUpdates(cases);
  addRows(cases);
  addWindows(cases);
  addRecurrences(cases);
  addAttention(cases);
  return cases;
}

} // namespace dtcc::rt::test
