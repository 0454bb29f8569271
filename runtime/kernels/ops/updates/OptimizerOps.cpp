//===- OptimizerOps.cpp - The library ops of the update -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/updates/LossScaleCommand.h"
#include "runtime/kernels/ops/updates/UpdateRanges.h"

namespace dtcc::rt {
namespace {

class SumSquaresOp final : public LibraryOp {
public:
  SumSquaresOp(const CheckedOperands &operands, Rank &) : partial(sumSquaresBlocks) {
    operands.expect(2, 1);
    const dtcc_view &in = operands.denseFloats(0, "in", -1);
    size = in.sizes[0], type = static_cast<dtcc_dtype>(in.dtype);
    operands.scalar(1, "out");
    accumulate = operands.accumulation(0);
  }
  void run(Rank &rank, void *const *buffers) override {
    float &out = *static_cast<float *>(buffers[1]);
    double sum = sumSquares(rank.team, vectorKernels(), {buffers[0], type}, size, partial);
    out = static_cast<float>((accumulates(accumulate, rank) ? out : 0.0) + sum);
  }

private:
  int64_t size;
  dtcc_dtype type;
  Accumulation accumulate;
  std::vector<double> partial;
};

class GradScaleOp final : public LibraryOp {
public:
  GradScaleOp(const CheckedOperands &operands, Rank &) {
    operands.expect(4, 1);
    const char *names[] = {"squares", "count", "norm", "scale"};
    for (size_t i = 0; i < 4; ++i)
      operands.scalar(i, names[i]);
    clip = operands.real(0);
  }
  void run(Rank &rank, void *const *buffers) override {
    auto scalar = [&](size_t i) { return static_cast<float *>(buffers[i]); };
    GradScale result = gradScale(*scalar(0), *scalar(1), clip, rank.gradNormLimit);
    if (rank.gradSquares)
      rank.gradSquares->unit = 1 / static_cast<double>(*scalar(1));
    *scalar(2) = result.norm;
    *scalar(3) = result.scale;
  }

private:
  double clip;
};

class MeanScaleOp final : public LibraryOp {
public:
  MeanScaleOp(const CheckedOperands &operands, Rank &) {
    operands.expect(3, 0);
    const char *names[] = {"loss_sum", "count", "scale"};
    for (size_t i = 0; i < 3; ++i)
      operands.scalar(i, names[i]);
  }
  void run(Rank &, void *const *buffers) override {
    auto scalar = [&](size_t i) { return static_cast<float *>(buffers[i]); };
    *scalar(2) = meanScale(static_cast<double>(*scalar(0)), static_cast<double>(*scalar(1)));
  }
};

class GradUnscaleOp final : public LibraryOp {
public:
  GradUnscaleOp(const CheckedOperands &operands, Rank &) : clip(0), unit(0) {
    operands.expect(6, 2);
    const char *names[] = {"squares", "count", "loss_scale", "norm", "scale"};
    for (size_t i = 0; i < 5; ++i)
      operands.scalar(i, names[i]);
    operands.scalar(5, "finite", DTCC_I32);
    clip = operands.real(0), unit = operands.real(1);
  }
  void run(Rank &rank, void *const *buffers) override {
    auto scalar = [&](size_t i) { return static_cast<float *>(buffers[i]); };
    GradUnscale result = gradUnscale(*scalar(0), *scalar(1), clip, *scalar(2) * unit, rank.gradNormLimit);
    if (rank.gradSquares) {
      rank.gradSquares->unit = 1 / (static_cast<double>(*scalar(1)) * static_cast<double>(*scalar(2)) * unit);
      rank.gradSquares->isLeftOut = !result.finite;
    }
    *scalar(3) = result.scale.norm;
    *scalar(4) = result.scale.scale;
    *static_cast<int32_t *>(buffers[5]) = result.finite;
  }

private:
  double clip, unit;
};

class LossScaleAdjustOp final : public LibraryOp {
public:
  LossScaleAdjustOp(const CheckedOperands &operands, Rank &) : command(operands) {}
  void run(Rank &, void *const *buffers) override {
    auto cell = [&](size_t i) -> float & { return *static_cast<float *>(buffers[i]); };
    LossScale state{cell(2), cell(3), cell(4)};
    // This step's number among those taken; if it is skipped nobody reads it.
    *static_cast<int64_t *>(buffers[5]) =
        *static_cast<const int64_t *>(buffers[1]) - static_cast<int64_t>(state.skipped);
    adjustLossScale(state, *static_cast<const int32_t *>(buffers[0]) != 0, command.growth, command.backoff,
                    command.interval);
    cell(2) = state.scale, cell(3) = state.streak, cell(4) = state.skipped;
  }

private:
  LossScaleCommand command;
};

/// An op that updates parameters cell by cell, p and its slots.
class UpdateOp : public GradientOp {
protected:
  UpdateOp(const CheckedOperands &operands, const Rank &rank, size_t required, size_t attributes, bool hasCodes = false)
      : GradientOp(operands, rank, required, attributes, /*takesHalves=*/true), ranges(updateRanges(segments)) {
    const char *names[] = {"p", "slot 0", "slot 1"};
    if (hasCodes && size % codeBlock != 0)
      operands.reject("a share of codes must be whole blocks, got elements: ", size);
    for (size_t i = 4; i < required; ++i)
      if (hasCodes && i > 4)
        operands.expectContiguousRows(operands.tensor(i, names[i - 4], {codedBytes(size)}, DTCC_I8), names[i - 4]);
      else
        operands.dense(i, names[i - 4], size);
    copyIndex = required;
    copyType = operands.halfCopy(copyIndex, size);
  }
  HalfCopy copyOf(void *const *buffers) const {
    return copyType ? HalfCopy{*copyType, buffers[copyIndex]} : HalfCopy{};
  }

