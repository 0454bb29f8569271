//===- Image.cpp - A program as the runtime reads it -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Image.h"
#include "compiler/emit/ImageTables.h"
#include "compiler/emit/States.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/SavedAs.h"
#include "dialects/interfaces/PhaseRun.h"
#include "dialects/interfaces/Source.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/exec/commands/PriceCommands.h"
#include "llvm/ADT/bit.h"
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>

using namespace mlir;
using namespace dtcc;

namespace {

class ImageBuilder {
public:
  ImageBuilder(ModuleOp module, const spmd::Mesh &mesh, const ImageOptions &options)
      : module(module), tables(mesh), options(options) {}
  FailureOr<Image> run(ArrayRef<exec::ProgramOp> programs);

private:
  LogicalResult addStage(exec::ProgramOp stage);
  LogicalResult addCommunicator(exec::CommunicatorOp op);
  LogicalResult addMemory();
  FailureOr<dtcc_view> viewOf(exec::ViewOp op);
  FailureOr<uint32_t> viewIndex(Value value);
  LogicalResult addInput(exec::InputOp op);
  LogicalResult addPhase(exec::PhaseOp op);
  LogicalResult addCommand(exec::CommandOpInterface op, bool isUpdate);
  /// Returns how many actions, the last ones, are an evaluation.
  FailureOr<uint32_t> addActions();
  LogicalResult addKernel(exec::KernelOp op, dtcc_command &command);
  LogicalResult addOwn(Operation *op, dtcc_command &command);
  FailureOr<int64_t> parameter(Operation *op, Attribute attribute);

