//===- Importer.cpp - Imports the nodes of an ONNX file in their order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, nodes, functions and branches, in the order of the file.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Annotate.h"
#include "frontends/onnx/Bindings.h"
#include "frontends/onnx/Finish.h"
#include "frontends/onnx/states/SavedTensors.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

template <typename T> using Repeated = google::protobuf::RepeatedPtrField<T>;

FailureOr<OwningOpRef<ModuleOp>> dtcc::onnx::importOnnx(MLIRContext *context, StringRef path,
                                                        const ImportOptions &options) {
  context->loadDialect<graph::GraphDialect, func::FuncDialect>();
  return Importer(context, path, options).run();
}

Importer::Importer(MLIRContext *context, StringRef path, const ImportOptions &options)
    : source(context, path, options), emitter(context), states(emitter, source.model.loc()),
      initializers(source, emitter, states), scopes(initializers, emitter) {}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  if (failed(source.load()))
    return failure();
  FailureOr<Prescan> checked = prescan(source, table);
  auto takesVector = [&](const NodeProto &node, unsigned i) {
    const RuleEntry *entry = table.find(source.model, node);
    return entry && entry->takesVector(i);
  };
  if (failed(checked) || failed(initializers.findMerged(takesVector)))
    return failure();
  scanned = std::move(*checked);

  const Model &model = source.model;
  const GraphProto &graph = model.proto().graph();
  module = ModuleOp::create(model.loc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  bool hasLoss = source.options.loss.has_value();
  // The manifest speaks of the file's own loss.
  if (std::optional<int64_t> shift = source.manifest.lossShift(); shift && !hasLoss)
    module->getOperation()->setAttr("graph.loss_shift", builder.getI64IntegerAttr(*shift));
  function = func::FuncOp::create(builder, model.loc(), hasLoss ? "loss" : "forward", builder.getFunctionType({}, {}));
  states.placeBefore(function);
  emitter.getBuilder().setInsertionPointToEnd(function.addEntryBlock());
  emitter.getBudget().setFileNodes(scanned.nodes);
  emitter.setLoc(model.loc());

  scopes.enter(scopeOf(graph));
  if (failed(checkNames()) || failed(bindInputs()) || failed(importNodes(graph.node())))
    return failure();
  emitter.setLoc(model.loc());
  if (failed(finishFunction({source, emitter, states, scopes, function})) || failed(verify(*module)) ||
      failed(readAnnotations(model, *module)))
    return failure();
  if (int64_t filled = initializers.numFilled())
    emitRemark(model.loc())
        << "the file stores no weights, and fills " << filled
        << " tensors with one number each: they become states that start with that number (--init=random starts "
           "parameters at random)";
  describeTensors(*module, source, states.all());
  if (source.options.keepModel)
    describeOnnx(*module, source, states.all());
  initializers.printNotes();
  printNodeNotes();
  return std::move(module);
}

LogicalResult Importer::checkNames() {
  const auto &named = scopes.innermost().initializers;
  for (const auto &[a, b] : source.options.ties)
    for (const std::string &name : {a, b})
      if (!named.contains(name))
        return emitError(source.model.loc())
               << "a tie must join two initializers, the model has none named '" << name << "'";
  for (const auto &[option, globs] :
       {std::pair("trainable", &source.options.trainable), std::pair("freeze", &source.options.freeze)})
    for (const std::string &text : *globs) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
      if (!glob)
        return emitError(source.model.loc()) << option << ": " << llvm::toString(glob.takeError());
      bool isConstant = llvm::any_of(source.model.proto().graph().node(), [&](const ::onnx::NodeProto &node) {
        return node.op_type() == "Constant" && node.output_size() == 1 && glob->match(node.output(0));
      });
      if (!isConstant && llvm::none_of(named.keys(), [&](StringRef name) { return glob->match(name); }))
        return emitError(source.model.loc())
               << option << " must name an initializer or a Constant of the model, got: '" << text << "'";
    }
  return success();
}

