//===- ExpertReadings.cpp - Which parameter is what of an expert layer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/recover/ExpertReadings.h"
#include "dialects/graph/Shapes.h"
#include "llvm/ADT/MapVector.h"
#include <algorithm>

using namespace mlir;

namespace dtcc::graph {

namespace {

class Readings {
public:
  Readings(SmallRegion &region, int64_t experts) : region(region), experts(experts) {}

  std::vector<ExpertReading> run(unsigned channels, unsigned result) {
    std::vector<ExpertReading> found;
    SmallVector<Value> matrices, biases;
    for (Value parameter : region.parameters())
      (isMatrix(parameter, channels, result) ? matrices : biases).push_back(parameter);
    if (matrices.size() < 2)
      return {};
    if (matrices.size() == 2)
      for (auto [in, out] : {std::pair(matrices[0], matrices[1]), std::pair(matrices[1], matrices[0])})
        addPair(in, out, channels, result, found);
    if (matrices.size() <= 3)
      forEachOrder(matrices.size(),
                   [&](ArrayRef<unsigned> order) { addMatrices(inOrder(matrices, order), channels, result, found); });
    else
      addLists(matrices, channels, result, found);
    if (!biases.empty())
      found = withBiases(biases, result, found);
    return found;
  }

private:
  /// Whether a parameter of the region is a matrix, of one expert or of all, and no bias.
  bool isMatrix(Value parameter, unsigned channelClass, unsigned resultClass) {
    if (llvm::all_of(region.parameters(), [](Value each) { return rankOf(each) <= 2; }))
      return rankOf(parameter) == 2;
    return rankOf(parameter) > 2 && (find(parameter, channelClass) >= 0 || find(parameter, resultClass) >= 0);
  }

  /// The readings with all biases. Those of gate and up may be told apart by their order alone.
  std::vector<ExpertReading> withBiases(ArrayRef<Value> biases, unsigned resultClass,
                                        ArrayRef<ExpertReading> readings) {
    std::vector<ExpertReading> found;
    for (const ExpertReading &reading : readings)
      for (bool upFirst : {false, true}) {
        const bool inOne = reading.gate[0].pair >= 0;
        if (upFirst && (reading.up.empty() || inOne))
          continue;
        ExpertReading with = reading;
        SmallVector<Value> left(biases);
        auto width = [&](size_t number) {
          const ExpertPart &out = reading.out[number];
          return region.classOf(out.parameter, out.column);
        };
        if (upFirst)
          with.upBias = takeBiases(reading.up, width, left);
        with.gateBias = takeBiases(reading.gate, width, left);
        if (inOne && !with.gateBias.empty()) {
          with.upBias = with.gateBias;
          with.upBias[0].place = reading.up[0].place;
        } else if (!upFirst) {
          with.upBias = takeBiases(reading.up, width, left);
        }
        with.outBias = takeBiases(reading.out, [&](size_t) { return resultClass; }, left);
        if ((reading.up.empty() || with.gateBias.empty() == with.upBias.empty()) &&
            with.parameters().size() == region.parameters().size())
          found.push_back(with);
      }
    return found;
  }

  /// The biases of matrices, one for each, whose rows have these classes: nothing if one has none. They are taken from
  /// those that are left.
  SmallVector<ExpertPart> takeBiases(ArrayRef<ExpertPart> matrices,
                                     llvm::function_ref<unsigned(size_t number)> rowClass, SmallVector<Value> &left) {
    SmallVector<ExpertPart> found;
    for (auto [number, matrix] : llvm::enumerate(matrices))
      for (Value bias : left)
        if (std::optional<ExpertPart> part = biasOf(bias, rowClass(number), matrix)) {
          found.push_back(*part);
          llvm::erase(left, bias);
          break;
        }
    return found.size() == matrices.size() ? found : SmallVector<ExpertPart>();
  }

  std::optional<ExpertPart> biasOf(Value bias, unsigned rowClass, const ExpertPart &matrix) {
    int64_t rank = 1 + (matrix.expert >= 0) + (matrix.pair >= 0), row = find(bias, rowClass);
    if (rankOf(bias) != rank || row < 0)
      return std::nullopt;
    int64_t rest = rank * (rank - 1) / 2 - row, pair = -1;
    if (matrix.pair >= 0) {
      pair = find(bias, region.classOf(matrix.parameter, matrix.pair));
      rest -= pair;
      if (pair < 0 || pair == row)
        return std::nullopt;
    }
    if (matrix.expert < 0)
      return ExpertPart{bias, row};
    if (rest == row || shapeOf(bias)[rest] != experts)
      return std::nullopt;
    return ExpertPart{bias, row, -1, rest, pair, matrix.place};
  }

