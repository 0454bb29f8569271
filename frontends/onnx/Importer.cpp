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
    : emitter(context), context(context), options(options),
      model(context, path, options.externalRoot, options.outputs,
            /*dataOptional=*/options.randomInit || options.hasWeights) {}

/// Names hold no NUL.
static std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domain + Twine('\0') + name + Twine('\0') + overload).str();
}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  if (failed(model.load()) || failed(manifest.read(model)) || failed(takeForm()))
    return failure();
  widenParameters();
  const GraphProto &graph = model.proto().graph();
  for (const FunctionProto &function : model.proto().functions())
    functions.try_emplace(functionKey(function.domain(), function.name(), function.overload()), &function);
  llvm::StringSet<> known;
  if (failed(checkGraph(graph, known, 0)) || failed(checkNodes()) || failed(findFoldedNorms()) ||
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
  emitter.getBudget().setFileNodes(fileNodes);
  emitter.setLoc(model.loc());

  scopes.emplace_back();
  for (const auto &tensor : graph.initializer())
    scopes.back().initializers[tensor.name()] = &tensor;
  if (failed(checkNames()) || failed(bindInputs()) || failed(importNodes(graph.node())))
    return failure();
  emitter.setLoc(model.loc());
  if (failed(finishFunction()) || failed(verify(*module)) || failed(readAnnotations(model, *module)))
    return failure();
  if (filledStates > 0)
    note("the file stores no weights, and fills " + Twine(filledStates) +
         " tensors with one number each: they become states that start with that number (--init=random starts "
         "parameters at random)");
  describeTensors();
  if (options.keepModel)
    describeOnnx();
  printNodeNotes();
  return std::move(module);
}

LogicalResult Importer::takeForm() {
  FailureOr<std::optional<TrainingForm>> found = takeTrainingForm(model, options);
  if (failed(found))
    return failure();
  form = std::move(*found);
  if (!form)
    return success();
  emitRemark(model.loc()) << form->summary;
  // A training graph says itself which of its nodes train.
  options.forceTraining = false;
  return success();
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
  struct Input {
    StringRef name;
    RankedTensorType type;
    int unsignedBits;
  };
  std::vector<Input> inputs;
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
        std::optional<int64_t> given = bindings.fixedSize(input.name(), i);
        shape.push_back(given.value_or(dim.dim_value()));
        if (given && i == 0)
          rebatched = {dim.dim_value(), *given};
      } else {
        bindings.addProblem(where + " has no size and no name");
        shape.push_back(1);
      }
    }
    if (!checkedSize(shape))
      return emitError(model.loc()) << "input '" << input.name() << "' is too large";
    inputs.push_back({input.name(), RankedTensorType::get(shape, element), unsignedBits(tensor.elem_type())});
  }
  if (std::string problems = bindings.summary(); !problems.empty())
    return emitError(model.loc()) << problems;
  for (const Input &input : inputs) {
    Tensor value = addInput(input.name, input.type);
    value->unsignedBits = input.unsignedBits;
    define(input.name, value);
  }
  return success();
}

Tensor Importer::addInput(StringRef name, RankedTensorType type) {
  NamedAttrList attributes;
  attributes.set("graph.name", StringAttr::get(context, name));
  unsigned at = function.getNumArguments();
  (void)function.insertArgument(at, type, attributes.getDictionary(context), model.loc());
  return emitter.fromValue(function.getArgument(at));
}

Location Importer::nodeLoc(const NodeProto &node) const { return model.nodeLoc(node); }

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

/// Treatment of unsigned integers that are stored in wider signed ones, by operator.
enum class UnsignedForm {
  /// Results are cells of the operands, or what signed arithmetic gives of them too.
  Same,
  /// Results wrap round.
  Wraps,
  /// Results are of another type.
  Other,
  Unknown,
};

