//===- UpdateCases.cpp - Commands of the update
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "runtime/abi/TensorFactors.h"
#include "runtime/core/DynamicCodes.h"
#include "tests/conformance/CaseMaker.h"

#include <cmath>
#include <limits>

namespace dtcc::rt::test {
namespace {

void addSteps(Cases &cases) {
  for (int64_t size : {int64_t{1}, int64_t{1001}, int64_t{300000}})
    for (auto [mode, type] : {std::pair{0, DTCC_F32}, {1, DTCC_F32}, {0, DTCC_BF16}, {1, DTCC_F16}}) {
      Maker m("sum of squares " + text({size, mode, type}), DTCC_LIB_SUM_SQUARES);
      m.floats(type, {size});
      m.output(DTCC_F32, std::vector<int64_t>{});
      m.attributes({mode});
      cases.push_back(m.made);
    }
  auto scalar = [](Maker &m, float value) { return m.content(DTCC_F32, {}, {value}); };
  const float infinity = std::numeric_limits<float>::infinity();
  for (float squares : {400.0f, 0.3f, 0.0f, infinity})
    for (float count : {10.0f, 0.0f})
      for (double clip : {0.0, 1.0}) {
        Maker m("gradient scale", DTCC_LIB_GRAD_SCALE);
        scalar(m, squares), scalar(m, count);
        m.output(DTCC_F32, std::vector<int64_t>{}), m.output(DTCC_F32, std::vector<int64_t>{});
        m.reals({clip});
        cases.push_back(m.made);
        Maker u("gradient unscale", DTCC_LIB_GRAD_UNSCALE);
        scalar(u, squares), scalar(u, count), scalar(u, 1024);
        u.output(DTCC_F32, std::vector<int64_t>{}), u.output(DTCC_F32, std::vector<int64_t>{});
        u.made.outputs.push_back(u.command().operand(DTCC_I32, {}, std::vector<int32_t>{7}));
        u.reals({clip, 0.5});
        cases.push_back(u.made);
      }
  for (float sum : {-3.0f, infinity})
    for (float count : {10.0f, 0.0f}) {
      Maker m("scale of the mean", DTCC_LIB_MEAN_SCALE);
      scalar(m, sum), scalar(m, count);
      m.output(DTCC_F32, std::vector<int64_t>{});
      cases.push_back(m.made);
    }
  for (int32_t finite : {0, 1})
    for (float streak : {0.0f, 9.0f})
      for (float scale : {1024.0f, 3e38f}) {
        Maker m("loss scale", DTCC_LIB_LOSS_SCALE_ADJUST);
        m.command().operand(DTCC_I32, {}, std::vector<int32_t>{finite});
        m.command().longs({}, {12});
        m.made.outputs = {scalar(m, scale), scalar(m, streak), scalar(m, 2), m.command().longs({}, {77})};
        m.reals({2.0, 0.5});
        m.attributes({10});
        cases.push_back(m.made);
      }
  struct Rule {
    dtcc_library_op op;
    int64_t slots;
    std::vector<double> reals;
    std::vector<int64_t> flags;
  };
  const Rule rules[] = {{DTCC_LIB_ADAMW, 2, {0.9, 0.999, 1e-8, 0}, {1, 1, 0}},
                        {DTCC_LIB_ADAMW, 2, {0.8, 0.95, 1e-6, 0}, {0, 0, 0}},
                        {DTCC_LIB_ADAMW, 2, {0.8, 0.95, 1e-2, 0.125}, {2, 2, 3}},
                        {DTCC_LIB_ADAMW, 2, {0.8, 0.95, 1e-2, 0.125}, {0, 2, -1}},
                        {DTCC_LIB_SGD, 0, {0.0, 0.0}, {0, 0}},
                        {DTCC_LIB_SGD, 1, {0.9, 0.25}, {0, 1}},
                        {DTCC_LIB_SGD, 1, {0.9, 0.0}, {1, 0}},
                        {DTCC_LIB_ADAGRAD, 1, {0.5, 1e-2}, {2}},
                        {DTCC_LIB_LION, 1, {0.9, 0.99}, {}}};
  for (const Rule &rule : rules)
    for (int64_t size : {int64_t{9}, int64_t{9000}})
      for (int64_t rank : {0, 1})
        for (dtcc_dtype copy : floatTypes) {
          Maker m("update " + text({rule.op, size, rank, copy, rule.flags.empty() ? 0 : rule.flags[0]}), rule.op, 2);
          // Gradients in halves stand beside copies in halves.
          m.floats(copy, {size});
          scalar(m, 0.25f), scalar(m, 0.01f);
          m.command().longs({}, {rank ? 100 : 1});
          m.output(DTCC_F32, std::vector<int64_t>{size});
          for (int64_t slot = 0; slot < rule.slots; ++slot) {
            // Second moments are not negative.
            std::vector<float> values;
            for (int64_t i = 0; i < size; ++i)
              values.push_back(static_cast<float>(i % 13) * 0.01f);
            m.made.outputs.push_back(m.content(DTCC_F32, {size}, values));
          }
          if (copy != DTCC_F32)
            m.output(copy, std::vector<int64_t>{size});
          m.command().bucket(2 * size);
          m.command().segment(0, 2, size - 3, 0.1, 2);
          m.command().segment(0, size - 1, size / 2, 0, 1);
          m.command().segment(0, size + size / 2, 2, 0.2, 0.5);
          m.attributes({0, 0}).reals({});
          for (double real : rule.reals)
            m.reals({real});
          for (int64_t flag : rule.flags)
            m.attributes({flag});
          m.made.rank = rank;
          m.made.tolerance = copy == DTCC_F32 ? 2e-6f : copy == DTCC_BF16 ? 8e-3f : 1e-3f;
          cases.push_back(m.made);
        }
}

/// A first step: moments of 0 give both devices the same bits, so that their codes and scales can be compared as bytes.
void addCodedUpdates(Cases &cases) {
  for (int64_t rank : {0, 1})
    for (dtcc_dtype copy : floatTypes) {
      const int64_t share = 9 * codeBlock;
      Maker m("update of codes " + text({rank, copy}), DTCC_LIB_ADAMW8BIT, 2);
      m.floats(copy, {share});
      for (float value : {0.25f, 0.01f})
        m.content(DTCC_F32, {}, {value});
      m.command().longs({}, {1});
      m.output(DTCC_F32, std::vector<int64_t>{share});
      for (dtcc_codes kind : {DTCC_CODES_SIGNED, DTCC_CODES_UNSIGNED}) {
        std::vector<uint8_t> codes(static_cast<size_t>(codedBytes(share)));
        std::fill_n(codes.begin(), share, static_cast<uint8_t>(DynamicCodes::of(kind).zeroCode()));
        m.made.outputs.push_back(m.command().operand(DTCC_I8, {codedBytes(share)}, codes));
      }
      if (copy != DTCC_F32)
        m.output(copy, std::vector<int64_t>{share});
      m.command().bucket(2 * share);
      // A tensor over both shares, one within the second, and padding behind each.
      m.command().segment(0, 2 * codeBlock, share + 70, 0.1, 2);
      m.command().segment(0, share + 4 * codeBlock, 3 * codeBlock + 9, 0, 1);
      m.attributes({0, 0}).reals({0.9, 0.99, 1e-6});
      m.made.rank = rank;
      m.made.tolerance = copy == DTCC_F32 ? 2e-6f : copy == DTCC_BF16 ? 8e-3f : 1e-3f;
      cases.push_back(m.made);
    }
}

/// The bucket of two shares of `size` cells that ops on whole tensors have: a tensor in both shares, one in the second,
/// and padding behind each.
void addTensors(Maker &m, int64_t size) {
  m.command().bucket(2 * size);
  m.command().segment(0, 2, size, 0.1, 2);
  m.command().segment(0, size + size / 2, size / 4, 0, 1);
  m.attributes({0, 0});
}

void addDirections(Cases &cases) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t size : {int64_t{12}, int64_t{9000}})
    for (int64_t rank : {0, 1})
      for (float scale : {0.25f, nan}) {
        // Operands that all of them begin with.
        auto begin = [&](const char *name, dtcc_library_op op) {
          Maker m(name + text({size, rank, std::isnan(scale)}), op, 2);
          m.floats(DTCC_F32, {size});
          m.content(DTCC_F32, {}, {scale}), m.content(DTCC_F32, {}, {0.01f});
          m.command().longs({}, {3});
          m.made.rank = rank;
          return m;
        };
        for (int64_t nesterov : {0, 1}) {
          Maker m = begin("direction of muon ", DTCC_LIB_MUON_DIRECTION);
          m.floats(DTCC_F32, {size});
          m.output(DTCC_F32, std::vector<int64_t>{size}), m.output(DTCC_F32, std::vector<int64_t>{size});
          addTensors(m, size);
          m.reals({0.9}).attributes({nesterov});
          cases.push_back(m.made);
        }
        Maker m = begin("direction of lamb ", DTCC_LIB_LAMB_DIRECTION);
        m.floats(DTCC_F32, {size});
        m.output(DTCC_F32, std::vector<int64_t>{size});
        m.made.outputs.push_back(m.content(DTCC_F32, {size}, std::vector<float>(static_cast<size_t>(size), 0.5f)));
        m.output(DTCC_F32, std::vector<int64_t>{size});
        addTensors(m, size);
        m.reals({0.9, 0.99, 1e-3});
        cases.push_back(m.made);
        for (int64_t kind : {DTCC_DIRECTION_PLAIN, DTCC_DIRECTION_BY_TRUST, DTCC_DIRECTION_BY_RMS})
          for (dtcc_dtype copy : floatTypes)
            for (int64_t flag : {0, 1}) {
              Maker a = begin("step along a direction ", DTCC_LIB_APPLY_DIRECTION);
              if (kind != DTCC_DIRECTION_PLAIN)
                a.content(DTCC_F32, {4}, {9, 4, 1, 16});
              a.output(DTCC_F32, std::vector<int64_t>{size});
              if (copy != DTCC_F32)
                a.output(copy, std::vector<int64_t>{size});
              addTensors(a, size);
              a.attributes({kind});
              if (kind == DTCC_DIRECTION_BY_RMS)
                a.reals({flag ? 1e-3 : 10, 0.5});
              else
                a.attributes({flag, 1 - flag});
              a.made.tolerance = copy == DTCC_F32 ? 2e-6f : copy == DTCC_BF16 ? 8e-3f : 1e-3f;
              cases.push_back(a.made);
            }
      }
  for (int64_t size : {int64_t{12}, int64_t{200000}})
    for (int64_t rank : {0, 1}) {
      Maker m("squares of tensors " + text({size, rank}), DTCC_LIB_TENSOR_SQUARES, 2);
      m.floats(DTCC_F32, {size}), m.floats(DTCC_F32, {size});
      m.output(DTCC_F32, std::vector<int64_t>{4});
      addTensors(m, size);
      m.made.rank = rank;
      cases.push_back(m.made);
    }
}