  static void forEachOrder(size_t count, llvm::function_ref<void(ArrayRef<unsigned>)> body) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, count));
    do
      body(order);
    while (std::next_permutation(order.begin(), order.end()));
  }
  static SmallVector<Value> inOrder(ArrayRef<Value> values, ArrayRef<unsigned> order) {
    return llvm::map_to_vector(order, [&](unsigned at) { return values[at]; });
  }

  /// The dimension of a class, or -1.
  int64_t find(Value value, unsigned wanted) {
    for (int64_t dim = 0; dim < rankOf(value); ++dim)
      if (region.classOf(value, dim) == wanted)
        return dim;
    return -1;
  }

  /// Gates and what they multiply in one parameter, in either order.
  void addPair(Value in, Value out, unsigned channelClass, unsigned resultClass, std::vector<ExpertReading> &found) {
    if (rankOf(in) != 4 || rankOf(out) != 3)
      return;
    int64_t channels = find(in, channelClass), result = find(out, resultClass);
    for (int64_t width = 0; width < 3 && channels >= 0 && result >= 0; ++width) {
      int64_t stacked = 3 - result - width, wide = find(in, region.classOf(out, width));
      if (width == result || wide < 0 || wide == channels || shapeOf(out)[stacked] != experts)
        continue;
      for (int64_t pair = 0; pair < 4; ++pair) {
        int64_t expert = 6 - channels - wide - pair;
        if (pair == channels || pair == wide || expert == pair || shapeOf(in)[pair] != 2 ||
            shapeOf(in)[expert] != experts)
          continue;
        for (int64_t gate : {0, 1}) {
          ExpertReading reading;
          reading.gate = {{in, wide, channels, expert, pair, gate}};
          reading.up = {{in, wide, channels, expert, pair, 1 - gate}};
          reading.out = {{out, result, width, stacked}};
          found.push_back(reading);
        }
      }
    }
  }

  /// Gate, up and out, or what is activated and out: of all experts where the parameters have three dimensions, of one
  /// where they have two.
  void addMatrices(ArrayRef<Value> matrices, unsigned channelClass, unsigned resultClass,
                   std::vector<ExpertReading> &found) {
    Value out = matrices.back();
    int64_t rank = rankOf(out), result = find(out, resultClass);
    if ((rank != 2 && rank != 3) || result < 0 ||
        llvm::any_of(matrices, [&](Value matrix) { return rankOf(matrix) != rank; }))
      return;
    for (int64_t width = 0; width < rank; ++width) {
      if (width == result)
        continue;
      auto part = [&](Value value, unsigned rowClass, unsigned columnClass) -> std::optional<ExpertPart> {
        int64_t row = find(value, rowClass), column = find(value, columnClass);
        if (row < 0 || column < 0 || row == column)
          return std::nullopt;
        int64_t expert = rank == 3 ? 3 - row - column : -1;
        if (expert >= 0 && shapeOf(value)[expert] != experts)
          return std::nullopt;
        return ExpertPart{value, row, column, expert};
      };
      unsigned wide = region.classOf(out, width);
      ExpertReading reading;
      bool fits = true;
      auto add = [&](SmallVector<ExpertPart> &parts, std::optional<ExpertPart> one) {
        fits &= one.has_value();
        if (one)
          parts.push_back(*one);
      };
      add(reading.gate, part(matrices[0], wide, channelClass));
      if (matrices.size() == 3)
        add(reading.up, part(matrices[1], wide, channelClass));
      add(reading.out, part(out, resultClass, wide));
      if (fits)
        found.push_back(reading);
    }
  }

  /// Two or three matrices of each expert, which their width tells apart. Experts are read in their order or from the
  /// last one on, and the matrices of all of them in one order.
  void addLists(ArrayRef<Value> parameters, unsigned channelClass, unsigned resultClass,
                std::vector<ExpertReading> &found) {
    llvm::MapVector<unsigned, SmallVector<Value>> byWidth;
    for (Value parameter : parameters) {
      if (rankOf(parameter) != 2)
        return;
      unsigned first = region.classOf(parameter, 0), second = region.classOf(parameter, 1);
      bool firstIsChannels = first == channelClass || first == resultClass;
      byWidth[firstIsChannels ? second : first].push_back(parameter);
    }
    const size_t count = parameters.size() / experts;
    if (int64_t(byWidth.size()) != experts || (count != 2 && count != 3) ||
        llvm::any_of(byWidth, [&](const auto &group) { return group.second.size() != count; }))
      return;
    forEachOrder(count, [&](ArrayRef<unsigned> order) {
      ExpertReading reading;
      for (const auto &[width, matrices] : byWidth) {
        std::vector<ExpertReading> one;
        addMatrices(inOrder(matrices, order), channelClass, resultClass, one);
        if (one.empty())
          break;
        reading.gate.append(one[0].gate);
        reading.up.append(one[0].up);
        reading.out.append(one[0].out);
      }
      if (int64_t(reading.gate.size()) != experts)
        return;
      found.push_back(reading);
      for (SmallVector<ExpertPart> *parts : {&reading.gate, &reading.up, &reading.out})
        std::reverse(parts->begin(), parts->end());
      found.push_back(reading);
    });
  }

  SmallRegion &region;
  int64_t experts;
};
} // namespace

std::vector<ExpertReading> readExperts(SmallRegion &region, int64_t experts, unsigned channels, unsigned result) {
  return Readings(region, experts).run(channels, result);
}

} // namespace dtcc::graph
