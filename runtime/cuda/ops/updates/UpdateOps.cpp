//===- UpdateOps.cpp - Norms, scales and updates as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/updates/Optimizer.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/updates/GradSquaresLaunch.h"
#include "runtime/kernels/Optimizer.h"
#include "runtime/kernels/ops/updates/LossScaleCommand.h"
#include "runtime/kernels/ops/updates/UpdateRanges.h"

namespace dtcc::rt::cuda {
namespace {

class SumSquaresOp final : public CudaOp {
public:
  SumSquaresOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : blocks(launcher, "Optimizer", "sum_squares_blocks"), total(launcher, "Optimizer", "sum_squares_total") {
    operands.expect(2, 1);
    const dtcc_view &in = operands.denseFloats(0, "in", -1);
    p.size = in.sizes[0], p.type = static_cast<int32_t>(in.dtype);
    operands.scalar(1, "out");
    accumulate = operands.accumulation(0);
    // Whole blocks of 16 bytes a thread: the sum depends on the size alone.
    p.block = partsOf(std::max<int64_t>(partsOf(p.size, cuda::sumSquaresBlocks), 8192), 4) * 4;
    p.blocks = partsOf(p.size, p.block);
    WorkspaceLayout layout;
    partial = layout.take(p.blocks * static_cast<int64_t>(sizeof(double)));
    launcher.reserveWorkspace(layout.bytes());
  }
  void run(Rank &rank, const Call &call) override {
    SumSquares here = p;
    here.in = call.buffers[0], here.out = address<float>(call, 1);
    here.partial = at<double>(call, partial);
    here.accumulate = accumulates(accumulate, rank);
    blocks(call, p.blocks, sumSquaresThreads, here);
    total(call, 1, sumSquaresThreads, here);
  }

private:
  SumSquares p = {};
  Accumulation accumulate;
  uint64_t partial;
  Kernel blocks, total;
};

/// GRAD_SCALE and, with a loss scale, GRAD_UNSCALE.
class GradScaleOp final : public CudaOp {
public:
  GradScaleOp(const CheckedOperands &operands, Rank &, Launcher &launcher, bool unscales)
      : kernel(launcher, "Optimizer", "grad_scale"), unscales(unscales) {
    operands.expect(unscales ? 6 : 4, unscales ? 2 : 1);
    static const char *const plain[] = {"squares", "count", "norm", "scale"};
    static const char *const all[] = {"squares", "count", "loss_scale", "norm", "scale"};
    for (size_t i = 0; i < (unscales ? 5 : 4); ++i)
      operands.scalar(i, unscales ? all[i] : plain[i]);
    if (unscales)
      operands.scalar(5, "finite", DTCC_I32);
    clip = operands.real(0), unit = unscales ? operands.real(1) : 1;
  }
  void run(Rank &rank, const Call &call) override {
    GradScale p = {};
    p.limit = rank.gradNormLimitOnGpu;
    p.found = rank.gradSquaresOnGpu.found;
    size_t next = 0;
    p.squares = address<const float>(call, next++), p.count = address<const float>(call, next++);
    if (unscales)
      p.lossScale = address<const float>(call, next++);
    p.norm = address<float>(call, next++), p.scale = address<float>(call, next++);
    if (unscales)
      p.finite = address<int32_t>(call, next++);
    p.clip = clip, p.unit = unit;
    kernel(call, 1, 32, p);
  }

private:
  Kernel kernel;
  bool unscales;
  double clip, unit;
};

class MeanScaleOp final : public CudaOp {
public:
  MeanScaleOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : kernel(launcher, "Optimizer", "mean_scale") {
    operands.expect(3, 0);
    operands.scalar(0, "loss_sum"), operands.scalar(1, "count"), operands.scalar(2, "scale");
  }
  void run(Rank &, const Call &call) override {
    kernel(call, 1, 32,
           MeanScale{address<const float>(call, 0), address<const float>(call, 1), address<float>(call, 2)});
  }

private:
  Kernel kernel;
};

class LossScaleAdjustOp final : public CudaOp {
public:
  LossScaleAdjustOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : command(operands), kernel(launcher, "Optimizer", "loss_scale_adjust") {}
  void run(Rank &, const Call &call) override {
    kernel(call, 1, 32,
           LossScaleAdjust{address<const int32_t>(call, 0), address<const int64_t>(call, 1), address<float>(call, 2),
                           address<float>(call, 3), address<float>(call, 4), address<int64_t>(call, 5), command.growth,
                           command.backoff, command.interval});
  }

private:
  LossScaleCommand command;
  Kernel kernel;
};

/// One pass over a share: grad, scale, lr, step, p, the rule's slots and perhaps a copy.
class UpdateOp : public CudaOp {
public:
  void run(Rank &rank, const Call &call) override {
    squares->run(rank, call, call.buffers[0]);
    UpdateCommon &c = p.common;
    c.grad = call.buffers[0], c.scale = address<const float>(call, 1);
    c.lr = address<const float>(call, 2), c.step = address<const int64_t>(call, 3), c.p = address<float>(call, 4);
    bool aligned = isAligned(c.grad, 16) && isAligned(c.p, 16);
    for (size_t i = 0; i < slots && !hasCodes; ++i) {
      c.slots[i] = address<float>(call, 5 + i);
      aligned &= isAligned(c.slots[i], 16);
    }
    if (hasCopy) {
      c.copy = call.buffers[5 + slots];
      aligned &= isAligned(c.copy, 8);
    }
    c.aligned = aligned;
    c.steps = at<RangeStep>(call, 0);
    ranges(call, partsOf(c.rangeCount, updateThreads), updateThreads, p);
    if (c.rangeCount > 0)
      launch(call);
  }

protected:
  /// `hasCodes`: the slots are 8-bit codes.
  UpdateOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher, UpdateRule rule, const char *kernel,
           size_t slots, size_t attributes, bool hasCodes = false)
      : update(launcher, "Optimizer", kernel), ranges(launcher, "Optimizer", "update_ranges"), slots(slots),
        hasCodes(hasCodes) {
    const size_t required = 5 + slots;
    operands.expect(required, attributes);
    p.rule = rule;
    UpdateCommon &c = p.common;
    const dtcc_view &grad = operands.denseFloats(0, "grad", -1);
    c.size = grad.sizes[0], c.gradType = static_cast<int32_t>(grad.dtype);
    operands.scalar(1, "scale");
    operands.scalar(2, "lr");
    operands.scalar(3, "step", DTCC_I64);
    static const char *const names[] = {"p", "slot 0", "slot 1"};
    if (hasCodes && c.size % codeBlock != 0)
      operands.reject("a share of codes must be whole blocks, got elements: ", c.size);
    for (size_t i = 4; i < required; ++i)
      if (hasCodes && i > 4)
        operands.expectContiguousRows(operands.tensor(i, names[i - 4], {codedBytes(c.size)}, DTCC_I8), names[i - 4]);
      else
        operands.dense(i, names[i - 4], c.size);
    if (std::optional<dtcc_dtype> copyType = operands.halfCopy(required, c.size)) {
      hasCopy = true;
      c.copyType = *copyType;
    }
    const int64_t communicator = operands.communicator(1);
    const BucketSegments segments = bucketSegments(operands, rank, operands.integer(0), communicator, c.size);
    squares.emplace(segments, communicator, static_cast<dtcc_dtype>(grad.dtype), rank, launcher);
    std::vector<rt::UpdateRange> table = updateRanges(segments);
    for (const rt::UpdateRange &range : table)
      if (hasCodes && range.begin % codeBlock != 0)
        operands.reject("tensors of codes must start at whole blocks, got element: ", range.begin);
    static_assert(sizeof(rt::UpdateRange) == sizeof(cuda::UpdateRange), "the table is uploaded as it is");
    c.rangeCount = static_cast<int64_t>(table.size());
    c.ranges = static_cast<const cuda::UpdateRange *>(launcher.upload(std::as_bytes(std::span(table))));
    launcher.reserveWorkspace(table.size() * sizeof(RangeStep));
  }

