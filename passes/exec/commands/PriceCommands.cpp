//===- PriceCommands.cpp - What each command takes on a machine
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model of the search (planner/cost), asked about what is left of the model: kernels
// by the bytes that they move, products and attention by their sizes, collectives by what
// their groups send. What ops of the library compute is a row of a table here.
//
// Kernels are slower beside collectives of other streams, as in the search (cost/Step, Constants.def): products while
// parameters are gathered, and all kernels by a share of the time for which collectives run beside them. All kernels of
// a phase bear that share, since no order of the streams is known here.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/PriceCommands.h"
#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "passes/exec/Passes.h"
#include "passes/exec/Target.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/cost/Kernels.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_PRICECOMMANDS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

static MemRefType memrefOf(Value view) { return cast<MemRefType>(view.getType()); }
static double sizeOf(Value view, unsigned dim) { return double(memrefOf(view).getDimSize(dim)); }
static double viewBytes(Value view) {
  return double(memrefOf(view).getNumElements()) * double(getElementBytes(memrefOf(view).getElementType()));
}
static cost::Width widthOf(Value factor) {
  return memrefOf(factor).getElementTypeBitWidth() == 16 ? cost::Width::B16 : cost::Width::F32;
}

/// Whether the rows of [g, rows, columns], or of its transpose, are aligned.
static bool hasAlignedRows(Value view) {
  SmallVector<int64_t> strides = getStrides(memrefOf(view));
  int64_t row = std::max(strides[1], strides[2]) * getElementBytes(memrefOf(view).getElementType());
  return row % kUnitOfProducts == 0;
}

/// lhs[g, m, k] by rhs[g, k, n].
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
  return kernels.seconds(cost::Gemm{rows, n, k, 1, widthOf(op.getIns()[0]), groups});
}

/// q[b, t, h, g, d] and k[b, s, h, d]; the parameter after the scale and the cap says whether it is causal.
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

namespace dtcc::exec {
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
    {"convolution", secondsOfConvolution},
    {"convolution_input_grad", secondsOfConvolution},
    {"convolution_kernel_grad", secondsOfConvolution},
};

class ProgramPrices {
public:
  ProgramPrices(ProgramOp program, const cost::Machine &machine, const spmd::Mesh &mesh)
      : stage(program.getStage().value_or(0)), machine(machine), mesh(mesh), kernels(machine.device, machine.constants),
        besideGathers(machine.device, machine.constants, {false, /*gathering=*/true, false}) {
    for (auto op : program.getOps<CommunicatorOp>())
      communicators[op.getSymName()] = op;
    for (auto op : program.getOps<ArenaOp>())
      if (op.getHost())
        hostArenas.insert(op.getSymName());
    for (auto op : program.getOps<BufferOp>())
      if (hostArenas.contains(op.getArena()))
        hostBuffers.insert(op.getSymName());
  }

  /// Sets the seconds of all commands of a phase.
  void price(PhaseOp phase);

private:
  /// The slowest of so many ranks is waited for.
  double seconds(CommandOpInterface command) const { return machine.straggling() * ownSeconds(command); }
  /// Whether a command is a collective that a kernel may run beside.
  bool runsBeside(CommandOpInterface command) const {
    return !machine.isCpu() && command.getStream() != 0 && isa<CollectiveOp>(command);
  }
  double ownSeconds(CommandOpInterface command) const;
  double secondsOfLibrary(LibraryOp op) const;
  double secondsOfKernel(KernelOp op) const;
  double secondsOfExchange(CommunicationOpInterface op) const;
  double secondsOfCollective(const Communication &exchange) const;
  double secondsOfReceive(const Communication &message) const;
  double secondsOfCopy(CopyOp op) const;
  /// Time of a command that only moves bytes. A GPU starts a kernel in the time in which it moves some megabytes.
  double secondsOfStream(double bytes) const { return atLeastStarted(kernels.secondsForStream(bytes)); }
  double atLeastStarted(double seconds) const {
    return machine.isCpu() ? seconds : std::max(seconds, machine.constants.launch);
  }
  cost::Group groupOf(CommunicatorOp op) const;