  /// The stage that is being added.
  exec::ProgramOp program;
  ModuleOp module;
  ImageTables tables;
  const ImageOptions &options;
  dtcc_image_header header = {};
  llvm::StringMap<uint32_t> arenas, communicators;
  llvm::StringMap<exec::BufferOp> buffers;
  llvm::StringMap<std::pair<int64_t, int64_t>> slotOrders; /* slot_order and slots of a dtcc_view */
  llvm::StringMap<uint32_t> kernelIndices;
  llvm::StringMap<uint32_t> bucketIndices, phaseIndices;
  llvm::DenseMap<Value, uint32_t> eventCommands;
  Image image;
};

/// Stages share their groups by name: every rank opens all of them.
LogicalResult ImageBuilder::addCommunicator(exec::CommunicatorOp op) {
  dtcc_communicator row = {tables.string(op.getSymName()), 0, tables.axes(spmd::toAxes(op.getAxes())), 0};
  for (int64_t member : op.getMembers().value_or(ArrayRef<int64_t>())) {
    if (member >= 64)
      return op.emitOpError("must have members below 64, got: ")
             << member << ": a parameter that several stages read needs a pipeline of at most 64 stages";
    row.members |= uint64_t(1) << member;
  }
  auto [known, isNew] = communicators.try_emplace(op.getSymName(), uint32_t(tables.communicators.size()));
  if (isNew)
    tables.communicators.push_back(row);
  else if (std::memcmp(&tables.communicators[known->second], &row, sizeof row))
    return op.emitOpError("must be the group that it is in other stages");
  return success();
}

LogicalResult ImageBuilder::addMemory() {
  for (auto op : program.getOps<exec::CommunicatorOp>())
    if (failed(addCommunicator(op)))
      return failure();
  for (auto op : program.getOps<exec::ArenaOp>()) {
    if (op.getBytes() > int64_t(1) << 46)
      return op.emitOpError("must have at most 2^46 bytes, got: ") << op.getBytes();
    arenas[op.getSymName()] = tables.arenas.size();
    tables.arenas.push_back(
        {tables.string(op.getSymName()), uint32_t(op.getHost() ? DTCC_MEMORY_HOST : options.memory), op.getBytes()});
  }
  for (auto op : program.getOps<exec::BufferOp>()) {
    if (!op.getOffset())
      return op.emitOpError("must have an offset: run exec-plan-arena");
    buffers[op.getSymName()] = op;
  }
  for (auto op : program.getOps<exec::SlotOrderOp>()) {
    slotOrders[op.getSymName()] = {int64_t(1 + tables.slotOrders.size()), int64_t(op.getOrder().size())};
    llvm::append_range(tables.slotOrders, op.getOrder());
  }
  return success();
}

FailureOr<dtcc_view> ImageBuilder::viewOf(exec::ViewOp op) {
  MemRefType type = op.getView().getType();
  exec::BufferOp buffer = buffers.lookup(op.getBuffer());
  if (!buffer)
    return op.emitOpError("must name an exec.buffer, got: @") << op.getBuffer(), failure();
  if (type.getRank() > DTCC_MAX_RANK)
    return op.emitOpError("rank must be at most ") << DTCC_MAX_RANK << ", got: " << type.getRank(), failure();
  auto dtype = exec::getDType(type.getElementType());
  if (!dtype)
    return op.emitOpError("element type is not one of the runtime's: ") << type.getElementType(), failure();
  dtcc_view view = {};
  view.arena = arenas.lookup(buffer.getArena());
  view.dtype = *dtype;
  view.rank = type.getRank();
  view.offset = *buffer.getOffset() + op.getOffset();
  view.slot_stride = op.getSlotStride().value_or(0);
  view.slots = op.getSlots().value_or(0);
  if (op.getSlotOrder())
    std::tie(view.slot_order, view.slots) = slotOrders.lookup(*op.getSlotOrder());
  if (op.getBlockOf()) {
    auto found = communicators.find(*op.getBlockOf());
    if (found == communicators.end() || found->second >= 255)
      return op.emitOpError("block must be of one of the first 255 communicators"), failure();
    view.block_of = 1 + found->second;
    view.block_dim = *op.getBlockDim();
  }
  llvm::copy(type.getShape(), view.sizes);
  llvm::copy(exec::getStrides(type), view.strides);
  return view;
}

FailureOr<uint32_t> ImageBuilder::viewIndex(Value value) {
  FailureOr<dtcc_view> view = viewOf(value.getDefiningOp<exec::ViewOp>());
  if (failed(view))
    return failure();
  return tables.view(*view);
}

LogicalResult ImageBuilder::addInput(exec::InputOp op) {
  dtcc_input input = {};
  input.name = tables.string(op.getName());
  input.view = DTCC_NONE;
  if (op.getView()) {
    FailureOr<uint32_t> view = viewIndex(op.getView());
    if (failed(view))
      return failure();
    input.view = *view;
  }
  if (op.getSizes().size() > DTCC_MAX_RANK)
    return op.emitOpError("rank must be at most ") << DTCC_MAX_RANK << ", got: " << op.getSizes().size();
  input.rank = op.getSizes().size();
  input.role = uint32_t(op.getRole());
  for (uint32_t i = 0; i < input.rank; ++i)
    input.dims[i] = {op.getSizes()[i], op.getPadded()[i], tables.axes(spmd::toAxes(cast<ArrayAttr>(op.getAxes()[i])))};
  if (auto bounds = op.getBounds()) {
    input.lower = (*bounds)[0];
    input.upper = (*bounds)[1];
    input.ignore = (*bounds)[2];
  }
  int64_t elements = llvm::product_of(op.getSizes());
  if (header.training.batch == 0)
    header.training.batch = op.getSizes()[0];
  if (op.getRole() == exec::InputRole::tokens)
    header.training.tokens = elements;
  tables.inputs.push_back(input);
  return success();
}

FailureOr<int64_t> ImageBuilder::parameter(Operation *op, Attribute attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return llvm::bit_cast<int64_t>(real.getValueAsDouble());
  if (isa<UnitAttr>(attribute))
    return -1;
  StringRef symbol = cast<FlatSymbolRefAttr>(attribute).getValue();
  for (auto *map : {&communicators, &bucketIndices})
    if (auto found = map->find(symbol); found != map->end())
      return int64_t(found->second);
  return op->emitOpError("parameter must name a communicator or a bucket of parameters, got: @") << symbol, failure();
}

/// A kernel's row in the table of its target, and what its command says of its work.
LogicalResult ImageBuilder::addKernel(exec::KernelOp op, dtcc_command &command) {
  bool gpu = !options.gpuModules.empty();
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(op.getFunction());
  auto integer = [&](StringRef name) {
    auto attribute = func ? func->getAttrOfType<IntegerAttr>(name) : nullptr;
    return attribute ? attribute.getInt() : 0;
  };
  auto real = [&](StringRef name) {
    auto attribute = func->getAttrOfType<FloatAttr>(name);
    return attribute ? attribute.getValueAsDouble() : 0.0;
  };
  StringRef size = gpu ? "dtcc.grid" : "dtcc.extent";
  if (!func || !func->hasAttr(size))
    return op->emitOpError("must name a generated kernel with ") << size << ", got: @" << op.getFunction();
  command.kind = DTCC_KERNEL;
  command.flops = real("dtcc.flops");
  command.bytes = real("dtcc.bytes");
  auto [entry, isNew] = kernelIndices.try_emplace(op.getFunction(), uint32_t(kernelIndices.size()));
  command.op = entry->second;
  if (!gpu) {
    command.extent = integer(size);
    command.grain = std::max<int64_t>(1, integer("dtcc.grain"));
    if (isNew)
      image.kernels.push_back(op.getFunction().str());
    return success();
  }
  constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();
  if (integer(size) > kMostBlocks)
    return op->emitOpError("must have at most ") << kMostBlocks << " blocks of threads, got: " << integer(size);
  if (isNew)
    tables.gpuKernels.push_back({tables.string(op.getFunction()), uint32_t(integer("dtcc.block")), integer(size)});
  return success();
}

/// Fills in the fields that belong to the command's kind.
LogicalResult ImageBuilder::addOwn(Operation *op, dtcc_command &command) {
  if (auto kernel = dyn_cast<exec::KernelOp>(op)) {
    if (failed(addKernel(kernel, command)))
      return failure();
  } else if (auto library = dyn_cast<exec::LibraryOp>(op)) {
    command.kind = DTCC_LIBRARY;
    command.op = *exec::getLibraryOp(library.getOp());
    command.flops = library.getFlops().convertToDouble();
    for (Attribute attribute : library.getParameters()) {
      FailureOr<int64_t> value = parameter(op, attribute);
      if (failed(value))
        return failure();
      tables.attributes.push_back(*value);
    }
  } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
    command.kind = DTCC_COLLECTIVE;
    command.op = uint32_t(collective.getKind());
    command.reduction = uint32_t(collective.getReduction());
    if (std::optional<uint64_t> experts = collective.getExperts())
      tables.attributes.push_back(int64_t(*experts));
    if (std::optional<uint64_t> room = collective.getRoom())
      tables.attributes.push_back(int64_t(*room));
    auto found = communicators.find(collective.getCommunicator());
    if (found == communicators.end())
      return op->emitOpError("must name an exec.communicator, got: @") << collective.getCommunicator();
    command.communicator = found->second;
  } else if (isa<exec::SendOp, exec::ReceiveOp>(op)) {
    command.kind = isa<exec::SendOp>(op) ? DTCC_SEND : DTCC_RECEIVE;
    auto found = communicators.find(op->getAttrOfType<FlatSymbolRefAttr>("communicator").getValue());
    if (found == communicators.end())
      return op->emitOpError("must name an exec.communicator");
    command.communicator = found->second;
    tables.attributes.push_back(op->getAttrOfType<IntegerAttr>("peer").getInt());
    if (auto send = dyn_cast<exec::SendOp>(op))
      tables.attributes.push_back(send.getRoom());
  } else if (isa<exec::CopyOp>(op)) {
    command.kind = DTCC_COPY;
  } else if (auto fill = dyn_cast<exec::FillOp>(op)) {
    command.kind = DTCC_FILL;
    auto bits = isa<FloatAttr>(fill.getValue()) ? cast<FloatAttr>(fill.getValue()).getValue().bitcastToAPInt()
                                                : cast<IntegerAttr>(fill.getValue()).getValue();
    tables.attributes.push_back(int64_t(bits.getZExtValue()));
  } else {
    return op->emitOpError("is no command of the runtime's");
  }
  return success();
}

