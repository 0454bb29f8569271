//===- ReserveWorkspace.cpp - Scratch memory of library ops on GPUs is planned
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The workspace of each kind of op is a row of one of two tables here, by the sizes of
// runtime/abi/GpuWorkspace.h.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "dialects/interfaces/Bytes.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/OrthogonalWork.h"
#include "runtime/abi/GpuWorkspace.h"
#include "runtime/abi/RecurrentCell.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace dtcc::exec {
#define GEN_PASS_DEF_RESERVEWORKSPACE
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

static ArrayRef<int64_t> viewShape(Value view) { return cast<MemRefType>(view.getType()).getShape(); }

static int64_t partGradBytes(LibraryOp op) {
  return gpu_workspace::attentionGrad(llvm::product_of(viewShape(op.getIns()[0]).drop_back()));
}
/// Sizes of q, k and v as cuDNN's workspace depends on them; null if cuDNN does not support their types or sizes.
static std::optional<gpu_workspace::LibraryAttention> libraryAttention(LibraryOp op) {
  ArrayRef<int64_t> q = viewShape(op.getIns()[0]), v = viewShape(op.getIns()[2]);
  const gpu_workspace::LibraryAttention sizes = {q[0], q[1], v[1], q[2], q[3], q[4], v[3]};
  const bool isHalf = cast<MemRefType>(op.getIns()[0].getType()).getElementTypeBitWidth() == 16;
  return isHalf && sizes.fits() ? std::optional(sizes) : std::nullopt;
}
static int64_t attentionBytes(LibraryOp op) {
  const auto library = libraryAttention(op);
  return library ? library->forward() : 0;
}
static int64_t attentionGradBytes(LibraryOp op) {
  const auto library = libraryAttention(op);
  return library ? library->backward() : partGradBytes(op);
}

/// Returns the most that cuDNN or a product of windows of one cell wants: which of them computes the convolution is
/// found when the program starts. Images and kernels: [.., .., channels, d, h, w].
static int64_t convolutionBytes(Value image, Value kernel, Value result) {
  ArrayRef<int64_t> x = viewShape(image), w = viewShape(kernel), y = viewShape(result);
  auto cells = [](ArrayRef<int64_t> shape) { return llvm::product_of(shape.drop_front(3)); };
  const gpu_workspace::LibraryConvolution library{
      x[0], w[0], w[2], w[1], cells(x), cells(w), cells(y), getElementBytes(getElementTypeOrSelf(image))};
  return std::max(library.bytes(), cells(w) == 1 ? gpu_workspace::productBytes : 0);
}
static int64_t kernelGradBytes(LibraryOp op) {
  ArrayRef<int64_t> y = viewShape(op.getIns()[0]), kernel = viewShape(op.getOuts()[0]);
  return std::max(convolutionBytes(op.getIns()[1], op.getOuts()[0], op.getIns()[0]),
                  gpu_workspace::convolutionKernelGrad(kernel[0], kernel[1], llvm::product_of(kernel.drop_front(2)),
                                                       y[0] * llvm::product_of(y.drop_front(3))));
}

/// Rows of ids, matrices, and the products of rows that are added up.
static int64_t groupedBytes(LibraryOp op) {
  int64_t rows = viewShape(op.getIns()[2])[0];
  ArrayRef<int64_t> out = viewShape(op.getOuts()[0]);
  return gpu_workspace::grouped(rows, viewShape(op.getIns()[1])[0], out[0] == rows ? 0 : rows * out[1]);
}

/// The first parameter of a recurrent layer is its cell, and its inputs are [t, b, g, h], those of a gradient [t, b,
/// h].
static int64_t recurrenceBytes(LibraryOp op) {
  const auto cell = static_cast<RecurrentCell>(cast<IntegerAttr>(op.getParameters()[0]).getInt());
  ArrayRef<int64_t> inputs = viewShape(op.getIns()[0]);
  return gpu_workspace::recurrence(cell == RecurrentCell::Gru ? inputs[1] * inputs.back() : 0);
}

/// Needs of ops by their operands.
static const llvm::StringMap<int64_t (*)(LibraryOp)> &needs() {
  static const llvm::StringMap<int64_t (*)(LibraryOp)> table = {
      {"matmul", [](LibraryOp) { return gpu_workspace::productBytes; }},
      {"matmul_epilogue",
       [](LibraryOp op) {
         return gpu_workspace::productBytes + gpu_workspace::productSums(viewShape(op.getIns()[1])[2]);
       }},
      {"convolution", [](LibraryOp op) { return convolutionBytes(op.getIns()[0], op.getIns()[1], op.getOuts()[0]); }},
      {"convolution_input_grad",
       [](LibraryOp op) { return convolutionBytes(op.getOuts()[0], op.getIns()[1], op.getIns()[0]); }},
      {"convolution_kernel_grad", kernelGradBytes},
      {"sum_squares", [](LibraryOp) { return gpu_workspace::sumSquaresBytes; }},
      {"attention", attentionBytes},
      {"attention_grad", attentionGradBytes},
      {"attention_part_grad", partGradBytes},
      {"scatter_add",
       [](LibraryOp op) {
         ArrayRef<int64_t> rows = viewShape(op.getIns()[0]);
         return gpu_workspace::scatterAdd(rows[0], rows[1]);
       }},
      {"grouped_matmul", groupedBytes},
      {"grouped_matmul_grad",
       [](LibraryOp op) {
         return gpu_workspace::grouped(viewShape(op.getIns()[2])[0], viewShape(op.getOuts()[0])[0], 0);
       }},
      {"recurrence", recurrenceBytes},
      {"recurrence_grad", recurrenceBytes},
      {"lamb_direction", [](LibraryOp) { return gpu_workspace::lambDirectionBytes; }},
      {"factor_squares", [](LibraryOp op) { return gpu_workspace::factorSquares(viewShape(op.getIns()[0])[0]); }},
      {"adafactor_direction",
       [](LibraryOp op) { return gpu_workspace::adafactorDirection(viewShape(op.getOuts()[0])[0]); }},
      {"orthogonalize",
       [](LibraryOp op) {
         auto bucket = cast<FlatSymbolRefAttr>(op.getParameters()[0]);
         return gpu_workspace::productBytes + orthogonalBytes(op, bucket, OrthogonalizeOn::Gpu);
       }},
  };
  return table;
}

