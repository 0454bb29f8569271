//===- Factors.cu - Adafactor by rows and columns
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas and their order of operations are those of runtime/kernels/Factors.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Reduce.h"
#include "runtime/cuda/kernels/updates/Chunks.h"
#include "runtime/cuda/kernels/updates/Factors.h"

using namespace dtcc::rt::cuda;

namespace {

/// The sum over neighbouring `threads` threads of the block, which are 1, a warp or all of it.
DTCC_DEVICE double sumOfThreads(double value, int threads, double *room) {
  if (threads == 1)
    return value;
  if (threads == warpSize)
    return reduceWarp(value, [](double a, double b) { return a + b; });
  return sumBlock(value, room);
}

/// The squares of a thread's cells of a row: every `threads`-th of each run.
DTCC_DEVICE double squaresOfRow(const FactorSquares &p, const FactoredTensor &tensor, int64_t row, int thread,
                                int threads) {
  const int64_t begin = row * tensor.shape.rowLength, end = begin + tensor.shape.rowLength;
  const FactoredRuns *runs = p.runs + tensor.firstRuns;
  const int64_t count = tensor.endRuns - tensor.firstRuns;
  double sum = 0;
  for (int64_t i = firstEndBehind(count, begin, [runs](int64_t k) { return runs[k].wholeEnd(); });
       i < count && runs[i].whole < end; ++i) {
    const FactoredRuns &all = runs[i];
    for (int64_t run = all.whole >= begin ? 0 : (begin - all.whole) / all.wholeStep; run < all.count; ++run) {
      const int64_t whole = all.whole + run * all.wholeStep;
      if (whole >= end)
        break;
      const float *grad = p.grad + all.begin + run * all.step - whole;
      const int64_t last = least(whole + all.length, end);
      for (int64_t cell = largest(whole, begin) + thread; cell < last; cell += threads)
        sum += static_cast<double>(grad[cell]) * grad[cell];
    }
  }
  return sum;
}

/// The squares of a thread's cells of a column: those `distance` cells from each other, from `cell` on and before
/// `end`.
DTCC_DEVICE double squaresOfColumn(const FactorSquares &p, const FactoredTensor &tensor, int64_t cell, int64_t end,
                                   int64_t distance) {
  const FactoredRuns *runs = p.runs + tensor.firstRuns;
  const int64_t count = tensor.endRuns - tensor.firstRuns;
  double sum = 0;
  for (int64_t i = firstEndBehind(count, cell, [runs](int64_t k) { return runs[k].wholeEnd(); });
       i < count && runs[i].whole < end; ++i) {
    const FactoredRuns &all = runs[i];
    int64_t offset = cell - all.whole;
    if (offset < 0)
      offset += (distance - 1 - offset) / distance * distance;
    const int64_t past = least(all.wholeEnd(), end) - all.whole;
    if (offset >= past)
      continue;
    // The run and the cell in it go on by as many for each cell: no quotient is taken in the loop.
    int64_t run = offset / all.wholeStep, inRun = offset % all.wholeStep;
    const int64_t next = distance / all.wholeStep, rest = distance % all.wholeStep;
    for (; offset < past; offset += distance) {
      if (inRun < all.length) {
        const double g = p.grad[all.begin + run * all.step + inRun];
        sum += g * g;
      }
      run += next, inRun += rest;
      if (inRun >= all.wholeStep)
        inRun -= all.wholeStep, ++run;
    }
  }
  return sum;
}

/// Place of the sum of the `number`-th column of the held part of a tensor.
DTCC_DEVICE int64_t placeOfColumn(const FactoredTensor &tensor, const HeldFactors &held, int64_t number) {
  const int64_t columns = held.columnEnd - held.columnBegin, matrix = held.matrixBegin + number / columns;
  return tensor.first + tensor.shape.rows + matrix * tensor.shape.rowLength + held.columnBegin + number % columns;
}

DTCC_DEVICE double factorOf(const FactorSquares &p) {
  return static_cast<double>(*p.scale) * static_cast<double>(*p.scale);
}

} // namespace