/// A bucket of one matrix, in shares of ZeRO, or of which two ranks share out rows or heads.
void addOrthogonal(Cases &cases) {
  struct Shape {
    int64_t rows, columns, heads;
  };
  for (Shape s : {Shape{16, 16, 1}, Shape{24, 40, 4}, Shape{40, 24, 3}, Shape{7, 3, 1}, Shape{1, 9, 3}})
    for (int shared : {-1, 0, 1})
      for (int64_t rank : {0, 1})
        for (int64_t matches : {0, 1}) {
          Maker m("orthogonal " + text({s.rows, s.columns, shared, rank, matches}), DTCC_LIB_ORTHOGONALIZE, 2);
          auto half = [&](int64_t size, int dim) { return dim == shared ? (size + 1) / 2 : size; };
          const int64_t cells = half(s.rows, 0) * half(s.heads, 1) * (s.columns / s.heads);
          const int64_t length = (cells + 3) / 2 * 2, members = shared < 0 ? 1 : 2;
          m.floats(DTCC_F32, {members * length});
          m.output(DTCC_F32, std::vector<int64_t>{shared < 0 ? length / 2 : length});
          m.workspace(std::max(OrthogonalizeLayout(s.rows, s.columns, OrthogonalizeOn::Processor).bytes,
                               OrthogonalizeLayout(s.rows, s.columns, OrthogonalizeOn::Gpu).bytes));
          m.command().state({s.rows, s.columns}, {s.rows, s.heads, s.columns / s.heads},
                            shared < 0 ? std::vector<size_t>() : std::vector{static_cast<size_t>(shared)});
          m.command().bucket(length);
          m.command().segment(0, 1, cells, 0, 1);
          m.attributes({0, shared < 0 ? 0 : -1, shared < 0 ? -1 : 0, 5}).reals({3.4445, -4.7750, 2.0315, 1e-7});
          m.attributes({matches});
          m.made.rank = rank;
          // Sums in another order may round to the other neighbour in bf16, which the steps amplify.
          m.made.tolerance = 3e-2f;
          cases.push_back(m.made);
        }
}