static UnsignedForm unsignedForm(StringRef op) {
  static const StringRef same[] = {
      "Identity",  "Reshape",    "Flatten", "Transpose", "Squeeze",   "Unsqueeze",     "Slice",        "Gather",
      "GatherND",  "Concat",     "Split",   "Expand",    "Tile",      "Where",         "Max",          "Min",
      "Clip",      "Div",        "Mod",     "ReduceMax", "ReduceMin", "DepthToSpace",  "SpaceToDepth", "BitwiseAnd",
      "BitwiseOr", "BitwiseXor", "Trilu",   "Compress",  "EyeLike",   "GatherElements"};
  static const StringRef wraps[] = {"Add",       "Sub",        "Mul",    "Pow",       "Sum",
                                    "ReduceSum", "ReduceProd", "CumSum", "BitwiseNot"};
  static const StringRef other[] = {"Cast",    "CastLike",       "Shape",  "Size",   "Equal",  "Less",   "LessOrEqual",
                                    "Greater", "GreaterOrEqual", "ArgMax", "ArgMin", "OneHot", "NonZero"};
  return llvm::is_contained(same, op)    ? UnsignedForm::Same
         : llvm::is_contained(wraps, op) ? UnsignedForm::Wraps
         : llvm::is_contained(other, op) ? UnsignedForm::Other
                                         : UnsignedForm::Unknown;
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
  UnsignedForm form = unsignedForm(node.op_type());
  if (form == UnsignedForm::Unknown)
    return binder.error("unsigned integers are not supported here: cast them to int64 or to floats before");
  if (failed(entry.rule(binder)))
    return failure();
  if (form == UnsignedForm::Other)
    return success();
  Emitter &emit = importer.emitter;
  for (const std::string &output : node.output()) {
    Tensor made = output.empty() ? nullptr : importer.defined(output);
    if (!made || isFloat(made) || elementOf(made).isInteger(1))
      continue;
    if (form == UnsignedForm::Wraps)
      made = emit.binary<graph::AndOp>(made, emit.scalar(double((int64_t(1) << bits) - 1), elementOf(made)));
    if (!made)
      return failure();
    made->unsignedBits = bits;
    importer.define(output, made);
  }
  return success();
}

LogicalResult Importer::importNode(const NodeProto &node) {
  Location outer = emitter.getLoc();
  emitter.setLoc(nodeLoc(node));
  llvm::scope_exit restore([&] { emitter.setLoc(outer); });
  emitter.getBudget().countNode();
  if (emitter.getBudget().isSpent())
    return emitError(emitter.getLoc()) << "the model is too large: written out, functions in place of their calls, the "
                                       << fileNodes << " nodes of the file make more than "
                                       << emitter.getBudget().most() << " nodes and ops";
  const RuleEntry *entry = findRule(node);
  bool ours = !node.domain().empty() && node.domain() != "ai.onnx" && entry;
  if (const FunctionProto *function = ours ? nullptr : findFunction(node))
    return importCall(node, *function);
  unsigned count = node.input_size();
  OpBinder binder(*this, node, entry->version ? entry->version : model.opset());
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
  return importUnsigned(*this, node, binder, *entry);
}

const RuleEntry *Importer::findRule(const NodeProto &node) const {
  bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return table.find(node.domain(), node.op_type(), standard ? model.opset() : model.opset(node.domain()));
}

const FunctionProto *Importer::findFunction(const NodeProto &node) const {
  return functions.lookup(functionKey(node.domain(), node.op_type(), node.overload()));
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
  Scope scope;
  scope.call = scopes.back().call;
  for (const auto &tensor : graph.initializer())
    scope.initializers[tensor.name()] = &tensor;
  for (auto [input, value] : llvm::zip(graph.input(), inputs))
    scope.values[input.name()] = value;
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
      remark << StringRef(separator) << place->findInstanceOf<NameLoc>().getName().getValue();
    if (places.size() - 1 > kNamed)
      remark << ", ...";
  }
}
