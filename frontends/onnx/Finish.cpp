//===- Finish.cpp - Gives an imported function the form that passes rely on
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Finish.h"
#include "dialects/graph/Shapes.h"
#include "frontends/onnx/states/Initializers.h"
#include "frontends/onnx/training/LossFraction.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor BuiltFunction::addInput(StringRef name, RankedTensorType type) const {
  func::FuncOp function = this->function;
  NamedAttrList attributes;
  MLIRContext *context = function.getContext();
  attributes.set("graph.name", StringAttr::get(context, name));
  unsigned at = function.getNumArguments();
  (void)function.insertArgument(at, type, attributes.getDictionary(context), source.model.loc());
  return emitter.fromValue(function.getArgument(at));
}

/// Notes which form of a model was found, if the model brings no training of its own.
static void describeForm(const SourceFile &source, func::FuncOp function) {
  const ImportOptions &options = source.options;
  InFlightDiagnostic remark = emitRemark(source.model.loc());
  if (options.loss)
    remark << "a forward pass; --loss=" << options.loss->kind << " is attached";
  else if (function.getName() == "loss")
    remark << "a forward pass that ends in its loss";
  else
    remark << "a forward pass without a loss";
}

/// Sets the optimizer, gradient clipping and optimizer state that a training graph names.
static void applyForm(const TrainingForm &form, ModuleOp module, States &states) {
  Builder builder(module.getContext());
  if (!form.optimizer)
    return;
  module->setAttr(graph::kOptimizerAttr, form.optimizer);
  if (form.clip > 0)
    module->setAttr(graph::kClipAttr, builder.getF64FloatAttr(form.clip));
  for (State &state : states.all())
    if (auto slots = form.slots.find(state.name); slots != form.slots.end() && state.op.getTrainable()) {
      SmallVector<Attribute> values;
      for (const StoredTensor &slot : slots->second)
        values.push_back(slot.toResource());
      state.op.setSlotsAttr(builder.getArrayAttr(values));
    }
}

static void returnLoss(Emitter &emitter, func::FuncOp function, const Tensor &loss) {
  OpBuilder &builder = emitter.getBuilder();
  Tensor sum = loss->sum, count = loss->count;
  if (!sum)
    if (std::optional<LossFraction> found = findLossFraction(builder, emitter.value(loss))) {
      sum = emitter.fromValue(found->sum);
      count = emitter.fromValue(found->count);
    }
  if (!sum) {
    // A sum over samples, or of one micro-batch.
    sum = loss;
    count = emitter.scalar(1, elementOf(loss));
  }
  SmallVector<Value> values;
  for (const Tensor &part : {sum, count})
    values.push_back(emitter.value(emitter.cast(emitter.reshape(part, {}), builder.getF32Type())));
  func::ReturnOp::create(builder, emitter.getLoc(), values);
  function.setName("loss");
  function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
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
static LogicalResult writeStates(const BuiltFunction &built) {
  States &states = built.states;
  Location loc = built.source.model.loc();
  for (const Manifest::Update &update : built.source.manifest.bufferUpdates()) {
    if (!built.scopes.initializer(update.buffer) || !built.scopes.lookup(update.buffer))
      return emitError(loc) << "the metadata 'dtcc.manifest' must name an initializer as buffer, got: '"
                            << update.buffer << "'";
    if (State *known = states.find(update.buffer); !known || states.isWritten(*known))
      continue;
    Tensor value = built.scopes.lookup(update.value);
    if (!value)
      return failure();
    State &state = *states.find(update.buffer);
    if (value->type.getShape() != state.stored.type.getShape())
      return emitError(loc) << "what follows buffer '" << update.buffer << "' must have its shape, got: '"
                            << update.value << "' of type " << value->type;
    Tensor next = built.emitter.cast(value, state.stored.type.getElementType());
    states.write(state, readingOld(built.emitter, state, next));
  }
  states.emitWrites();
  return success();
}

/// Erases ops nobody uses, and states nobody reads.
static void eraseDead(func::FuncOp function, States &states) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::StringSet<> read;
  function.walk([&](graph::ReadOp op) { read.insert(op.getState()); });
  llvm::erase_if(states.all(), [&](State &state) {
    if (read.contains(state.op.getSymName()))
      return false;
    state.op.erase();
    return true;
  });
}