  std::vector<UpdateRange> ranges;

private:
  size_t copyIndex;
  std::optional<dtcc_dtype> copyType;
};

class AdamOp final : public UpdateOp {
public:
  AdamOp(const CheckedOperands &operands, const Rank &rank) : UpdateOp(operands, rank, 7, 9) {
    auto choice = [&](size_t i, const char *name) {
      int64_t value = operands.integer(i);
      if (value < 0 || value > 2)
        operands.reject(name, " must be 0, 1 or 2, got: ", value);
      return static_cast<uint8_t>(value);
    };
    options.beta1 = operands.real(2), options.beta2 = operands.real(3), options.eps = operands.real(4);
    options.postDecay = operands.real(5);
    options.decay = AdamDecay{choice(6, "decay")};
    options.correction = AdamCorrection{choice(7, "correction")};
    options.start = operands.integer(8);
  }
  void update(Rank &rank, void *const *buffers) override {
    adamUpdate(rank.team, vectorKernels(), ranges, options, *floats(buffers, 1), *floats(buffers, 2), stepOf(buffers),
               gradient(buffers), floats(buffers, 4), floats(buffers, 5), floats(buffers, 6), copyOf(buffers));
  }

private:
  AdamOptions options;
};

class CodedAdamOp final : public UpdateOp {
public:
  CodedAdamOp(const CheckedOperands &operands, const Rank &rank) : UpdateOp(operands, rank, 7, 5, /*hasCodes=*/true) {
    options.beta1 = operands.real(2), options.beta2 = operands.real(3), options.eps = operands.real(4);
    for (const UpdateRange &range : ranges)
      if (range.begin % codeBlock != 0)
        operands.reject("tensors of codes must start at whole blocks, got element: ", range.begin);
  }
  void update(Rank &rank, void *const *buffers) override {
    codedAdamUpdate(rank.team, vectorKernels(), ranges, options, *floats(buffers, 1), *floats(buffers, 2),
                    stepOf(buffers), gradient(buffers), floats(buffers, 4), {DTCC_CODES_SIGNED, buffers[5], size},
                    {DTCC_CODES_UNSIGNED, buffers[6], size}, copyOf(buffers));
  }

private:
  AdamOptions options;
};

class SgdOp final : public UpdateOp {
public:
  SgdOp(const CheckedOperands &operands, const Rank &rank)
      : UpdateOp(operands, rank, hasBuffer(operands) ? 6 : 5, kAttributes),
        options{operands.real(2), operands.real(3), operands.flag(4), operands.integer(5)} {}
  void update(Rank &rank, void *const *buffers) override {
    sgdUpdate(rank.team, vectorKernels(), ranges, options, *floats(buffers, 1), *floats(buffers, 2), stepOf(buffers),
              gradient(buffers), floats(buffers, 4), options.momentum != 0 ? floats(buffers, 5) : nullptr,
              copyOf(buffers));
  }

private:
  static constexpr size_t kAttributes = 6;
  static bool hasBuffer(const CheckedOperands &operands) {
    return operands.attributeCount() == kAttributes && operands.real(2) != 0;
  }
  SgdOptions options;
};

class AdagradOp final : public UpdateOp {
public:
  AdagradOp(const CheckedOperands &operands, const Rank &rank)
      : UpdateOp(operands, rank, 6, 5), options{operands.real(2), operands.real(3), operands.integer(4)} {}
  void update(Rank &rank, void *const *buffers) override {
    adagradUpdate(rank.team, vectorKernels(), ranges, options, *floats(buffers, 1), *floats(buffers, 2),
                  stepOf(buffers), gradient(buffers), floats(buffers, 4), floats(buffers, 5), copyOf(buffers));
  }

private:
  AdagradOptions options;
};

class LionOp final : public UpdateOp {
public:
  LionOp(const CheckedOperands &operands, const Rank &rank)
      : UpdateOp(operands, rank, 6, 4), options{operands.real(2), operands.real(3)} {}
  void update(Rank &rank, void *const *buffers) override {
    lionUpdate(rank.team, vectorKernels(), ranges, options, *floats(buffers, 1), *floats(buffers, 2), gradient(buffers),
               floats(buffers, 4), floats(buffers, 5), copyOf(buffers));
  }

private:
  LionOptions options;
};

} // namespace

DTCC_CPU_OP(SUM_SQUARES, SumSquaresOp)
DTCC_CPU_OP(GRAD_SCALE, GradScaleOp)
DTCC_CPU_OP(MEAN_SCALE, MeanScaleOp)
DTCC_CPU_OP(ADAMW, AdamOp)
DTCC_CPU_OP(ADAMW8BIT, CodedAdamOp)
DTCC_CPU_OP(SGD, SgdOp)
DTCC_CPU_OP(ADAGRAD, AdagradOp)
DTCC_CPU_OP(LION, LionOp)
DTCC_CPU_OP(GRAD_UNSCALE, GradUnscaleOp)
DTCC_CPU_OP(LOSS_SCALE_ADJUST, LossScaleAdjustOp)

} // namespace dtcc::rt