LogicalResult ImageBuilder::addCommand(exec::CommandOpInterface op, bool isUpdate) {
  dtcc_command command = {};
  command.communicator = command.predicate = command.only_slot = DTCC_NONE;
  auto name = op->getAttrOfType<StringAttr>("name");
  auto kernel = dyn_cast<exec::KernelOp>(op.getOperation());
  command.name = tables.string(name ? name.getValue() : kernel ? kernel.getFunction() : "");
  Source source = sourceOf(op->getLoc());
  command.module = tables.string(source.module);
  command.pass = isUpdate || op->hasAttr(exec::kOfUpdateAttr) ? DTCC_UPDATE
                 : source.isGradient                          ? DTCC_BACKWARD
                                                              : DTCC_FORWARD;
  command.stream = op.getStream();
  if (auto collective = dyn_cast<exec::CollectiveOp>(op.getOperation()))
    command.only_slot = collective.getSlot().value_or(DTCC_NONE);
  SmallVector<uint32_t> operands;
  for (ValueRange views : {ValueRange(op.getIns()), ValueRange(op.getOuts()), op.getScratch()})
    for (Value value : views) {
      FailureOr<uint32_t> view = viewIndex(value);
      if (failed(view))
        return failure();
      operands.push_back(*view);
    }
  // Inputs stand first, and the predicate behind them.
  if (auto library = dyn_cast<exec::LibraryOp>(op.getOperation()); library && library.getPredicated()) {
    auto at = operands.begin() + library.getIns().size() - 1;
    command.predicate = *at;
    operands.erase(at);
  }
  command.first_operand = tables.append(tables.operands, operands);
  command.operand_count = operands.size();
  command.bytes = exec::bytesMoved(op);
  if (auto seconds = op->getAttrOfType<FloatAttr>(exec::kSecondsAttr))
    command.seconds = seconds.getValueAsDouble();
  command.first_attribute = tables.attributes.size();
  if (failed(addOwn(op, command)))
    return failure();
  command.attribute_count = tables.attributes.size() - command.first_attribute;
  command.first_wait = tables.waits.size();
  for (Value event : op.getAfter())
    tables.waits.push_back({eventCommands.lookup(event)});
  command.wait_count = tables.waits.size() - command.first_wait;
  for (Value event : op->getResults())
    eventCommands[event] = tables.commands.size();
  tables.commands.push_back(command);
  return success();
}

