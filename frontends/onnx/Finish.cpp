//===- Finish.cpp - From the built graph to the contract
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function returns its loss as (sum, count); states learn from the graph whether
// they train, and inputs what they are for.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "frontends/onnx/Importer.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

LogicalResult Importer::finishFunction() {
  OpBuilder &builder = emitter.getBuilder();
  if (failed(writeStates()))
    return failure();
  const auto &outputs = model.proto().graph().output();
  Tensor loss;
  if (options.loss) {
    FailureOr<Tensor> attached = attachLoss();
    if (failed(attached))
      return failure();
    loss = *attached;
  } else {
    std::vector<std::string> scalars;
    llvm::StringSet<> next;
    for (const Manifest::Update &update : manifest.bufferUpdates())
      next.insert(update.value);
    for (const auto &output : outputs) {
      if (next.contains(output.name()))
        continue;
      Tensor value = lookup(output.name());
      if (!value)
        return failure();
      bool scalar = isFloat(value) && (rankOf(value) == 0 || (outputs.size() == 1 && cellsOf(shapeOf(value)) == 1));
      if (options.lossOutput.empty() ? scalar : options.lossOutput == output.name()) {
        if (!scalar)
          return emitError(model.loc()) << "the loss must be a float scalar, got: '" << output.name() << "' of type "
                                        << value->type;
        scalars.push_back(output.name());
        loss = value;
      }
    }
    if (scalars.size() > 1)
      return emitError(model.loc()) << "several outputs could be the loss: '" << llvm::join(scalars, "', '")
                                    << "'; name one with --loss-output";
    if (scalars.empty() && !options.lossOutput.empty())
      return emitError(model.loc()) << "the model has no output named '" << options.lossOutput << "'";
  }
  if (loss) {
    if (failed(returnLoss(loss)))
      return failure();
  } else {
    SmallVector<Value> values;
    for (const auto &output : outputs)
      values.push_back(emitter.value(lookup(output.name())));
    func::ReturnOp::create(builder, emitter.getLoc(), values);
    function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
  }
  eraseDead();
  WalkResult empty = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (cellsOf(cast<RankedTensorType>(type).getShape()) == 0) {
        emitError(op->getLoc()) << "tensors without elements are not supported, got: " << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (empty.wasInterrupted())
    return failure();
  classifyStates();
  if (form)
    applyForm();
  else if (options.verbose)
    describeForm();
  eraseDead();
  classifyInputs();
  return success();
}

void Importer::describeForm() {
  InFlightDiagnostic remark = emitRemark(model.loc());
  if (options.loss)
    remark << "a forward pass; --loss=" << options.loss->kind << " is attached";
  else if (function.getName() == "loss")
    remark << "a forward pass that ends in its loss";
  else
    remark << "a forward pass without a loss";
}

void Importer::applyForm() {
  Operation *op = module->getOperation();
  OpBuilder builder(context);
  if (!form->optimizer)
    return;
  op->setAttr(graph::kOptimizerAttr, form->optimizer);
  if (form->clip > 0)
    op->setAttr(graph::kClipAttr, builder.getF64FloatAttr(form->clip));
  for (State &state : states)
    if (auto slots = form->slots.find(state.name); slots != form->slots.end() && state.op.getTrainable()) {
      SmallVector<Attribute> values;
      for (const StoredTensor &slot : slots->second)
        values.push_back(slot.toResource());
      state.op.setSlotsAttr(builder.getArrayAttr(values));
    }
}

LogicalResult Importer::returnLoss(const Tensor &loss) {
  OpBuilder &builder = emitter.getBuilder();
  Tensor sum = loss->sum, count = loss->count;
  if (!sum) {
    note("the loss is not a mean over labels or elements: a step's loss is the mean of its micro-batches' losses");
    sum = loss;
    count = emitter.scalar(1, elementOf(loss));
  }
  SmallVector<Value> values;
  for (const Tensor &part : {sum, count})
    values.push_back(emitter.value(emitter.cast(emitter.reshape(part, {}), builder.getF32Type())));
  func::ReturnOp::create(builder, emitter.getLoc(), values);
  function.setName("loss");
  function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
  return success();
}

/// `value`, which reads the state if nothing else does: states have the layouts of those who read them.
static Tensor readingOld(Emitter &emitter, const State &state, const Tensor &value) {
  Value old = emitter.value(state.read), next = emitter.value(value);
  if (!old.use_empty())
    return value;
  OpBuilder &builder = emitter.getBuilder();
  auto flags = RankedTensorType::get(state.stored.type.getShape(), builder.getI1Type());
  Value never = emitter.value(emitter.splat(flags, 0));
  return emitter.fromValue(graph::SelectOp::create(builder, emitter.getLoc(), next.getType(), never, old, next));
}

/// Writes, at the end of the step, the value that follows each state and each buffer of the manifest.
LogicalResult Importer::writeStates() {
  for (const Manifest::Update &update : manifest.bufferUpdates()) {
    if (!scopes.back().initializers.contains(update.buffer) || !lookup(update.buffer))
      return emitError(model.loc()) << "the metadata 'dtcc.manifest' must name an initializer as buffer, got: '"
                                    << update.buffer << "'";
    auto found = stateOf.find(update.buffer);
    if (found == stateOf.end() || writes.contains(states[found->second].op.getSymName()))
      continue;
    State &state = states[found->second];
    Tensor value = lookup(update.value);
    if (!value)
      return failure();
    if (value->type.getShape() != state.stored.type.getShape())
      return emitError(model.loc()) << "what follows buffer '" << update.buffer << "' must have its shape, got: '"
                                    << update.value << "' of type " << value->type;
    buffers.insert(state.name);
    writes[state.op.getSymName()] = readingOld(emitter, state, emitter.cast(value, state.stored.type.getElementType()));
  }
  for (const auto &[symbol, value] : writes)
    graph::WriteOp::create(emitter.getBuilder(), emitter.getLoc(), FlatSymbolRefAttr::get(context, symbol),
                           emitter.value(value));
  return success();
}

/// Erases ops nobody uses, and states nobody reads.
void Importer::eraseDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::StringSet<> read;
  function.walk([&](graph::ReadOp op) { read.insert(op.getState()); });
  llvm::erase_if(states, [&](State &state) {
    if (read.contains(state.op.getSymName()))
      return false;
    state.op.erase();
    return true;
  });
}

