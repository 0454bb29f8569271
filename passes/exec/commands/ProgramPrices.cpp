//===- ProgramPrices.cpp - What the commands of a program take on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/ProgramPrices.h"
#include "passes/exec/Target.h"
#include "passes/exec/commands/OrthogonalWork.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <deque>
#include <map>
#include <set>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

static MemRefType memrefOf(Value view) { return cast<MemRefType>(view.getType()); }
static double sizeOf(Value view, unsigned dim) { return double(memrefOf(view).getDimSize(dim)); }
static double viewBytes(Value view) { return double(getBytes(memrefOf(view))); }
static cost::Width widthOf(Value factor) {
  return memrefOf(factor).getElementTypeBitWidth() == 16 ? cost::Width::B16 : cost::Width::F32;
}

/// Whether the rows of [g, rows, columns], or of its transpose, are aligned.
static bool hasAlignedRows(Value view) {
  SmallVector<int64_t> strides = getStrides(memrefOf(view));
  int64_t row = std::max(strides[1], strides[2]) * getElementBytes(memrefOf(view).getElementType());
  return row % kUnitOfProducts == 0;
}

/// Time of a product of lhs[g, m, k] and rhs[g, k, n].
static double secondsOfProduct(LibraryOp op, const cost::Kernels &kernels) {
  Value left = op.getIns()[0], right = op.getIns()[1];
  cost::Gemm gemm{sizeOf(left, 1), sizeOf(right, 2), sizeOf(left, 2), sizeOf(left, 0), widthOf(left)};
  gemm.together = true;
  gemm.alignedRows = llvm::all_of(ValueRange{left, right, op.getOuts()[0]}, hasAlignedRows);
  return kernels.seconds(gemm);
}

/// Time of a grouped product: picked rows (their number follows from the op's FLOP) times a matrix of rhs[e, k, n], or
/// summed into one of out[e, k, n].
static double secondsOfGrouped(LibraryOp op, const cost::Kernels &kernels) {
  Value stack = memrefOf(op.getIns()[1]).getRank() == 3 ? op.getIns()[1] : op.getOuts()[0];
  double k = sizeOf(stack, 1), n = sizeOf(stack, 2), groups = sizeOf(stack, 0);
  double rows = std::max(groups, op.getFlops().convertToDouble() / (2 * k * n));
  cost::Gemm gemm{rows, n, k, 1, widthOf(op.getIns()[0]), groups};
  gemm.together = true;
  return kernels.seconds(gemm);
}

/// Time of attention with q[b, t, h, g, d] and k[b, s, h, d]. The parameter behind the scale and the cap says whether
/// it is causal.
static double secondsOfAttention(LibraryOp op, const cost::Kernels &kernels, bool backward) {
  Value q = op.getIns()[0], k = op.getIns()[1];
  bool causal = cast<IntegerAttr>(op.getParameters()[2]).getInt() != 0;
  return kernels.seconds(cost::Attention{sizeOf(q, 0) * sizeOf(q, 2) * sizeOf(q, 3), sizeOf(q, 1), sizeOf(k, 1),
                                         sizeOf(q, 4), causal, backward, cost::AttentionKernel::Tuned});
}
static double secondsOfForward(LibraryOp op, const cost::Kernels &kernels) {
  return secondsOfAttention(op, kernels, /*backward=*/false);
}
static double secondsOfBackward(LibraryOp op, const cost::Kernels &kernels) {
  return secondsOfAttention(op, kernels, /*backward=*/true);
}

/// Time of a convolution or a gradient of it: products of the type of its operands, whose columns are gathered.
static double secondsOfConvolution(LibraryOp op, const cost::Kernels &kernels) {
  return std::max(op.getFlops().convertToDouble() / kernels.productRate(widthOf(op.getIns()[0])),
                  kernels.secondsForStream(bytesMoved(op)));
}

/// Time of a lookup, which reads only the picked rows of the table.
static double secondsOfLookup(LibraryOp op, const cost::Kernels &kernels) {
  return kernels.secondsForStream(2 * viewBytes(op.getOuts()[0]) + viewBytes(op.getIns()[1]));
}

/// Time of sums of squares by row and by column, each of which reads the gradients.
static double secondsOfFactorSquares(LibraryOp op, const cost::Kernels &kernels) {
  return kernels.secondsForStream(viewBytes(op.getIns()[0]) + bytesMoved(op));
}