LogicalResult ImageBuilder::addPhase(exec::PhaseOp op) {
  uint32_t first = tables.commands.size(), phase = tables.phases.size();
  for (auto command : op.getOps<exec::CommandOpInterface>())
    if (failed(addCommand(command, op.getSymName() == spmd::kUpdatePhase)))
      return failure();
  dtcc_phase_use use = spmd::exchangesAverages(op.getSymName()) ? DTCC_PHASE_EXCHANGES_AVERAGES
                       : op.getSymName() == spmd::kGatherPhase  ? DTCC_PHASE_GATHERS_PARAMETERS
                                                                : DTCC_PHASE_RUNS;
  tables.phases.push_back({tables.string(op.getSymName()), first, uint32_t(tables.commands.size()) - first, use});
  phaseIndices[op.getSymName()] = phase;
  return success();
}

FailureOr<uint32_t> ImageBuilder::addActions() {
  uint32_t evaluation = 0;
  if (spmd::RunsAttr actions = program.getActionsAttr()) {
    for (const PhaseRun &run : actions.getRuns()) {
      tables.actions.push_back({phaseIndices.lookup(run.phase), uint32_t(run.slot)});
      evaluation += spmd::isOfEvaluation(run.phase.getValue());
    }
    return evaluation;
  }
  for (auto op : program.getOps<exec::PhaseOp>())
    for (uint32_t slot = 0; slot < op.getRepeat(); ++slot) {
      tables.actions.push_back({phaseIndices.lookup(op.getSymName()), slot});
      evaluation += spmd::isOfEvaluation(op.getSymName());
    }
  return evaluation;
}