DTCC_KERNEL(factor_row_squares, FactorSquares, factorThreads) {
  DTCC_SHARED double room[factorThreads / warpSize];
  if (*p.scale != *p.scale)
    return; // the sums stay zeros
  const int64_t number = firstEndBehind(p.tensorCount, blockX(), [&p](int64_t i) { return p.held[i].rowBlocks.end; });
  const FactoredTensor &tensor = p.tensors[number];
  const HeldFactors &held = p.held[number];
  const int threads = held.rowThreads;
  const int64_t row =
      held.rowBegin + (blockX() - held.rowBlocks.begin) * (factorThreads / threads) + threadIndex() / threads;
  const int thread = threadIndex() % threads;
  double sum = row < held.rowEnd ? squaresOfRow(p, tensor, row, thread, threads) : 0;
  sum = sumOfThreads(sum, threads, room);
  if (row < held.rowEnd && thread == 0)
    p.squares[tensor.first + row] = static_cast<float>(sum * factorOf(p));
}

DTCC_KERNEL(factor_column_squares, FactorSquares, factorThreads) {
  DTCC_SHARED double room[factorThreads];
  if (*p.scale != *p.scale)
    return; // the sums stay zeros
  const int64_t number =
      firstEndBehind(p.tensorCount, blockX(), [&p](int64_t i) { return p.held[i].columnBlocks.end; });
  const FactoredTensor &tensor = p.tensors[number];
  const HeldFactors &held = p.held[number];
  // Neighbouring threads have neighbouring columns.
  const int columnsOfBlock = factorThreads / held.columnThreads;
  const int thread = threadIndex() / columnsOfBlock;
  const int64_t columns = held.columns(), blocksOfPart = (columns + columnsOfBlock - 1) / columnsOfBlock;
  const int64_t block = blockX() - held.columnBlocks.begin, part = block / blocksOfPart;
  const int64_t column = block % blocksOfPart * columnsOfBlock + threadIndex() % columnsOfBlock;
  double sum = 0;
  if (column < columns) {
    const int64_t width = held.columnEnd - held.columnBegin, length = tensor.shape.rowLength;
    const int64_t matrixBegin = (held.matrixBegin + column / width) * tensor.shape.columnLength;
    const int64_t begin = largest(matrixBegin, held.rowBegin) + part * p.rowsOfPart;
    const int64_t end =
        least(least(matrixBegin + tensor.shape.columnLength, held.rowEnd), begin + p.rowsOfPart) * length;
    sum = squaresOfColumn(p, tensor, (begin + thread) * length + held.columnBegin + column % width, end,
                          held.columnThreads * length);
  }
  if (held.columnThreads > 1) {
    room[threadIndex()] = sum;
    synchronize();
    sum = 0;
    for (int i = threadIndex() % columnsOfBlock; i < factorThreads; i += columnsOfBlock)
      sum += room[i];
  }
  if (column >= columns || thread != 0)
    return;
  if (held.parts == 1)
    p.squares[placeOfColumn(tensor, held, column)] = static_cast<float>(sum * factorOf(p));
  else
    p.partial[held.firstPartial + part * columns + column] = sum;
}

DTCC_KERNEL(factor_column_finish, FactorSquares, factorThreads) {
  if (*p.scale != *p.scale)
    return; // the sums stay zeros
  const int64_t number =
      firstEndBehind(p.tensorCount, blockX(), [&p](int64_t i) { return p.held[i].finishBlocks.end; });
  const HeldFactors &held = p.held[number];
  const int64_t column = (blockX() - held.finishBlocks.begin) * factorThreads + threadIndex();
  if (column >= held.columns())
    return;
  double sum = 0;
  for (int64_t part = 0; part < held.parts; ++part)
    sum += p.partial[held.firstPartial + part * held.columns() + column];
  p.squares[placeOfColumn(p.tensors[number], held, column)] = static_cast<float>(sum * factorOf(p));
}