  int64_t stage;
  const cost::Machine &machine;
  const spmd::Mesh &mesh;
  /// Rates of kernels alone, and of kernels beside gathers of parameters.
  cost::Kernels kernels, besideGathers;
  /// Whether the phase gathers parameters beside its kernels.
  bool gathers = false;
  llvm::StringMap<CommunicatorOp> communicators;
  llvm::StringSet<> hostArenas, hostBuffers;
};

struct PriceCommands : impl::PriceCommandsBase<PriceCommands> {
  using PriceCommandsBase::PriceCommandsBase;
  explicit PriceCommands(const cost::Machine &machine) : machine(machine) {}

  void runOnOperation() override {
    if (!machine) {
      std::string error;
      std::optional<cost::Cluster> found = cost::parseCluster(cluster, error);
      if (!found) {
        getOperation()->emitError("exec-price-commands: ") << error;
        return signalPassFailure();
      }
      machine = cost::Machine::of(*found);
    }
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      auto mesh = getOperation().lookupSymbol<spmd::MeshOp>(program.getMeshAttr());
      if (!mesh) {
        program.emitOpError("must name an spmd.mesh, got: ") << program.getMeshAttr();
        return signalPassFailure();
      }
      spmd::Mesh axes = spmd::toMesh(mesh);
      ProgramPrices prices(program, *machine, axes);
      program.walk([&](PhaseOp phase) { prices.price(phase); });
    }
  }

  std::optional<cost::Machine> machine;
};
} // namespace
} // namespace dtcc::exec

void ProgramPrices::price(PhaseOp phase) {
  gathers = false;
  phase.walk([&](CollectiveOp op) {
    gathers |= runsBeside(op) && op.getOfParameters() && op.getKind() == CollectiveKind::AllGather;
  });
  SmallVector<std::pair<CommandOpInterface, double>> commands;
  double computing = 0, beside = 0;
  phase.walk([&](CommandOpInterface command) {
    double own = seconds(command);
    commands.push_back({command, own});
    // A collective of one slot runs once in all of them.
    if (auto collective = dyn_cast<CollectiveOp>(*command); collective && runsBeside(command))
      beside += own / (collective.getSlot() ? double(phase.getRepeat()) : 1);
    else if (command.getStream() == 0 && !isa<CommunicationOpInterface>(*command))
      computing += own;
  });
  double slower = computing > 0 ? 1 + machine.constants.contended * std::min(1.0, beside / computing) : 1;
  for (auto [command, own] : commands) {
    bool slows = command.getStream() == 0 && !isa<CommunicationOpInterface>(*command);
    command->setAttr(kSecondsAttr, Builder(phase).getF64FloatAttr(slows ? slower * own : own));
  }
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
  auto function = op->getParentOfType<ModuleOp>().lookupSymbol<LLVM::LLVMFuncOp>(op.getFunction());
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
  // A message is copied to where it waits for its receiver.
  return exchange.sends ? secondsOfStream(double(exchange.bytesIn)) : secondsOfReceive(exchange);
}

double ProgramPrices::secondsOfCollective(const Communication &exchange) const {
  cost::Group group = groupOf(communicators.lookup(exchange.communicator.getValue()));
  double in = double(exchange.bytesIn), out = double(exchange.bytesOut);
  if (exchange.info().traffic != Traffic::ToPicked)
    return machine.secondsForTransfer({*exchange.collective, exchange.info().larger(in, out), group});
  // A row goes to each member that holds one of its picks: experts drawn at random.
  double picks = double(exchange.picks), n = double(group.ranks);
  double rows = std::min(in, out) * (1 - std::pow(1 - 1 / n, picks)) * n;
  return machine.secondsForTransfer({*exchange.collective, rows, group, 0, picks});
}

/// A message from another stage: ranks between them are those of the axes inside that of the stages.
double ProgramPrices::secondsOfReceive(const Communication &message) const {
  CommunicatorOp channel = communicators.lookup(message.communicator.getValue());
  auto members = channel.getMembers();
  int64_t peer = message.peer;
  if (members && peer < int64_t(members->size()))
    peer = (*members)[peer];
  int64_t apart = std::max<int64_t>(1, std::abs(stage - peer));
  return machine.secondsToSend(double(message.bytesOut),
                               apart * spmd::groupOf(spmd::toAxes(channel.getAxes()), mesh).stride);
}

std::unique_ptr<Pass> dtcc::exec::createPriceCommandsFor(const cost::Machine &machine) {
  return std::make_unique<PriceCommands>(machine);
}