/// Time of Muon's matrices, of the rank that has the most of them.
static double secondsOfOrthogonal(LibraryOp op, const cost::Kernels &kernels) {
  const double steps = double(cast<IntegerAttr>(op.getParameters()[3]).getInt());
  const int64_t share = cast<MemRefType>(op.getOuts()[0].getType()).getNumElements();
  double seconds = 0;
  for (auto [rows, columns] : orthogonalWork(op, cast<FlatSymbolRefAttr>(op.getParameters()[0]), share).matrices)
    seconds +=
        kernels.seconds(cost::Orthogonalized{double(rows), double(columns), steps, orthogonalizeFlops(rows, columns)});
  return seconds;
}

namespace {
/// Library ops whose time does not follow from their FLOP and their views' bytes.
struct LibraryPrice {
  StringLiteral op;
  double (*seconds)(LibraryOp, const cost::Kernels &);
};
constexpr LibraryPrice kPrices[] = {
    {"matmul", secondsOfProduct},
    {"matmul_epilogue", secondsOfProduct},
    {"grouped_matmul", secondsOfGrouped},
    {"grouped_matmul_grad", secondsOfGrouped},
    {"attention", secondsOfForward},
    {"attention_part", secondsOfForward},
    {"attention_grad", secondsOfBackward},
    {"attention_part_grad", secondsOfBackward},
    {"embedding", secondsOfLookup},
    {"factor_squares", secondsOfFactorSquares},
    {"orthogonalize", secondsOfOrthogonal},
    {"convolution", secondsOfConvolution},
    {"convolution_input_grad", secondsOfConvolution},
    {"convolution_kernel_grad", secondsOfConvolution},
};

} // namespace

SmallVector<ProgramPrices::Priced> ProgramPrices::price(PhaseOp phase) {
  gathers = false;
  phase.walk([&](CollectiveOp op) {
    // Gathers that exec-defer-gathers gave one slot run beside few products and do not count.
    gathers |= runsBeside(op) && op.getOfParameters() && op.getKind() == CollectiveKind::AllGather && !op.getSlot();
  });
  SmallVector<Priced> commands;
  double computing = 0;
  std::set<int64_t> slots; // of collectives that one run of the phase has alone
  phase.walk([&](CommandOpInterface command) {
    commands.push_back({command, seconds(command)});
    if (runsBeside(command)) {
      if (auto slot = cast<CollectiveOp>(*command).getSlot())
        slots.insert(*slot);
    } else if (computes(command)) {
      computing += commands.back().second;
    }
  });
  double others = double(phase.getRepeat()) - double(slots.size());
  double beside = others > 0 ? others * besideCollectives(commands, std::nullopt) : 0;
  for (int64_t slot : slots)
    beside += besideCollectives(commands, slot);
  beside /= double(phase.getRepeat());
  double slower = computing > 0 ? 1 + machine.constants.contended * std::min(1.0, beside / computing) : 1;
  for (auto &[command, own] : commands)
    if (computes(command))
      own *= slower;
  return commands;
}

double ProgramPrices::besideCollectives(ArrayRef<Priced> commands, std::optional<int64_t> slot) const {
  double beside = 0;
  // Collectives under way on each stream, with the seconds that they still take.
  std::map<uint64_t, std::deque<std::pair<Operation *, double>>> pending;
  for (auto [command, own] : commands) {
    if (runsBeside(command))
      if (auto only = cast<CollectiveOp>(*command).getSlot(); !only || int64_t(*only) == slot)
        pending[command.getStream()].push_back({command.getOperation(), own});
    if (command.getStream() != 0)
      continue;
    // No later command runs beside a collective that this command waits for.
    for (Value event : command.getAfter()) {
      auto &queue = pending[cast<CommandOpInterface>(event.getDefiningOp()).getStream()];
      auto end = llvm::find_if(queue, [&](const auto &entry) { return entry.first == event.getDefiningOp(); });
      if (end != queue.end())
        queue.erase(queue.begin(), end + 1);
    }
    if (!computes(command))
      continue;
    double most = 0;
    for (auto &[stream, queue] : pending) {
      double left = own;
      while (!queue.empty() && left > 0) {
        double done = std::min(left, queue.front().second);
        left -= done;
        if ((queue.front().second -= done) <= 0)
          queue.pop_front();
      }
      most = std::max(most, own - left);
    }
    beside += most;
  }
  return beside;
}

