//===- Factors.cpp - Second moments by rows and columns -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Factors.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

/// Cells that are worth a thread.
constexpr int64_t grainOfFactors = 16384;
/// Columns whose sums a thread keeps at a time.
constexpr int64_t columnsOfChunk = 64;

int64_t tasksOfThread(int64_t cellsOfTask) {
  return std::max<int64_t>(1, grainOfFactors / std::max<int64_t>(1, cellsOfTask));
}

/// The part of row `row` that belongs to the cells, in cells of the tensor.
std::pair<int64_t, int64_t> partOfRow(const TensorCells &cells, int64_t row) {
  return {std::max(row * cells.shape.rowLength, cells.begin),
          std::min((row + 1) * cells.shape.rowLength, cells.begin + cells.length)};
}

/// Adds the squares of some columns, from `column` on, of the rows [begin, end) of one matrix to their sums.
void addColumns(const TensorCells &cells, int64_t begin, int64_t end, int64_t column, double factor, const float *grad,
                float *sums) {
  double chunk[columnsOfChunk] = {};
  for (int64_t row = begin; row < end; ++row) {
    auto [from, to] = partOfRow(cells, row);
    const int64_t start = row * cells.shape.rowLength + column;
    from = std::max(from, start), to = std::min(to, start + columnsOfChunk);
    for (int64_t i = from; i < to; ++i) {
      const auto g = static_cast<double>(grad[i - cells.begin]);
      chunk[i - start] += g * g;
    }
  }
  const int64_t count = std::min(columnsOfChunk, cells.shape.rowLength - column);
  for (int64_t i = 0; i < count; ++i)
    sums[column + i] += static_cast<float>(chunk[i] * factor);
}

} // namespace

void addFactorSquares(ThreadTeam &team, const VectorKernels &kernels, const TensorCells &cells, float scale,
                      const float *grad, float *sums) {
  const TensorFactors &shape = cells.shape;
  const int64_t first = cells.firstRow(), end = cells.endRow();
  const double factor = static_cast<double>(scale) * static_cast<double>(scale);
  team.parallelFor(end - first, tasksOfThread(shape.rowLength), [&](int64_t from, int64_t to) {
    for (int64_t row = first + from; row < first + to; ++row) {
      auto [begin, past] = partOfRow(cells, row);
      sums[row] += static_cast<float>(kernels.sumSquares(grad + begin - cells.begin, past - begin) * factor);
    }
  });
  if (shape.columns == 0)
    return;
  const int64_t matrix = first / shape.columnLength, matrices = (end - 1) / shape.columnLength + 1 - matrix;
  const int64_t chunks = (shape.rowLength + columnsOfChunk - 1) / columnsOfChunk;
  const int64_t cellsOfTask = std::min(shape.columnLength, end - first) * std::min(shape.rowLength, columnsOfChunk);
  team.parallelFor(matrices * chunks, tasksOfThread(cellsOfTask), [&](int64_t from, int64_t to) {
    for (int64_t task = from; task < to; ++task) {
      const int64_t row = (matrix + task / chunks) * shape.columnLength;
      addColumns(cells, std::max(row, first), std::min(row + shape.columnLength, end), task % chunks * columnsOfChunk,
                 factor, grad, sums + shape.rows + shape.firstColumnOf(row));
    }
  });
}

void updateFactors(const TensorFactors &shape, float weight, const float *sums, float *factors) {
  // torch.lerp, which gives the second value at the weight 1.
  auto lerp = [weight](float from, float to) {
    return weight < 0.5f ? from + weight * (to - from) : to - (to - from) * (1 - weight);
  };
  for (int64_t i = 0; i < shape.rows + shape.columns; ++i)
    factors[i] = lerp(factors[i], sums[i] / static_cast<float>(i < shape.rows ? shape.rowLength : shape.columnLength));
}

void meansOfRows(ThreadTeam &team, const TensorFactors &shape, float eps1, const float *factors,
                 std::span<float> means) {
  const int64_t matrices = shape.rows / shape.columnLength;
  team.parallelFor(matrices, tasksOfThread(shape.columnLength), [&](int64_t from, int64_t to) {
    for (int64_t matrix = from; matrix < to; ++matrix) {
      double sum = 0;
      for (int64_t i = 0; i < shape.columnLength; ++i)
        sum += static_cast<double>(factors[matrix * shape.columnLength + i]);
      means[static_cast<size_t>(matrix)] =
          std::max(static_cast<float>(sum / static_cast<double>(shape.columnLength)), eps1);
    }
  });
}

void factoredDirection(ThreadTeam &team, const TensorCells &cells, float eps1, float scale, const float *factors,
                       std::span<const float> means, const float *grad, float *direction) {
  const TensorFactors &shape = cells.shape;
  const int64_t first = cells.firstRow(), end = cells.endRow();
  const float least = eps1 * eps1;
  team.parallelFor(end - first, tasksOfThread(shape.rowLength), [&](int64_t from, int64_t to) {
    for (int64_t row = first + from; row < first + to; ++row) {
      auto [begin, past] = partOfRow(cells, row);
      const float ofRow = factors[row], mean = means[static_cast<size_t>(row / shape.columnLength)];
      const float *columns = factors + shape.rows + shape.firstColumnOf(row) - row * shape.rowLength;
      for (int64_t i = begin; i < past; ++i) {
        float estimate = shape.columns == 0 ? ofRow : ofRow * columns[i] / mean;
        direction[i - cells.begin] = grad[i - cells.begin] * scale / std::sqrt(std::max(estimate, least));
      }
    }
  });
}

} // namespace dtcc::rt
