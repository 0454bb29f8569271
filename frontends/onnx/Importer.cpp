//===- Importer.cpp - The one topological pass
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
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::AttributeProto;
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
    : emitter(OpBuilder(context), UnknownLoc::get(context)), context(context), options(options),
      model(context, path, options.externalRoot, options.outputs,
            /*dataOptional=*/options.randomInit || options.hasWeights) {}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  if (failed(model.load()) || failed(manifest.read(model)))
    return failure();
  widenParameters();
  const GraphProto &graph = model.proto().graph();
  if (failed(checkGraph(graph, {}, 0)) || failed(checkNodes()) || failed(findFoldedNorms()) ||
      failed(findMergedInitializers()))
    return failure();

  module = ModuleOp::create(model.loc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  bool hasLoss = options.loss.has_value();
  // The manifest speaks of the file's own loss.
  if (!hasLoss && manifest.lossShift())
    module->getOperation()->setAttr("graph.loss_shift", builder.getI64IntegerAttr(*manifest.lossShift()));
  function = func::FuncOp::create(builder, model.loc(), hasLoss ? "loss" : "forward", builder.getFunctionType({}, {}));
  symbols.insert("loss");
  symbols.insert("forward");
  symbols.insert("step");
  Block *body = function.addEntryBlock();
  emitter.getBuilder().setInsertionPointToEnd(body);
  emitter.setLoc(model.loc());

  scopes.emplace_back();
  for (const auto &tensor : graph.initializer())
    scopes.back().initializers[tensor.name()] = &tensor;
  if (failed(checkNames()) || failed(bindInputs()) || failed(importNodes(graph.node())))
    return failure();
  emitter.setLoc(model.loc());
  if (failed(finishFunction()) || failed(verify(*module)) || failed(readAnnotations(model, *module)))
    return failure();
  describeTensors();
  if (options.keepModel)
    describeOnnx();
  printNodeNotes();
  return std::move(module);
}

LogicalResult Importer::checkNames() {
  const auto &initializers = scopes.back().initializers;
  for (const auto &[a, b] : options.ties)
    for (const std::string &name : {a, b})
      if (!initializers.contains(name))
        return emitError(model.loc()) << "a tie must join two initializers, the model has none named '" << name << "'";
  for (const auto &[option, globs] : {std::pair("trainable", &options.trainable), std::pair("freeze", &options.freeze)})
    for (const std::string &text : *globs) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
      if (!glob)
        return emitError(model.loc()) << option << ": " << llvm::toString(glob.takeError());
      if (llvm::none_of(initializers.keys(), [&](StringRef name) { return glob->match(name); }))
        return emitError(model.loc()) << option << " must name an initializer of the model, got: '" << text << "'";
    }
  return success();
}

LogicalResult Importer::bindInputs() {
  Bindings bindings(options.bindings);
  std::vector<std::pair<StringRef, RankedTensorType>> inputs;
  for (const auto &input : model.proto().graph().input()) {
    // Before IR version 4 initializers are listed as inputs too.
    if (scopes.back().initializers.contains(input.name()))
      continue;
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      return emitError(model.loc()) << "input '" << input.name() << "' must be a tensor with a shape";
    const auto &tensor = input.type().tensor_type();
    Type element = elementType(tensor.elem_type());
    if (!element)
      return emitError(model.loc()) << "input '" << input.name()
                                    << "' has an unsupported element type: " << elementTypeName(tensor.elem_type());
    if (tensor.shape().dim_size() > kMaxRank)
      return emitError(model.loc()) << "input '" << input.name() << "' must have at most " << kMaxRank
                                    << " dimensions, got: " << tensor.shape().dim_size();
    SmallVector<int64_t> shape;
    for (const auto &[i, dim] : llvm::enumerate(tensor.shape().dim())) {
      std::string where = "input '" + input.name() + "', dimension " + std::to_string(i);
      if (dim.has_dim_param() && !dim.dim_param().empty()) {
        shape.push_back(bindings.evaluate(dim.dim_param(), where));
      } else if (dim.has_dim_value() && dim.dim_value() > 0) {
        shape.push_back(dim.dim_value());
      } else {
        bindings.addProblem(where + " has no size and no name");
        shape.push_back(1);
      }
    }
    if (!checkedSize(shape))
      return emitError(model.loc()) << "input '" << input.name() << "' is too large";
    inputs.emplace_back(input.name(), RankedTensorType::get(shape, element));
  }
  if (std::string problems = bindings.summary(); !problems.empty())
    return emitError(model.loc()) << problems;
  for (auto [name, type] : inputs)
    define(name, addInput(name, type));
  return success();
}