/// The frequencies of an angle: the only state that the value is computed from, if that is a vector, and positions or
/// other data besides. Weights of a layer before a sine are no frequencies, as these are matrices, or several.
static graph::ReadOp frequenciesOf(Value angle) {
  llvm::SetVector<Value> cone;
  cone.insert(angle);
  graph::ReadOp frequencies;
  bool readsOthers = false;
  for (size_t i = 0; i < cone.size(); ++i) {
    Operation *op = cone[i].getDefiningOp();
    auto read = dyn_cast_or_null<graph::ReadOp>(op);
    if (read && frequencies && read.getState() != frequencies.getState())
      return {};
    if (read)
      frequencies = read;
    else if (op && op->getNumOperands() > 0)
      cone.insert(op->operand_begin(), op->operand_end());
    else
      readsOthers |= !matchPattern(cone[i], m_Constant(static_cast<SplatElementsAttr *>(nullptr)));
  }
  bool isVector = frequencies &&
                  llvm::count_if(graph::shapeOf(frequencies.getResult()), [](int64_t size) { return size != 1; }) <= 1;
  return readsOthers && isVector ? frequencies : graph::ReadOp();
}

/// Whether a gradient of the user may reach a parameter by this operand: the tables of a rotary embedding hold sines.
static bool passesGradient(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<graph::RotaryOp>(op) && use.getOperandNumber() > 0)
    return false;
  auto known = dyn_cast<DifferentiableOpInterface>(op);
  return !(known && !known.passesGradient(use.getOperandNumber())) &&
         !isa<graph::FloorOp, graph::SignOp, graph::IsNanOp, graph::CompareOp>(op);
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

/// The reads that a gradient of the results reaches, and those that it would reach behind sines of their frequencies.
static std::pair<llvm::DenseSet<Operation *>, llvm::DenseSet<Operation *>> reachedReads(func::FuncOp function) {
  llvm::SetVector<Operation *> reached;
  llvm::DenseSet<Operation *> reads, behindSines;
  for (Value result : function.front().getTerminator()->getOperands())
    if (Operation *op = result.getDefiningOp())
      reached.insert(op);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (isa<graph::ReadOp>(reached[i]))
      reads.insert(reached[i]);
    bool isSine = isa<graph::SinOp, graph::CosOp>(reached[i]);
    for (OpOperand &use : reached[i]->getOpOperands()) {
      Operation *op = use.get().getDefiningOp();
      if (!op || !graph::isFloat(use.get()) || !passesGradient(use))
        continue;
      if (graph::ReadOp frequencies = isSine ? frequenciesOf(use.get()) : graph::ReadOp())
        behindSines.insert(frequencies);
      else
        reached.insert(op);
    }
  }
  return {std::move(reads), std::move(behindSines)};
}

static void describeConstants(Location loc, ArrayRef<std::string> trained, ArrayRef<std::string> kept) {
  auto named = [](ArrayRef<std::string> names) {
    return (names.size() > 1 ? std::to_string(names.size()) + " Constant nodes, " : "Constant node ") + firstOf(names);
  };
  const StringRef verb = trained.size() > 1 ? " train" : " trains";
  if (!trained.empty())
    emitRemark(loc)
        << "no initializer of the file is a matrix, so " << named(trained) << verb
        << ": --freeze names what is no weight; a Constant node with a vector or at most 64 cells trains too "
           "with --trainable='*' --trainable=NAME";
  if (!kept.empty())
    emitRemark(loc) << named(kept) << (kept.size() > 1 ? " do" : " does")
                    << " not train, as the weights of the file are initializers: --trainable='*' --trainable="
                    << kept.front() << " trains a weight too, --freeze names what is none";
}