DTCC_KERNEL(factor_update, AdafactorDirection, factorThreads) {
  DTCC_SHARED float shared;
  if (*p.scale != *p.scale)
    return; // the step changes nothing
  if (threadIndex() == 0)
    shared = static_cast<float>(powerOf(static_cast<double>(*p.step), p.beta2Decay));
  synchronize();
  const float weight = shared;
  const int64_t i = blockX() * factorThreads + threadIndex();
  if (i >= p.factorCount)
    return;
  const FactoredTensor &tensor =
      p.tensors[firstEndBehind(p.tensorCount, i, [&p](int64_t k) { return p.tensors[k].endFactor(); })];
  const bool isRow = i - tensor.first < tensor.shape.rows;
  const float from = p.factors[i];
  const float to = p.squares[i] / static_cast<float>(isRow ? tensor.shape.rowLength : tensor.shape.columnLength);
  // torch.lerp, which gives the second value at the weight 1.
  p.factors[i] = weight < 0.5f ? from + weight * (to - from) : to - (to - from) * (1 - weight);
}

DTCC_KERNEL(factor_means, AdafactorDirection, factorThreads) {
  DTCC_SHARED double room[factorThreads / warpSize];
  if (*p.scale != *p.scale)
    return; // the step changes nothing
  const int64_t number = firstEndBehind(p.tensorCount, blockX(), [&p](int64_t i) { return p.means[i].blocks.end; });
  const FactoredTensor &tensor = p.tensors[number];
  const int threads = p.means[number].threads, thread = threadIndex() % threads;
  const int64_t rows = tensor.shape.columnLength;
  const int64_t matrix =
      (blockX() - p.means[number].blocks.begin) * (factorThreads / threads) + threadIndex() / threads;
  const bool isHere = tensor.firstMatrix + matrix < tensor.endMatrix;
  double sum = 0;
  for (int64_t row = thread; isHere && row < rows; row += threads)
    sum += p.factors[tensor.first + matrix * rows + row];
  sum = sumOfThreads(sum, threads, room);
  if (isHere && thread == 0)
    p.meanOfMatrix[tensor.firstMatrix + matrix] = largest(p.eps1, static_cast<float>(sum / static_cast<double>(rows)));
}

DTCC_KERNEL(adafactor_direction, AdafactorDirection, wholeTensorThreads) {
  const float scale = *p.scale;
  if (scale != scale)
    return; // the step changes nothing
  const float smallest = p.eps1 * p.eps1;
  forChunkInRanges(p.runs, p.runCount, p.size, [&](int64_t i, int64_t number) {
    if (number < 0) {
      p.direction[i] = 0;
      return;
    }
    const FactoredRuns &runs = p.runs[number];
    const int64_t run = runs.count == 1 ? 0 : (i - runs.begin) / runs.step;
    const int64_t inRun = i - runs.begin - run * runs.step;
    if (inRun >= runs.length) {
      p.direction[i] = 0; // padding between two runs
      return;
    }
    const FactoredTensor &tensor = p.tensors[runs.tensor];
    const int64_t cell = runs.whole + run * runs.wholeStep + inRun, row = cell / tensor.shape.rowLength;
    float estimate = p.factors[tensor.first + row];
    if (tensor.shape.columns > 0) {
      const int64_t matrix = row / tensor.shape.columnLength;
      const int64_t column = matrix * tensor.shape.rowLength + cell - row * tensor.shape.rowLength;
      estimate =
          estimate * p.factors[tensor.first + tensor.shape.rows + column] / p.meanOfMatrix[tensor.firstMatrix + matrix];
    }
    p.direction[i] = p.grad[i] * scale / __builtin_sqrtf(largest(smallest, estimate));
  });
}