/// Appends the rows of one stage to all sections.
LogicalResult ImageBuilder::addStage(exec::ProgramOp stage) {
  program = stage;
  arenas.clear();
  buffers.clear();
  slotOrders.clear();
  bucketIndices.clear();
  phaseIndices.clear();
  dtcc_stage row = {};
  row.name = tables.string(stage.getSymName());
  llvm::fill(row.scalars, DTCC_NONE);
  auto begin = [](dtcc_range &range, const auto &rows) { range.first = rows.size(); };
  auto end = [](dtcc_range &range, const auto &rows) { range.count = rows.size() - range.first; };
  auto all = [&](auto each) {
#define DTCC_STAGE_SECTION(FIELD, TYPE) each(row.FIELD, tables.FIELD);
#include "runtime/abi/Sections.def"
  };
  all(begin);
  if (failed(addMemory()) || failed(addStates(module, program, tables, buffers, arenas, bucketIndices)))
    return failure();
  for (auto op : program.getOps<exec::InputOp>())
    if (failed(addInput(op)))
      return failure();
  for (auto op : program.getOps<exec::ScalarOp>()) {
    FailureOr<uint32_t> view = viewIndex(op.getView());
    if (failed(view))
      return failure();
    row.scalars[uint32_t(op.getKind())] = *view;
  }
  for (auto op : program.getOps<exec::PhaseOp>())
    if (failed(addPhase(op)))
      return failure();
  FailureOr<uint32_t> evaluation = addActions();
  if (failed(evaluation))
    return failure();
  row.evaluation = *evaluation;
  all(end);
  tables.stages.push_back(row);
  return success();
}

FailureOr<Image> ImageBuilder::run(ArrayRef<exec::ProgramOp> programs) {
  header.model = tables.string(options.model);
  header.plan = tables.string(options.plan);
  header.cpu = tables.string(options.cpu);
  header.weights = tables.string(options.weights);
  header.machine = tables.string(options.machine);
  header.tensors = tables.string(options.tensors);
  if (auto model = module->getAttrOfType<StringAttr>(graph::kOnnxModelAttr))
    tables.onnxModel = model.str();
  header.stage_axis = DTCC_NONE;
  exec::ProgramOp first = programs.front();
  int64_t wanted = 1;
  if (std::optional<StringRef> axis = first.getAxis()) {
    header.stage_axis = tables.axes({axis->str()}).ids[0];
    wanted = tables.mesh.product({axis->str()});
  }
  if (int64_t(programs.size()) != wanted)
    return module.emitError("must hold ") << wanted << " exec.program, got: " << programs.size(), failure();
  for (int64_t i = 0; i < wanted; ++i) {
    exec::ProgramOp stage = programs[i];
    if (int64_t(stage.getStage().value_or(0)) != i || stage.getMesh() != first.getMesh() ||
        stage.getAxisAttr() != first.getAxisAttr())
      return stage.emitOpError("must be stage ") << i << " of one mesh and axis, in order", failure();
    if (failed(addStage(stage)))
      return failure();
    header.training.lr = std::max(header.training.lr, learningRate(stage));
  }
  for (const GpuModule &code : options.gpuModules) {
    tables.gpuModules.push_back({code.architecture, uint32_t(code.kind), tables.gpuCode.size(), code.code.size()});
    tables.gpuCode += code.code;
  }
  header.tf32 = options.tf32;
  header.precision = tables.string(options.precision);
  header.gradients = tables.string(options.gradients);
  header.peak_flops = options.devicePeak * double(tables.mesh.ranks());
  header.training.label_shift = options.labelShift;
  header.training.seed = options.seed;
  image.bytes = tables.serialize(header);
  return std::move(image);
}
} // namespace

FailureOr<Image> dtcc::buildImage(ArrayRef<exec::ProgramOp> programs, ModuleOp module, const ImageOptions &options) {
  exec::ProgramOp program = programs.front();
  auto mesh = module.lookupSymbol<spmd::MeshOp>(program.getMeshAttr());
  if (!mesh)
    return program.emitOpError("must name an spmd.mesh, got: ") << program.getMeshAttr(), failure();
  return ImageBuilder(module, spmd::toMesh(mesh), options).run(programs);
}