Tensor Importer::addInput(StringRef name, RankedTensorType type) {
  NamedAttrList attributes;
  attributes.set("graph.name", StringAttr::get(context, name));
  unsigned at = function.getNumArguments();
  (void)function.insertArgument(at, type, attributes.getDictionary(context), model.loc());
  return emitter.fromValue(function.getArgument(at));
}

Location Importer::nodeLoc(const NodeProto &node) const {
  StringRef name = !node.name().empty() ? StringRef(node.name())
                   : node.output_size() ? StringRef(node.output(0))
                                        : StringRef("?");
  return NameLoc::get(StringAttr::get(context, "node '" + name + "' (" + node.op_type() + ")"), model.loc());
}

Tensor Importer::lookup(StringRef name) {
  for (Scope &scope : llvm::reverse(scopes)) {
    if (auto found = scope.values.find(name); found != scope.values.end())
      return found->second;
    if (auto found = scope.initializers.find(name); found != scope.initializers.end()) {
      Tensor made = fromInitializer(*found->second, name);
      if (made)
        scope.values[name] = made;
      return made;
    }
    if (scope.closed)
      break;
  }
  return emitter.error("'" + name + "' is not defined");
}

LogicalResult Importer::importNodes(const Repeated<NodeProto> &nodes) {
  for (const NodeProto &node : nodes)
    if (failed(importNode(node)))
      return failure();
  return success();
}

LogicalResult Importer::importNode(const NodeProto &node) {
  Location outer = emitter.getLoc();
  emitter.setLoc(nodeLoc(node));
  llvm::scope_exit restore([&] { emitter.setLoc(outer); });
  if (const FunctionProto *function = findFunction(node))
    return importCall(node, *function);
  const RuleEntry *entry = table.find(node.op_type(), model.opset());
  unsigned count = node.input_size();
  OpBinder binder(*this, node, model.opset());
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
  return entry->rule(binder);
}

const FunctionProto *Importer::findFunction(const NodeProto &node) const {
  for (const FunctionProto &function : model.proto().functions())
    if (function.name() == node.op_type() && function.domain() == node.domain() &&
        function.overload() == node.overload())
      return &function;
  return nullptr;
}

const AttributeProto *Importer::callerAttribute(StringRef name) const {
  const NodeProto *call = scopes.back().call;
  if (call)
    for (const AttributeProto &attribute : call->attribute())
      if (attribute.name() == name)
        return &attribute;
  return nullptr;
}

LogicalResult Importer::importCall(const NodeProto &node, const FunctionProto &body) {
  if (++callDepth > kMaxNesting)
    return emitError(emitter.getLoc()) << "functions must not call each other more than " << kMaxNesting
                                       << " deep; they may form a cycle";
  Scope scope;
  scope.call = &node;
  scope.closed = true;
  for (int i = 0; i < body.input_size() && i < node.input_size(); ++i)
    if (!node.input(i).empty()) {
      Tensor value = lookup(node.input(i));
      if (!value)
        return failure();
      scope.values[body.input(i)] = value;
    }
  scopes.push_back(std::move(scope));
  LogicalResult done = importNodes(body.node());
  SmallVector<Tensor> outputs;
  for (int i = 0; succeeded(done) && i < body.output_size() && i < node.output_size(); ++i) {
    outputs.push_back(lookup(body.output(i)));
    if (!outputs.back())
      done = failure();
  }
  scopes.pop_back();
  --callDepth;
  for (auto [i, output] : llvm::enumerate(outputs))
    if (!node.output(i).empty())
      define(node.output(i), output);
  return done;
}

FailureOr<SmallVector<Tensor>> Importer::importBranch(const GraphProto &graph) {
  Scope scope;
  scope.call = scopes.back().call;
  for (const auto &tensor : graph.initializer())
    scope.initializers[tensor.name()] = &tensor;
  scopes.push_back(std::move(scope));
  LogicalResult done = importNodes(graph.node());
  SmallVector<Tensor> outputs;
  for (const auto &output : graph.output()) {
    outputs.push_back(succeeded(done) ? lookup(output.name()) : nullptr);
    if (!outputs.back())
      done = failure();
  }
  scopes.pop_back();
  if (failed(done))
    return failure();
  return outputs;
}

void Importer::note(const Twine &text) { emitRemark(emitter.getLoc(), text); }

void Importer::printNodeNotes() {
  constexpr size_t kNamed = 4;
  for (const auto &[text, places] : nodeNotes) {
    InFlightDiagnostic remark = emitRemark(places.front()) << text.getValue();
    if (places.size() == 1)
      continue;
    remark << "; " << places.size() - 1 << " more: ";
    llvm::ListSeparator separator;
    for (Location place : llvm::ArrayRef(places).slice(1).take_front(kNamed))
      remark << StringRef(separator) << cast<NameLoc>(place).getName().getValue();
    if (places.size() - 1 > kNamed)
      remark << ", ...";
  }
}