double ProgramPrices::ownSeconds(CommandOpInterface command) const {
  return llvm::TypeSwitch<Operation *, double>(command.getOperation())
      .Case([&](LibraryOp op) { return secondsOfLibrary(op); })
      .Case([&](KernelOp op) { return secondsOfKernel(op); })
      .Case([&](CommunicationOpInterface op) { return secondsOfExchange(op); })
      .Case([&](CopyOp op) { return secondsOfCopy(op); })
      // Fills.
      .Default([&](Operation *) { return secondsOfStream(bytesMoved(command)); });
}

double ProgramPrices::secondsOfLibrary(LibraryOp op) const {
  for (const LibraryPrice &price : kPrices)
    if (price.op == op.getOp())
      return atLeastStarted(price.seconds(op, gathers ? besideGathers : kernels));
  // Bytes in host memory move over the link, both ways at once.
  double onHost = 0;
  for (ValueRange views : {ValueRange(op.getIns()), ValueRange(op.getOuts())})
    for (Value view : views)
      if (hostBuffers.contains(view.getDefiningOp<ViewOp>().getBuffer()))
        onHost += viewBytes(view);
  double link = machine.device.hostLink.bytesPerSecond * machine.constants.hostLink * machine.constants.hostLinkBoth;
  return atLeastStarted(std::max(onHost > 0 ? onHost / link : 0,
                                 machine.secondsForWork(op.getFlops().convertToDouble(), bytesMoved(op) - onHost)));
}

double ProgramPrices::secondsOfKernel(KernelOp op) const {
  LLVM::LLVMFuncOp function = functions.lookup(op.getFunctionAttr().getAttr());
  auto real = [&](StringRef name) {
    auto attribute = function ? function->getAttrOfType<FloatAttr>(name) : nullptr;
    return attribute ? attribute.getValueAsDouble() : 0.0;
  };
  double bytes = real("dtcc.bytes");
  return atLeastStarted(machine.secondsForWork(real("dtcc.flops"), bytes > 0 ? bytes : bytesMoved(op)));
}

/// Seconds of a copy to or from host memory over the link.
double ProgramPrices::secondsOfCopy(CopyOp op) const {
  for (Value view : {op.getIns()[0], op.getOuts()[0]})
    if (hostBuffers.contains(view.getDefiningOp<ViewOp>().getBuffer()))
      return atLeastStarted(viewBytes(view) / (machine.device.hostLink.bytesPerSecond * machine.constants.hostLink));
  return secondsOfStream(bytesMoved(op));
}

/// The group of a communicator. Only some coordinates of the outermost axis may take part.
cost::Group ProgramPrices::groupOf(CommunicatorOp op) const {
  spmd::Axes axes = spmd::toAxes(op.getAxes());
  cost::Group group = spmd::groupOf(axes, mesh);
  if (auto members = op.getMembers())
    group.ranks = group.ranks / mesh.product({axes.front()}) * int64_t(members->size());
  return group;
}

double ProgramPrices::secondsOfExchange(CommunicationOpInterface op) const {
  Communication exchange = op.getCommunications().front();
  if (exchange.collective)
    return secondsOfCollective(exchange);
  // Sending copies a message into a buffer, where it waits for its receiver.
  return exchange.sends ? secondsOfStream(double(exchange.bytesIn)) : secondsOfReceive(exchange);
}

double ProgramPrices::secondsOfCollective(const Communication &exchange) const {
  cost::Group group = groupOf(communicators.lookup(exchange.communicator.getValue()));
  double in = double(exchange.bytesIn), out = double(exchange.bytesOut);
  if (exchange.info().traffic != Traffic::ToPicked)
    return machine.secondsForTransfer({*exchange.collective, exchange.info().larger(in, out), group});
  // A row goes to each member that holds one of its picks. Picks are taken to be drawn at random.
  double picks = double(exchange.picks), n = double(group.ranks);
  double rows = std::min(in, out) * (1 - std::pow(1 - 1 / n, picks)) * n;
  return machine.secondsForTransfer({*exchange.collective, rows, group, 0, picks});
}

/// Time of a message from another stage. The ranks between sender and receiver are those of the axes inside the axis of
/// the stages.
double ProgramPrices::secondsOfReceive(const Communication &message) const {
  CommunicatorOp channel = communicators.lookup(message.communicator.getValue());
  auto members = channel.getMembers();
  int64_t peer = message.peer;
  if (members && peer < int64_t(members->size()))
    peer = (*members)[peer];
  const int64_t stride = spmd::groupOf(spmd::toAxes(channel.getAxes()), mesh).stride;
  return machine.secondsToSend(
      double(message.bytesOut),
      {std::min(stage, peer) * stride, std::max<int64_t>(1, std::abs(stage - peer)) * stride, stride});
}