/// Whether a gradient of the user may reach a parameter by this operand: rotary frequencies stand behind sines.
static bool passesGradient(OpOperand &use) {
  Operation *op = use.getOwner();
  auto known = dyn_cast<DifferentiableOpInterface>(op);
  return !(known && !known.passesGradient(use.getOperandNumber())) &&
         !isa<graph::SinOp, graph::CosOp, graph::FloorOp, graph::SignOp, graph::IsNanOp, graph::CompareOp>(op);
}

/// Whether a vector parameter is multiplied (a scale) rather than added (a bias).
static bool isScale(Value read) {
  SmallVector<Value> pending = {read};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (isa<graph::BroadcastOp, graph::ReshapeOp, graph::CastOp, graph::TransposeOp>(op))
        pending.push_back(op->getResult(0));
      else if (isa<graph::MulOp>(op) ||
               (isa<graph::LayerNormOp, graph::RmsNormOp, graph::BatchNormOp, graph::RunningStatisticsOp>(op) &&
                use.getOperandNumber() == 1))
        return true;
    }
  }
  return false;
}

static bool matches(ArrayRef<std::string> globs, StringRef name) {
  return llvm::any_of(globs, [&](const std::string &glob) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(glob);
    if (!pattern) {
      llvm::consumeError(pattern.takeError());
      return glob == name;
    }
    return pattern->match(name);
  });
}