static void classifyStates(func::FuncOp function, const SourceFile &source, States &states) {
  MLIRContext *context = function.getContext();
  const ImportOptions &options = source.options;
  const Manifest &manifest = source.manifest;
  const std::optional<TrainingForm> &form = source.form;
  const auto [reached, behindSines] = reachedReads(function);
  const bool isGuessed = !manifest.exists() && !source.signature.exists() && !form;
  // Weights may stand in Constant nodes, but those of a file whose weights are initializers are masks and tables.
  const bool trainsConstants = isGuessed && !storesMatrices(source);
  SmallVector<std::string> trainedConstants, keptConstants;
  // Who lets all parameters train means others too that match, and hears that these do not.
  auto isMeant = [&](StringRef name) {
    return (options.trainable.empty() || matches(options.trainable, name)) && !matches(options.freeze, name);
  };
  llvm::erase_if(states.all(), [&](State &state) {
    Operation *read = state.read->value.getDefiningOp();
    const ManifestEntry *entry = manifest.find(state.name);
    const bool isFrequency = !reached.contains(read) && behindSines.contains(read);
    bool parameter = manifest.exists() ? entry != nullptr
                     : isFrequency     ? source.signature.isParameter(state.name)
                                       : reached.contains(read) && !source.signature.isConstant(state.name);
    if (state.isConstant && parameter) {
      if (isGuessed && options.trainable.empty() && !matches(options.freeze, state.name))
        (trainsConstants ? trainedConstants : keptConstants).push_back(state.name);
      parameter = trainsConstants || source.signature.isParameter(state.name) || entry;
    }
    bool trainable = parameter && (!entry || entry->trainable);
    if (form)
      trainable = parameter && form->trained.contains(state.name);
    if (states.isBuffer(state))
      parameter = trainable = false;
    // Globs pick among the parameters. A name that is spelled out makes a parameter of any state.
    if (llvm::is_contained(options.trainable, state.name) && !states.isWritten(state))
      parameter = trainable = true;
    else if (!options.trainable.empty())
      trainable = parameter && matches(options.trainable, state.name);
    if (matches(options.freeze, state.name))
      trainable = false;
    if (isFrequency && !parameter && isGuessed && !StringRef(state.name).ends_with("inv_freq") && isMeant(state.name))
      emitRemark(source.model.loc()) << "'" << state.name
                                     << "' holds frequencies behind a sine, as rotary embeddings have, and does not "
                                        "train: --trainable='*' --trainable="
                                     << state.name << " trains it too, --freeze=" << state.name
                                     << " says that it does not";
    if (!parameter && !states.isWritten(state) && state.stored.hasData &&
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
    if (trainable && entry && entry->lrScale)
      state.op.setLrScale(llvm::APFloat(*entry->lrScale));
    if (trainable && entry && entry->weightDecay)
      state.op.setWeightDecay(llvm::APFloat(*entry->weightDecay));
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
  describeConstants(source.model.loc(), trainedConstants, keptConstants);
}

/// Notes what the exporter computed of tensors of the module, which trains, or stays, in their place.
static void noteComputedParameters(const SourceFile &source, States &states) {
  std::vector<std::string> computed, missing;
  for (const ::onnx::TensorProto &tensor : source.model.proto().graph().initializer())
    if (llvm::is_contained(source.signature.computed(), tensor.name())) {
      State *state = states.find(tensor.name());
      if (tensor.dims_size() == 0 ? !source.signature.missing().empty() : state && state->op.getTrainable())
        computed.push_back(tensor.name());
    }
  for (const std::string &name : source.signature.missing())
    if (!states.find(name))
      missing.push_back(name);
  if (computed.empty())
    return;
  InFlightDiagnostic note = emitRemark(source.model.loc());
  note << "the exporter computed " << firstOf(computed) << " of tensors of the module";
  if (!missing.empty())
    note << ", perhaps of parameters that the file lacks (" << firstOf(missing) << ")";
  note << ": unless it only moved the numbers of a parameter, another model than the module trains; export with "
          "tools/export, or with optimize=False";
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

static void classifyInputs(func::FuncOp function) {
  MLIRContext *context = function.getContext();
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
  }); // Positions index a table as tokens do. Only their name, which is that of transformers, tells them apart.
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "graph.name");
    auto type = cast<ShapedType>(function.getArgument(i).getType());
    if (name && name.getValue() == "position_ids" && type.getRank() == 2 && type.getElementType().isInteger(64))
      function.setArgAttr(i, "graph.role", StringAttr::get(context, "positions"));
  }
}

