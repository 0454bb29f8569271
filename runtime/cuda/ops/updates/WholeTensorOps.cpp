//===- WholeTensorOps.cpp - Steps along directions of whole tensors as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/kernels/updates/WholeTensor.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/updates/DirectionOp.h"
#include "runtime/kernels/ops/updates/DirectionCommands.h"

namespace dtcc::rt::cuda {
namespace {

const ShareRange *uploadRanges(Launcher &launcher, const BucketSegments &segments) {
  static_assert(sizeof(rt::TensorRange) == sizeof(ShareRange), "the table is uploaded as it is");
  return reinterpret_cast<const ShareRange *>(upload(launcher, segments.ranges));
}

class MuonDirectionOp final : public DirectionOp {
public:
  MuonDirectionOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : DirectionOp(operands, rank, launcher, 7, 4), kernel(launcher, "WholeTensor", "muon_direction") {
    expectSlots(operands, 1);
    p.size = size;
    p.weight = static_cast<float>(1 - operands.real(2)), p.momentum = static_cast<float>(operands.real(2));
    p.nesterov = operands.flag(3);
  }

private:
  void direct(const Call &call) override {
    p.grad = address<const float>(call, 0), p.scale = address<const float>(call, 1);
    p.buffer = address<float>(call, 5), p.direction = address<float>(call, 6);
    kernel(call, partsOf(size, wholeTensorChunk), wholeTensorThreads, p);
  }

  MuonDirection p = {};
  Kernel kernel;
};

class LambDirectionOp final : public DirectionOp {
public:
  LambDirectionOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : DirectionOp(operands, rank, launcher, 8, 5), correction(launcher, "WholeTensor", "lamb_correction"),
        kernel(launcher, "WholeTensor", "lamb_direction") {
    expectSlots(operands, 2);
    p.size = size;
    p.ranges = uploadRanges(launcher, segments), p.rangeCount = static_cast<int64_t>(segments.ranges.size());
    p.beta1 = operands.real(2), p.beta2 = operands.real(3), p.eps = static_cast<float>(operands.real(4));
    launcher.reserveWorkspace(sizeof(LambCorrection));
  }

private:
  void direct(const Call &call) override {
    p.grad = address<const float>(call, 0), p.scale = address<const float>(call, 1);
    p.step = address<const int64_t>(call, 3), p.p = address<const float>(call, 4);
    p.m = address<float>(call, 5), p.v = address<float>(call, 6), p.direction = address<float>(call, 7);
    p.correction = at<LambCorrection>(call, 0);
    correction(call, 1, warpThreads, p);
    kernel(call, partsOf(size, wholeTensorChunk), wholeTensorThreads, p);
  }

  static constexpr unsigned warpThreads = 32;
  LambDirection p = {};
  Kernel correction, kernel;
};

class TensorSquaresOp final : public CudaOp {
public:
  TensorSquaresOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : ofPieces(launcher, "WholeTensor", "tensor_squares_pieces"),
        ofTensors(launcher, "WholeTensor", "tensor_squares") {
    const TensorSquaresCommand command(operands, rank);
    const BucketSegments &segments = command.segments;
    p.tensorCount = command.tensors();
    std::vector<GradPiece> pieces;
    std::vector<GradTensor> tensors(segments.all.size());
    for (const rt::TensorRange &range : segments.ranges) {
      GradTensor &tensor = tensors[static_cast<size_t>(range.tensor)];
      tensor.firstPiece = static_cast<int64_t>(pieces.size());
      for (int64_t begin = range.begin; begin < range.end; begin += gradSquaresPiece)
        pieces.push_back({begin, std::min(begin + gradSquaresPiece, range.end)});
      tensor.lastPiece = static_cast<int64_t>(pieces.size());
    }
    pieceCount = static_cast<int64_t>(pieces.size());
    p.pieces = upload(launcher, pieces), p.tensors = upload(launcher, tensors);
    launcher.reserveWorkspace(2 * pieces.size() * sizeof(double));
  }
  void run(Rank &, const Call &call) override {
    p.p = address<const float>(call, 0), p.direction = address<const float>(call, 1);
    p.squares = address<float>(call, 2), p.partial = at<double>(call, 0);
    ofPieces(call, pieceCount, wholeTensorThreads, p);
    ofTensors(call, partsOf(p.tensorCount, wholeTensorThreads), wholeTensorThreads, p);
  }

private:
  TensorSquares p = {};
  int64_t pieceCount = 0;
  Kernel ofPieces, ofTensors;
};

class ApplyDirectionOp final : public CudaOp {
public:
  ApplyDirectionOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : steps(launcher, "WholeTensor", "direction_steps"), kernel(launcher, "WholeTensor", "apply_direction") {
    const ApplyDirectionCommand command(operands, rank);
    const BucketSegments &segments = command.segments;
    p.kind = command.kind, p.size = command.size, parameter = command.parameter;
    hasCopy = command.copyType.has_value(), p.copyType = static_cast<int32_t>(command.copyType.value_or(DTCC_F32));
    p.ranges = uploadRanges(launcher, segments), p.rangeCount = static_cast<int64_t>(segments.ranges.size());
    p.adapts = command.trust.alwaysAdapt, p.clips = command.trust.clips;
    p.leastRms = command.rms.eps2, p.mostRms = command.rms.d;
    p.cells = upload(launcher, command.cells);
    launcher.reserveWorkspace(segments.ranges.size() * sizeof(RangeDirection));
  }
  void run(Rank &, const Call &call) override {
    p.direction = address<const float>(call, 0), p.scale = address<const float>(call, 1);
    p.lr = address<const float>(call, 2), p.step = address<const int64_t>(call, 3);
    p.squares = address<const float>(call, 4), p.p = address<float>(call, parameter);
    p.copy = hasCopy ? call.buffers[parameter + 1] : nullptr;
    p.steps = at<RangeDirection>(call, 0);
    steps(call, partsOf(p.rangeCount, wholeTensorThreads), wholeTensorThreads, p);
    kernel(call, partsOf(p.size, wholeTensorChunk), wholeTensorThreads, p);
  }

private:
  ApplyDirection p = {};
  size_t parameter = 4;
  bool hasCopy = false;
  Kernel steps, kernel;
};

} // namespace

DTCC_CUDA_OP(MUON_DIRECTION, MuonDirectionOp)
DTCC_CUDA_OP(LAMB_DIRECTION, LambDirectionOp)
DTCC_CUDA_OP(TENSOR_SQUARES, TensorSquaresOp)
DTCC_CUDA_OP(APPLY_DIRECTION, ApplyDirectionOp)

} // namespace dtcc::rt::cuda