LogicalResult Importer::bindInputs() {
  Bindings bindings(source.options.bindings);
  struct Input {
    StringRef name;
    RankedTensorType type;
    int unsignedBits;
  };
  std::vector<Input> inputs;
  for (const auto &input : source.model.proto().graph().input()) {
    // Before IR version 4 initializers are listed as inputs too.
    if (scopes.initializer(input.name()))
      continue;
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      return emitError(source.model.loc()) << "input '" << input.name() << "' must be a tensor with a shape";
    const auto &tensor = input.type().tensor_type();
    Type element = source.model.elementType(tensor.elem_type());
    if (!element)
      return emitError(source.model.loc())
             << "input '" << input.name()
             << "' has an unsupported element type: " << elementTypeName(tensor.elem_type());
    if (tensor.shape().dim_size() > kMaxRank)
      return emitError(source.model.loc()) << "input '" << input.name() << "' must have at most " << kMaxRank
                                           << " dimensions, got: " << tensor.shape().dim_size();
    SmallVector<int64_t> shape;
    for (const auto &[i, dim] : llvm::enumerate(tensor.shape().dim())) {
      std::string where = "input '" + input.name() + "', dimension " + std::to_string(i);
      if (dim.has_dim_param() && !dim.dim_param().empty()) {
        shape.push_back(bindings.evaluate(dim.dim_param(), where));
      } else if (dim.has_dim_value() && dim.dim_value() > 0) {
        std::optional<int64_t> given = bindings.fixedSize(input.name(), i);
        shape.push_back(given.value_or(dim.dim_value()));
        // A trace holds what forward made in Python of a size that was fixed, such as a divisor.
        if (source.manifest.exists() && shape.back() != dim.dim_value())
          bindings.addProblem(where + " has the size " + std::to_string(dim.dim_value()) +
                              " in the module that was exported, got: " + std::to_string(shape.back()) +
                              "; export with that size, or with a name for the dimension (dynamic=)");
        if (given && i == 0)
          rebatched = {dim.dim_value(), *given};
      } else {
        bindings.addProblem(where + " has no size and no name");
        shape.push_back(1);
      }
    }
    if (!checkedSize(shape))
      return emitError(source.model.loc()) << "input '" << input.name() << "' is too large";
    inputs.push_back({input.name(), RankedTensorType::get(shape, element), unsignedBits(tensor.elem_type())});
  }
  if (std::string problems = bindings.summary(); !problems.empty())
    return emitError(source.model.loc()) << problems;
  if (failed(checkSizes(bindings)))
    return failure();
  BuiltFunction built{source, emitter, states, scopes, function};
  for (const Input &input : inputs) {
    Tensor value = built.addInput(input.name, input.type);
    value->unsignedBits = input.unsignedBits;
    scopes.define(input.name, value);
  }
  return success();
}

LogicalResult Importer::checkSizes(const Bindings &bindings) {
  for (const Manifest::SizeCondition &asked : source.manifest.sizeConditions()) {
    std::vector<std::string> sizes;
    std::optional<bool> holds = bindings.holds(asked.condition, sizes);
    if (!holds)
      return emitError(source.model.loc())
             << "the condition '" << asked.condition << "' in the metadata 'dtcc.manifest' cannot be computed";
    if (!*holds)
      return emitError(source.model.loc())
             << "forward asks about a size" << (asked.line.empty() ? "" : " (" + asked.line + ")")
             << ", and the file holds what follows for sizes with " << asked.condition
             << ", got: " << llvm::join(sizes, ", ") << "; export with example inputs of these sizes";
  }
  return success();
}

LogicalResult Importer::importNodes(const Repeated<NodeProto> &nodes) {
  for (const NodeProto &node : nodes)
    if (failed(importNode(node)))
      return failure();
  return success();
}

/// Runs the rule, and brings the results of arithmetic on unsigned integers back to their range.
static LogicalResult importUnsigned(Importer &importer, const NodeProto &node, OpBinder &binder,
                                    const RuleEntry &entry) {
  int bits = 0;
  for (int i = 0; i < node.input_size(); ++i)
    if (binder.has(i) && !entry.readsNumbers(i))
      bits = std::max(bits, importer.operand(node, i)->unsignedBits);
  if (bits == 0)
    return entry.rule(binder);
  if (entry.unsignedForm == UnsignedForm::Refused)
    return binder.error("unsigned integers are not supported here: cast them to int64 or to floats before");
  if (failed(entry.rule(binder)))
    return failure();
  if (entry.unsignedForm == UnsignedForm::Other)
    return success();
  Emitter &emit = importer.emitter;
  for (const std::string &output : node.output()) {
    Tensor made = output.empty() ? nullptr : importer.scopes.defined(output);
    if (!made || isFloat(made) || elementOf(made).isInteger(1))
      continue;
    if (entry.unsignedForm == UnsignedForm::Wraps)
      made = emit.binary<graph::AndOp>(made, emit.scalar(double((int64_t(1) << bits) - 1), elementOf(made)));
    if (!made)
      return failure();
    made->unsignedBits = bits;
    importer.scopes.define(output, made);
  }
  return success();
}