void Importer::classifyStates() {
  // Reads that a gradient of the results reaches.
  llvm::SetVector<Operation *> reached;
  for (Value result : function.front().getTerminator()->getOperands())
    if (Operation *op = result.getDefiningOp())
      reached.insert(op);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i]->getOpOperands())
      if (Operation *op = use.get().getDefiningOp(); op && graph::isFloat(use.get()) && passesGradient(use))
        reached.insert(op);

  llvm::erase_if(states, [&](State &state) {
    Operation *read = state.read->value.getDefiningOp();
    const ManifestEntry *entry = manifest.find(state.name);
    bool parameter = manifest.exists() ? entry != nullptr : reached.contains(read);
    bool trainable = parameter && (!entry || entry->trainable);
    if (form)
      trainable = parameter && form->trained.contains(state.name);
    if (buffers.contains(state.name))
      parameter = trainable = false;
    if (matches(options.trainable, state.name) && !writes.contains(state.op.getSymName()))
      parameter = trainable = true;
    if (matches(options.freeze, state.name))
      trainable = false;
    if (!parameter && !writes.contains(state.op.getSymName()) && state.stored.hasData &&
        cellsOf(state.stored.type.getShape()) <= kMaxFoldedCells) {
      OpBuilder builder(read);
      Value cells = graph::ConstantOp::create(builder, read->getLoc(), state.stored.type,
                                              cast<ElementsAttr>(state.stored.toHost().toAttribute()));
      read->getResult(0).replaceAllUsesWith(cells);
      read->erase();
      state.op.erase();
      return true;
    }
    state.op.setRole(parameter ? graph::StateRole::parameter : graph::StateRole::buffer);
    state.op.setTrainable(trainable);
    bool decays = form && form->optimizer ? form->decayed.contains(state.name) : !entry || entry->decay;
    state.op.setDecay(trainable && decays);
    // A state that the file fills with one number starts so, unless it is a parameter and random start values are
    // asked for.
    bool filled = state.op.getInitAttr() && !(parameter && options.randomInit);
    if (!state.op.getValue() && !filled) {
      bool vector = state.stored.type.getRank() <= 1;
      auto init = !vector                       ? graph::InitAttr::get(context, graph::InitKind::normal, 0.0, 0.02)
                  : isScale(read->getResult(0)) ? graph::InitAttr::get(context, graph::InitKind::constant, 1.0, 0.0)
                                                : graph::InitAttr::get(context, graph::InitKind::zero, 0.0, 0.0);
      if (form && form->starts.contains(state.name))
        init = form->starts.lookup(state.name);
      state.op.setInitAttr(init);
    }
    if (entry && entry->paddingIndex >= 0)
      for (Operation *user : read->getUsers())
        if (auto embedding = dyn_cast<graph::EmbeddingOp>(user))
          embedding.setPaddingIdx(entry->paddingIndex);
    return false;
  });
}

/// The argument that an index tensor comes from, through movement.
static BlockArgument sourceArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<graph::ReshapeOp, graph::ShiftOp, graph::SliceOp, graph::CastOp, graph::TransposeOp, graph::BroadcastOp,
             graph::PadOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return dyn_cast<BlockArgument>(value);
}

void Importer::classifyInputs() {
  auto mark = [&](Value ids, StringRef role, int64_t size, std::optional<int64_t> ignore) {
    BlockArgument argument = sourceArgument(ids);
    if (!argument)
      return;
    unsigned i = argument.getArgNumber();
    function.setArgAttr(i, "graph.role", StringAttr::get(context, role));
    // The bounds are those of the smallest table the ids index.
    if (auto old = function.getArgAttrOfType<DenseI64ArrayAttr>(i, "graph.bounds"))
      size = std::min(size, old[1]);
    function.setArgAttr(i, "graph.bounds", DenseI64ArrayAttr::get(context, {0, size, ignore.value_or(0)}));
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, "graph.role", StringAttr::get(context, "data"));
  function.walk([&](Operation *op) {
    if (auto embedding = dyn_cast<graph::EmbeddingOp>(op))
      mark(embedding.getIds(), "tokens", cast<ShapedType>(embedding.getTable().getType()).getDimSize(0), std::nullopt);
    if (auto loss = dyn_cast<graph::CrossEntropyOp>(op))
      mark(loss.getLabels(), "labels", cast<ShapedType>(loss.getLogits().getType()).getShape().back(),
           loss.getIgnoreIndex());
  });
}