static int64_t updateBytes(LibraryOp, int64_t states) { return gpu_workspace::update(states); }

/// Needs of ops with an entry for each state of the model.
static const llvm::StringMap<int64_t (*)(LibraryOp, int64_t states)> &needsByStates() {
  static const llvm::StringMap<int64_t (*)(LibraryOp, int64_t states)> table = {
      {"adamw", updateBytes},
      {"adamw8bit", updateBytes},
      {"sgd", updateBytes},
      {"adagrad", updateBytes},
      {"lion", updateBytes},
      {"apply_direction", updateBytes},
      {"tensor_squares",
       [](LibraryOp op, int64_t states) { return gpu_workspace::tensorSquares(viewShape(op.getIns()[0])[0], states); }},
  };
  return table;
}

/// Bytes of workspace of an op; nothing if its kind needs none.
static std::optional<int64_t> neededBytes(LibraryOp op, int64_t states) {
  if (auto need = needs().lookup(op.getOp()))
    return need(op);
  if (auto need = needsByStates().lookup(op.getOp()))
    return need(op, states);
  return std::nullopt;
}

/// Bytes of all messages that may be under way at a time, and of those that an action receives.
static int64_t messageBytes(ProgramOp program) {
  struct Room {
    int64_t messages = 0, bytes = 0;
  };
  using Channel = std::pair<Attribute, int64_t>;
  auto bytesOf = [](Value view) { return getBytes(cast<MemRefType>(view.getType())); };
  llvm::MapVector<Channel, Room> out;
  llvm::MapVector<Channel, int64_t> in;
  for (auto phase : program.getOps<PhaseOp>()) {
    for (auto send : phase.getOps<SendOp>()) {
      Room &room = out[{send.getCommunicatorAttr(), send.getPeer()}];
      room.messages += send.getRoom();
      room.bytes = std::max(room.bytes, bytesOf(send.getIns()[0]));
    }
    llvm::MapVector<Channel, int64_t> received;
    for (auto receive : phase.getOps<ReceiveOp>())
      received[{receive.getCommunicatorAttr(), receive.getPeer()}] +=
          gpu_workspace::piece(bytesOf(receive.getOuts()[0]));
    for (auto [channel, bytes] : received)
      in[channel] = std::max(in[channel], bytes);
  }
  int64_t bytes = 0;
  for (const auto &[channel, room] : out)
    bytes += room.messages * gpu_workspace::piece(room.bytes);
  for (auto [channel, received] : in)
    bytes += received;
  return bytes;
}

/// Workspace of the operations: for each stream the largest need of its ops, one stream behind the other.
static int64_t operationBytes(ProgramOp program) {
  const int64_t states = llvm::range_size(program->getParentOfType<ModuleOp>().getOps<graph::StateOp>());
  std::map<uint64_t, int64_t> most;
  program.walk([&](LibraryOp op) {
    if (std::optional<int64_t> needed = neededBytes(op, states)) {
      int64_t &bytes = most[op.getStream()];
      bytes = std::max(bytes, *needed);
    }
  });
  int64_t bytes = 0;
  for (auto [stream, needed] : most)
    bytes += most.size() == 1 ? needed : gpu_workspace::piece(needed);
  return bytes;
}

/// An arena of one buffer that lives all the time.
static void addArena(OpBuilder &builder, Location loc, StringRef name, int64_t bytes) {
  if (bytes == 0)
    return;
  StringAttr arena = builder.getStringAttr(name);
  ArenaOp::create(builder, loc, arena, int64_t(0));
  BufferOp::create(builder, loc, builder.getStringAttr(name + ".all"), bytes, arena.getValue(), nullptr,
                   /*persistent=*/true, nullptr);
}

namespace {
struct ReserveWorkspace : exec::impl::ReserveWorkspaceBase<ReserveWorkspace> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    auto phases = program.getOps<PhaseOp>();
    if (phases.empty())
      return;
    OpBuilder builder(*phases.begin());
    addArena(builder, program.getLoc(), gpu_workspace::arenaName, operationBytes(program));
    addArena(builder, program.getLoc(), gpu_workspace::messagesName, messageBytes(program));
  }
};
} // namespace
