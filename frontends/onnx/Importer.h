//===- Importer.h - The state of one import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scopes of names, states made so far, and what the prescan of the file found.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_IMPORTER_H
#define DTCC_FRONTENDS_ONNX_IMPORTER_H

#include "frontends/onnx/Import.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Emitter.h"
#include "frontends/onnx/file/Manifest.h"
#include "frontends/onnx/file/Model.h"
#include "frontends/onnx/training/TrainingForm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace dtcc::onnx {

/// A float initializer that became a state.
struct State {
  std::string name;
  StoredTensor stored;
  graph::StateOp op;
  /// The one read, at the top of the function.
  Tensor read;
  /// Initializers that are this state too.
  struct Tie {
    std::string name;
    bool transposed;
  };
  std::vector<Tie> ties;
};

class Importer {
public:
  Importer(mlir::MLIRContext *context, llvm::StringRef path, const ImportOptions &options);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  // For rules.
  Emitter emitter;
  Tensor operand(const ::onnx::NodeProto &node, unsigned i);
  /// Operand i as numbers that are known now, or null. An initializer that is read so is no parameter.
  std::shared_ptr<const HostTensor> numbers(const ::onnx::NodeProto &node, unsigned i);
  void define(llvm::StringRef name, const Tensor &value) { scopes.back().values[name] = value; }
  /// The value of that name in the innermost scope, or null.
  Tensor defined(llvm::StringRef name) const { return scopes.back().values.lookup(name); }
  bool isUsed(llvm::StringRef name) const { return used.contains(name); }
  const ::onnx::AttributeProto *callerAttribute(llvm::StringRef name) const;
  /// Imports a branch, or a step of a loop, in the present scope and returns the values of its outputs.
  mlir::FailureOr<llvm::SmallVector<Tensor>> importBranch(const ::onnx::GraphProto &graph,
                                                          llvm::ArrayRef<Tensor> inputs);
  /// Counts a step of a loop that is written out. Fails, with a message, where a model would become too large.
  mlir::LogicalResult countUnrolled(const ::onnx::GraphProto &body);
  /// Decodes the tensor of an attribute.
  Tensor storedConstant(const ::onnx::TensorProto &tensor, llvm::StringRef name);
  /// A number for the next random op.
  int64_t nextRandomId() { return randomIds++; }
  /// The batch that the file fixes and the one that was asked for instead; both 0: as the file has it.
  std::pair<int64_t, int64_t> newBatch() const { return rebatched; }
  /// Notes a change that the user did not ask for.
  void note(const llvm::Twine &text);
  /// Records a note on the current node. It is printed at the end of the import, once for all nodes with this text.
  void noteOfNode(const llvm::Twine &text) {
    nodeNotes[mlir::StringAttr::get(context, text)].push_back(emitter.getLoc());
  }
  /// The zero bias that the exporter dropped from a product with operand 1, or null if there is no sign of one: the
  /// node's note of the rule that made it, or, with `guess`, vectors that were merged elsewhere in the file.
  Tensor droppedBias(const ::onnx::NodeProto &node, int64_t size, bool guess = false);
  const ImportOptions &getOptions() const { return options; }
  /// Whether a ConstantOfShape stands for a parameter: that of floats with dimensions, in a file that stores no matrix.
  /// (The networks of the onnx package are such: real structures whose weights are one number.)
  bool isFilledWeight(const ::onnx::NodeProto &node, const Tensor &cell, llvm::ArrayRef<int64_t> shape);
  /// A state without data that starts as `cell` everywhere.
  Tensor filledState(llvm::StringRef name, const Tensor &cell, llvm::ArrayRef<int64_t> shape);
  /// Whether norms and dropouts in inference form are put into training form. A file with a manifest has every
  /// submodule in the mode that it trains in.
  bool forcesTraining() const { return options.forceTraining && !manifest.exists(); }
  /// An initializer that is no parameter, though a gradient reaches it.
  void markBuffer(llvm::StringRef name) { buffers.insert(name); }
  /// Whether operand i is a state, which may be written.
  bool isStored(const ::onnx::NodeProto &node, unsigned i) { return stateOfOperand(node, i) != nullptr; }
  /// Operand i as the last write left it.
  Tensor latest(const ::onnx::NodeProto &node, unsigned i);
  /// Writes `value` to the state that operand i is, at the end of the step.
  void store(const ::onnx::NodeProto &node, unsigned i, const Tensor &value);
  /// The element type that the graph has for one of ONNX's.
  mlir::Type elementType(int32_t onnxType) const { return model.elementType(onnxType); }
  bool isFromPyTorch() const {
    llvm::StringRef producer = model.proto().producer_name();
    return producer.starts_with("pytorch") || producer == "dtcc_export";
  }

private:
  struct Scope {
    llvm::StringMap<Tensor> values;
    /// Not yet used.
    llvm::StringMap<const ::onnx::TensorProto *> initializers;
    /// Attributes of the call that this scope is the body of.
    const ::onnx::NodeProto *call = nullptr;
    /// Functions do not see the names outside.
    bool closed = false;
  };