  /// The pass over the share.
  virtual void launch(const Call &call) { update(call, partsOf(p.common.size, updateChunk), updateThreads, p); }

  Update p = {};
  Kernel update;

private:
  std::optional<GradSquaresLaunch> squares;
  Kernel ranges;
  size_t slots;
  bool hasCodes, hasCopy = false;
};

class AdamOp final : public UpdateOp {
public:
  AdamOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : UpdateOp(operands, rank, launcher, UpdateRule::Adam, "adam", 2, 9) {
    p.beta1 = operands.real(2), p.beta2 = operands.real(3), p.eps = operands.real(4);
    p.postDecay = operands.real(5);
    auto choice = [&](size_t i, const char *name) {
      int64_t value = operands.integer(i);
      if (value < 0 || value > 2)
        operands.reject(name, " must be 0, 1 or 2, got: ", value);
      return static_cast<int32_t>(value);
    };
    p.decay = choice(6, "decay"), p.correction = choice(7, "correction");
    p.start = operands.integer(8);
  }
};

class CodedAdamOp final : public UpdateOp {
public:
  CodedAdamOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : UpdateOp(operands, rank, launcher, UpdateRule::Adam, "adam_codes", 2, 5, /*hasCodes=*/true) {
    p.beta1 = operands.real(2), p.beta2 = operands.real(3), p.eps = operands.real(4);
    p.decay = static_cast<int32_t>(AdamDecay::Before), p.correction = static_cast<int32_t>(AdamCorrection::BeforeEps);
    coded.m = tablesOf(DTCC_CODES_SIGNED, launcher), coded.v = tablesOf(DTCC_CODES_UNSIGNED, launcher);
  }

private:
  static CodedMoment tablesOf(dtcc_codes kind, Launcher &launcher) {
    const DynamicCodes &codes = DynamicCodes::of(kind);
    auto upload = [&](const std::array<float, 256> &table) {
      return static_cast<const float *>(launcher.upload(std::as_bytes(std::span(table))));
    };
    return {nullptr, nullptr, upload(codes.all()), upload(codes.allMiddles()), codes.zeroCode()};
  }
  void launch(const Call &call) override {
    coded.update = p;
    for (auto [moment, operand] : {std::pair(&coded.m, size_t{5}), {&coded.v, size_t{6}}}) {
      moment->codes = address<uint8_t>(call, operand);
      moment->scales = reinterpret_cast<float *>(moment->codes + p.common.size);
    }
    update(call, p.common.size / codeBlock, updateThreads, coded);
  }