/// A tensor in the bucket of a factored case.
struct FactoredTensor {
  std::vector<int64_t> saved;
  std::vector<int64_t> dims = saved; // in which it lies
  std::vector<size_t> shared = {};   // dimensions that two ranks share out
};

/// Lays the tensors out in a bucket, with padding between them, of which a rank has `shares` parts one.
int64_t layTensors(Maker &m, const std::vector<FactoredTensor> &tensors, int64_t shares) {
  int64_t end = 1;
  std::vector<std::pair<int64_t, int64_t>> places;
  for (const FactoredTensor &tensor : tensors) {
    int64_t cells = 1;
    for (size_t d = 0; d < tensor.dims.size(); ++d)
      cells *= std::count(tensor.shared.begin(), tensor.shared.end(), d) ? (tensor.dims[d] + 1) / 2 : tensor.dims[d];
    places.emplace_back(end, cells);
    end += cells + 3;
  }
  const int64_t length = (end + shares - 1) / shares * shares;
  m.command().bucket(length);
  for (size_t i = 0; i < tensors.size(); ++i)
    m.command().segment(0, places[i].first, places[i].second, 0, 1,
                        m.command().state(tensors[i].saved, tensors[i].dims, tensors[i].shared));
  return length / shares;
}

/// Adafactor on shares of ZeRO, which begin inside rows, and on tensors of which two ranks share out a dimension.
void addFactors(Cases &cases) {
  const std::vector<std::pair<const char *, std::vector<FactoredTensor>>> buckets = {
      {"a scalar", {{{}}}},
      {"vectors", {{{37}}, {{1}}, {{300}}}},
      {"a matrix", {{{7, 5}}}},
      {"matrices of one row and of one column", {{{1, 9}}, {{9, 1}}, {{1, 1}}, {{1, 5000}}, {{2000, 1}}}},
      {"large matrices", {{{12}}, {{700, 20}}, {{3, 2500}}, {{2100, 9}}}},
      {"stacks", {{{5, 4, 3}}, {{2, 600, 3}}, {{3, 20, 40}}, {{6, 4, 3, 3}}}},
      {"rows of two ranks", {{{7, 5}, {7, 5}, {0}}, {{3, 21, 40}, {3, 21, 40}, {1}}, {{31}, {31}, {0}}}},
      {"columns of two ranks", {{{24, 41}, {24, 41}, {1}}, {{600, 9}, {600, 9}, {1}}, {{3, 20, 7}, {3, 20, 7}, {2}}}},
      {"heads of two ranks", {{{24, 40}, {24, 4, 10}, {1}}, {{9, 30}, {9, 3, 10}, {1}}, {{24, 40}, {24, 4, 10}, {2}}}},
      {"stacks of two ranks", {{{5, 4, 3}, {5, 4, 3}, {0}}, {{8, 6, 3, 3}, {2, 4, 6, 3, 3}, {1}}}},
      {"blocks of two ranks",
       {{{3, 8, 10}, {3, 8, 10}, {1, 2}}, {{5, 9, 7}, {5, 9, 7}, {0, 2}}, {{14, 9}, {14, 9}, {0, 1}}}}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto &[name, tensors] : buckets)
    for (int64_t shares : {1, 2})
      for (int64_t rank : {0, 1})
        for (float scale : {0.25f, nan}) {
          int64_t factors = 0;
          for (const FactoredTensor &tensor : tensors) {
            const TensorFactors shape = tensorFactors(tensor.saved.data(), static_cast<int64_t>(tensor.saved.size()));
            factors += shape.rows + shape.columns;
          }
          auto begin = [&](const char *what, dtcc_library_op op) {
            Maker m(what + std::string(name) + " " + text({shares, rank, std::isnan(scale)}), op, 2);
            m.floats(DTCC_F32, {layTensors(m, tensors, shares)});
            m.content(DTCC_F32, {}, {scale});
            m.made.rank = rank;
            return m;
          };
          const int64_t communicator = shares > 1 ? 0 : -1;
          Maker squares = begin("squares by factor of ", DTCC_LIB_FACTOR_SQUARES);
          squares.output(DTCC_F32, std::vector<int64_t>{factors});
          squares.attributes({0, communicator});
          // Processors add up runs of cells in f32.
          squares.made.tolerance = 4e-6f;
          cases.push_back(squares.made);
          auto positive = [&](Maker &m) {
            std::uniform_real_distribution<float> uniform(0, 1);
            std::vector<float> values(static_cast<size_t>(factors));
            for (float &value : values)
              value = uniform(m.random);
            return m.content(DTCC_F32, {factors}, values);
          };
          for (auto [step, eps1] : {std::pair{1, 1e-7}, {3, 0.4}, {5000, 1e-7}}) {
            if (std::isnan(scale) && step > 1)
              break;
            Maker m = begin("direction of adafactor of ", DTCC_LIB_ADAFACTOR_DIRECTION);
            m.made.name += " " + std::to_string(step);
            m.content(DTCC_F32, {}, {0.01f});
            m.command().longs({}, {step});
            positive(m);
            m.made.outputs.push_back(positive(m));
            m.output(DTCC_F32, std::vector<int64_t>{m.command().view(0).sizes[0]});
            m.attributes({0, communicator}).reals({-0.8, eps1});
            cases.push_back(m.made);
          }
        }
}

void addAverages(Cases &cases) {
  for (int64_t size : {int64_t{3}, int64_t{9000}})
    for (int64_t step : {1, 2}) {
      Maker m("average " + text({size, step}), DTCC_LIB_AVERAGE);
      m.floats(DTCC_F32, {size});
      m.command().longs({}, {step});
      m.output(DTCC_F32, std::vector<int64_t>{size});
      m.reals({0.75});
      cases.push_back(m.made);
    }
  for (int64_t size : {int64_t{3}, int64_t{9000}})
    for (dtcc_dtype copy : floatTypes) {
      Maker m("exchange of averages " + text({size, copy}), DTCC_LIB_EXCHANGE);
      m.output(DTCC_F32, std::vector<int64_t>{size}), m.output(DTCC_F32, std::vector<int64_t>{size});
      if (copy != DTCC_F32)
        m.output(copy, std::vector<int64_t>{size});
      m.made.tolerance = 0;
      cases.push_back(m.made);
    }
}

} // namespace

void addUpdates(Cases &cases) {
  addSteps(cases);
  addCodedUpdates(cases);
  addDirections(cases);
  addOrthogonal(cases);
  addFactors(cases);
  addAverages(cases);
}

} // namespace dtcc::rt::test