/// The output that is the loss; null if none is.
static FailureOr<Tensor> findLoss(const BuiltFunction &built) {
  const SourceFile &source = built.source;
  Tensor loss;
  std::vector<std::string> scalars;
  llvm::StringSet<> next;
  for (const Manifest::Update &update : source.manifest.bufferUpdates())
    next.insert(update.value);
  for (const auto &output : source.model.proto().graph().output()) {
    if (next.contains(output.name()))
      continue;
    Tensor value = built.scopes.lookup(output.name());
    if (!value)
      return failure();
    bool scalar = isFloat(value) && (rankOf(value) == 0 ||
                                     (source.model.proto().graph().output_size() == 1 && cellsOf(shapeOf(value)) == 1));
    if (source.options.lossOutput.empty() ? scalar : source.options.lossOutput == output.name()) {
      if (!scalar)
        return emitError(source.model.loc())
               << "the loss must be a float scalar, got: '" << output.name() << "' of type " << value->type;
      scalars.push_back(output.name());
      loss = value;
    }
  }
  if (scalars.size() > 1)
    return emitError(source.model.loc()) << "several outputs could be the loss: '" << llvm::join(scalars, "', '")
                                         << "'; name one with --loss-output";
  if (scalars.empty() && !source.options.lossOutput.empty())
    return emitError(source.model.loc()) << "the model has no output named '" << source.options.lossOutput << "'";
  return loss;
}

/// Returns all outputs of a model without a loss.
static void returnOutputs(const BuiltFunction &built) {
  Emitter &emitter = built.emitter;
  func::FuncOp function = built.function;
  OpBuilder &builder = emitter.getBuilder();
  SmallVector<Value> values;
  for (const auto &output : built.source.model.proto().graph().output())
    values.push_back(emitter.value(built.scopes.lookup(output.name())));
  func::ReturnOp::create(builder, emitter.getLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
}

/// Refuses outputs, and values that --loss names, of which some rows mean nothing (emit/DataParts.h).
static LogicalResult checkWhole(const BuiltFunction &built) {
  const SourceFile &source = built.source;
  std::vector<std::string> names;
  for (const auto &output : source.model.proto().graph().output())
    names.push_back(output.name());
  if (source.options.loss)
    for (const auto &option : source.options.loss->options)
      names.push_back(option.second);
  for (const std::string &name : names)
    if (Tensor value = built.scopes.defined(name); value && value->part)
      return emitError(source.model.loc()) << "'" << name
                                           << "' must not be a part of a Split whose size only the data tell: join the "
                                              "parts before";
  return success();
}

/// Refuses ops that read a tensor without elements. Those that movement, reductions and products make of one are known,
/// so none of them is left; the outputs of a model without a loss may be such tensors.
static LogicalResult checkReadsCells(func::FuncOp function) {
  WalkResult checked = function.walk([&](Operation *op) {
    for (Type type : op->getOperandTypes())
      if (!isa<func::ReturnOp>(op) && cellsOf(cast<RankedTensorType>(type).getShape()) == 0) {
        emitError(op->getLoc()) << "cannot read a tensor without elements, got: " << type
                                << "; leave the node out of the export, or give the dimension a size";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(checked.wasInterrupted());
}

LogicalResult dtcc::onnx::finishFunction(const BuiltFunction &built) {
  const SourceFile &source = built.source;
  Emitter &emitter = built.emitter;
  States &states = built.states;
  func::FuncOp function = built.function;
  if (failed(checkWhole(built)) || failed(writeStates(built)))
    return failure();
  FailureOr<Tensor> loss = source.options.loss ? attachLoss(built) : findLoss(built);
  if (failed(loss))
    return failure();
  if (*loss)
    returnLoss(emitter, function, *loss);
  else
    returnOutputs(built);
  eraseDead(function, states);
  if (failed(checkReadsCells(function)))
    return failure();
  classifyStates(function, source, states);
  noteComputedParameters(source, states);
  if (source.form)
    applyForm(*source.form, function->getParentOfType<ModuleOp>(), states);
  else if (source.options.verbose)
    describeForm(source, function);
  eraseDead(function, states);
  classifyInputs(function);
  return success();
}