  CodedAdam coded = {};
};

class SgdOp final : public UpdateOp {
public:
  SgdOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : UpdateOp(operands, rank, launcher, UpdateRule::Sgd, hasBuffer(operands) ? "sgd_momentum" : "sgd_plain",
                 hasBuffer(operands) ? 1 : 0, kAttributes) {
    p.beta1 = operands.real(2), p.beta2 = operands.real(3), p.nesterov = operands.flag(4);
    p.start = operands.integer(5);
  }

private:
  static constexpr size_t kAttributes = 6;
  static bool hasBuffer(const CheckedOperands &operands) {
    return operands.attributeCount() == kAttributes && operands.real(2) != 0;
  }
};

class AdagradOp final : public UpdateOp {
public:
  AdagradOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : UpdateOp(operands, rank, launcher, UpdateRule::Adagrad, "adagrad", 1, 5) {
    p.beta1 = operands.real(2), p.eps = operands.real(3), p.start = operands.integer(4);
  }
};

class LionOp final : public UpdateOp {
public:
  LionOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : UpdateOp(operands, rank, launcher, UpdateRule::Lion, "lion", 1, 4) {
    p.beta1 = operands.real(2), p.beta2 = operands.real(3);
  }
};

} // namespace

DTCC_CUDA_OP(SUM_SQUARES, SumSquaresOp)
DTCC_CUDA_OP(GRAD_SCALE, GradScaleOp, false)
DTCC_CUDA_OP(GRAD_UNSCALE, GradScaleOp, true)
DTCC_CUDA_OP(MEAN_SCALE, MeanScaleOp)
DTCC_CUDA_OP(LOSS_SCALE_ADJUST, LossScaleAdjustOp)
DTCC_CUDA_OP(ADAMW, AdamOp)
DTCC_CUDA_OP(ADAMW8BIT, CodedAdamOp)
DTCC_CUDA_OP(SGD, SgdOp)
DTCC_CUDA_OP(ADAGRAD, AdagradOp)
DTCC_CUDA_OP(LION, LionOp)

} // namespace dtcc::rt::cuda