LogicalResult Importer::importNode(const NodeProto &node) {
  Location outer = emitter.getLoc();
  emitter.setLoc(source.model.nodeLoc(node));
  llvm::scope_exit restore([&] { emitter.setLoc(outer); });
  emitter.getBudget().countNode();
  if (emitter.getBudget().isSpent())
    return emitError(emitter.getLoc()) << "the model is too large: written out, functions in place of their calls, the "
                                       << scanned.nodes << " nodes of the file make more than "
                                       << emitter.getBudget().most() << " nodes and ops";
  const RuleEntry *entry = table.find(source.model, node);
  bool ours = !node.domain().empty() && node.domain() != "ai.onnx" && entry;
  if (const FunctionProto *function = ours ? nullptr : source.findFunction(node))
    return importCall(node, *function);
  unsigned count = node.input_size();
  OpBinder binder(*this, node, entry->version ? entry->version : source.model.opset());
  for (unsigned i = 0; i < entry->minInputs; ++i)
    if (!binder.has(i))
      return emitError(emitter.getLoc()) << "must have at least " << entry->minInputs << " operands";
  // An operator that takes any number of operands may leave none out.
  for (unsigned i = 0; entry->maxInputs == kAnyNumber && i < count; ++i)
    if (!binder.has(i))
      return emitError(emitter.getLoc()) << "must name each of its " << count << " operands, got none as operand " << i;
  if (count > entry->maxInputs)
    return emitError(emitter.getLoc()) << "must have at most " << entry->maxInputs << " operands, got: " << count;
  for (unsigned i = 0; i < count; ++i)
    if (binder.has(i) && !entry->readsNumbers(i) && !binder.input(i))
      return failure();
  for (unsigned i = 0; i < count; ++i)
    if (binder.has(i) && !entry->readsNumbers(i) && operand(node, i)->part)
      return importOfParts(binder, *entry);
  return importUnsigned(*this, node, binder, *entry);
}

LogicalResult Importer::importCall(const NodeProto &node, const FunctionProto &body) {
  if (++callDepth > kMaxNesting)
    return emitError(emitter.getLoc()) << "functions must not call each other more than " << kMaxNesting
                                       << " deep; they may form a cycle";
  Scopes::Scope scope;
  scope.call = &node;
  scope.closed = true;
  for (int i = 0; i < body.input_size() && i < node.input_size(); ++i)
    if (!node.input(i).empty()) {
      Tensor value = scopes.lookup(node.input(i));
      if (!value)
        return failure();
      scope.values[body.input(i)] = value;
    }
  scopes.enter(std::move(scope));
  LogicalResult done = importNodes(body.node());
  SmallVector<Tensor> outputs;
  for (int i = 0; succeeded(done) && i < body.output_size() && i < node.output_size(); ++i) {
    outputs.push_back(scopes.lookup(body.output(i)));
    if (!outputs.back())
      done = failure();
  }
  scopes.leave();
  --callDepth;
  for (auto [i, output] : llvm::enumerate(outputs))
    if (!node.output(i).empty())
      scopes.define(node.output(i), output);
  return done;
}

LogicalResult Importer::countUnrolled(const GraphProto &body) {
  // Later phases take some seconds for so many.
  constexpr int64_t kMostUnrolled = 1 << 16;
  unrolled += 1 + body.node_size();
  if (unrolled <= kMostUnrolled)
    return success();
  return emitError(emitter.getLoc()) << "the steps of loops are written out: those of a model must have at most "
                                     << kMostUnrolled
                                     << " nodes together; make the loop shorter, or export it as a "
                                        "sum, a product or a running sum over a dimension";
}

FailureOr<SmallVector<Tensor>> Importer::importBranch(const GraphProto &graph, ArrayRef<Tensor> inputs) {
  Scopes::Scope scope = scopeOf(graph);
  scope.call = scopes.innermost().call;
  for (auto [input, value] : llvm::zip(graph.input(), inputs))
    scope.values[input.name()] = value;
  scopes.enter(std::move(scope));
  LogicalResult done = importNodes(graph.node());
  SmallVector<Tensor> outputs;
  for (const auto &output : graph.output()) {
    outputs.push_back(succeeded(done) ? scopes.lookup(output.name()) : nullptr);
    if (!outputs.back())
      done = failure();
  }
  scopes.leave();
  if (failed(done))
    return failure();
  return outputs;
}

Tensor Importer::operand(const NodeProto &node, unsigned i) {
  if (callDepth == 0)
    if (std::optional<Tensor> own = initializers.unmerged(node, i))
      return *own;
  return scopes.lookup(node.input(i));
}

std::shared_ptr<const HostTensor> Importer::numbers(const NodeProto &node, unsigned i) {
  const std::string &name = node.input(i);
  const ::onnx::TensorProto *tensor = scopes.initializer(name);
  if (!tensor || scopes.defined(name)) {
    Tensor x = operand(node, i);
    return x ? knownCells(x) : nullptr;
  }
  FailureOr<StoredTensor> stored = source.model.decode(*tensor, emitter.getLoc());
  return succeeded(stored) && stored->hasData ? std::make_shared<HostTensor>(stored->toHost()) : nullptr;
}

void Importer::noteOfNode(const Twine &text) {
  nodeNotes[StringAttr::get(function.getContext(), text)].push_back(emitter.getLoc());
}

void Importer::printNodeNotes() {
  for (const auto &[text, places] : nodeNotes) {
    InFlightDiagnostic remark = emitRemark(places.front()) << text.getValue();
    if (size_t others = places.size() - 1; others > 0)
      remark << "; likewise " << others << (others == 1 ? " more node" : " more nodes");
  }
}