  /// Finds out what the file says of its own training.
  mlir::LogicalResult takeForm();

  // Prescan.
  /// `known` are the names that the graph sees; afterwards it is as it was.
  mlir::LogicalResult checkGraph(const ::onnx::GraphProto &graph, llvm::StringSet<> &known, int depth);
  mlir::LogicalResult checkNodes();
  void listUnsupported(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
                       std::vector<const ::onnx::NodeProto *> &out, int depth);
  mlir::LogicalResult findMergedInitializers();
  mlir::LogicalResult findFoldedNorms();

  /// The graph computes in f32 what the file computes in the type of its parameters; --precision says in what programs
  /// compute.
  void widenParameters();

  // Building.
  /// Checks that every name in the options exists. An unknown name would train another model than was asked for.
  mlir::LogicalResult checkNames();
  mlir::LogicalResult bindInputs();
  mlir::LogicalResult importNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes);
  mlir::LogicalResult importNode(const ::onnx::NodeProto &node);
  mlir::LogicalResult importCall(const ::onnx::NodeProto &node, const ::onnx::FunctionProto &function);
  Tensor lookup(llvm::StringRef name);
  Tensor fromInitializer(const ::onnx::TensorProto &tensor, llvm::StringRef name);
  Tensor withoutData(const StoredTensor &stored);
  Tensor makeState(const StoredTensor &stored, llvm::StringRef name);
  Tensor makeCounter(const StoredTensor &stored, llvm::StringRef name);
  Tensor findTied(const StoredTensor &stored);
  State *stateOfOperand(const ::onnx::NodeProto &node, unsigned i);
  const RuleEntry *findRule(const ::onnx::NodeProto &node) const;
  const ::onnx::FunctionProto *findFunction(const ::onnx::NodeProto &node) const;
  mlir::Location nodeLoc(const ::onnx::NodeProto &node) const;

  // Finish.
  mlir::LogicalResult finishFunction();
  mlir::LogicalResult returnLoss(const Tensor &loss);
  mlir::FailureOr<Tensor> attachLoss();
  mlir::FailureOr<Tensor> attachCrossEntropy();
  mlir::FailureOr<Tensor> lossOperand(llvm::StringRef key);
  mlir::LogicalResult checkScores(llvm::StringRef key, const Tensor &logits);
  Tensor addInput(llvm::StringRef name, mlir::RankedTensorType type);
  mlir::LogicalResult writeStates();
  /// Notes which form of a model was found, if the model brings no training of its own.
  void describeForm();
  /// Sets the optimizer, gradient clipping and optimizer state that a training graph names.
  void applyForm();
  void eraseDead();
  void printNodeNotes();
  void classifyStates();
  void classifyInputs();
  // These two attach the attributes by which a program saves its model (dialects/graph/SavedAs.h).
  void describeTensors();
  void describeOnnx();

  mlir::MLIRContext *context;
  ImportOptions options;
  Model model;
  Manifest manifest;
  /// Loss, optimizer and parameters of a file that is a training graph.
  std::optional<TrainingForm> form;
  RuleTable table;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<Scope> scopes;
  /// Names that some node or output uses.
  llvm::StringSet<> used;
  std::vector<State> states;
  llvm::StringMap<unsigned> stateOf;
  llvm::StringSet<> symbols;
  /// Initializers that the exporter merged, and the use that kept the name: node output and operand.
  llvm::StringMap<std::pair<std::string, unsigned>> merged;
  /// Initializers that are no parameters.
  llvm::StringSet<> buffers;
  /// Values written to states at the end of the step, by symbol.
  llvm::MapVector<llvm::StringRef, Tensor> writes;
  llvm::MapVector<mlir::StringAttr, llvm::SmallVector<mlir::Location>> nodeNotes;
  /// Values of initializers inside loops and functions. All steps of a loop read one parameter.
  llvm::DenseMap<const ::onnx::TensorProto *, Tensor> innerStates;
  std::pair<int64_t, int64_t> rebatched = {0, 0};
  /// The element type of most parameters of the file, if that is not f32.
  mlir::Type parameterType;
  int64_t randomIds = 0;
  /// States that ConstantOfShape nodes became.
  int64_t filledStates = 0;
  /// Nodes in the steps of loops written out so far.
  int64_t unrolled = 0;
  int callDepth = 0;
  /// Functions of the model by domain, name and overload.
  llvm::StringMap<const ::onnx::FunctionProto *> functions;
  int64_t fileNodes = 0;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_IMPORTER_H
