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

#include "frontends/onnx/Emitter.h"
#include "frontends/onnx/Import.h"
#include "frontends/onnx/Manifest.h"
#include "frontends/onnx/Model.h"
#include "frontends/onnx/Rules.h"
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
  bool isUsed(llvm::StringRef name) const { return used.contains(name); }
  const ::onnx::AttributeProto *callerAttribute(llvm::StringRef name) const;
  /// Imports a branch in the present scope and returns the values of its outputs.
  mlir::FailureOr<llvm::SmallVector<Tensor>> importBranch(const ::onnx::GraphProto &graph);
  /// Decodes the tensor of an attribute.
  Tensor storedConstant(const ::onnx::TensorProto &tensor, llvm::StringRef name);
  /// A number for the next random op.
  int64_t nextRandomId() { return randomIds++; }
  /// Notes a change that the user did not ask for.
  void note(const llvm::Twine &text);
  /// Records a note on the current node. It is printed at the end of the import, once for all nodes with this text.
  void noteOfNode(const llvm::Twine &text) {
    nodeNotes[mlir::StringAttr::get(context, text)].push_back(emitter.getLoc());
  }
  /// The zero bias that the exporter dropped from a product with `weight`, or null if there is no sign of one.
  Tensor droppedBias(llvm::StringRef weight, int64_t size);
  const ImportOptions &getOptions() const { return options; }
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
  bool isFromPyTorch() const { return llvm::StringRef(model.proto().producer_name()).starts_with("pytorch"); }

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

  // Prescan.
  mlir::LogicalResult checkGraph(const ::onnx::GraphProto &graph, llvm::StringSet<> outer, int depth);
  mlir::LogicalResult checkNodes();
  void listUnsupported(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
                       std::vector<std::string> &out, int depth);
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
  Tensor findTied(const StoredTensor &stored);
  State *stateOfOperand(const ::onnx::NodeProto &node, unsigned i);
  const ::onnx::FunctionProto *findFunction(const ::onnx::NodeProto &node) const;
  mlir::Location nodeLoc(const ::onnx::NodeProto &node) const;

  // Finish.
  mlir::LogicalResult finishFunction();
  mlir::LogicalResult returnLoss(const Tensor &loss);
  mlir::FailureOr<Tensor> attachLoss();
  mlir::FailureOr<Tensor> attachCrossEntropy();
  mlir::FailureOr<Tensor> lossOperand(llvm::StringRef key);
  Tensor addInput(llvm::StringRef name, mlir::RankedTensorType type);
  void writeStates();
  void eraseDead();
  void printNodeNotes();
  void classifyStates();
  void classifyInputs();
  // What saving needs to know (dialects/graph/SavedAs.h).
  void describeTensors();
  void describeOnnx();
  /// Wraps mapped bytes; the attribute keeps their owner alive. Misaligned data, which a file may hold, is copied.
  static mlir::ElementsAttr resource(const StoredTensor &stored);

  mlir::MLIRContext *context;
  const ImportOptions &options;
  Model model;
  Manifest manifest;
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
  /// Initializers that are no parameters, and what states are written at the end of the step, by symbol.
  llvm::StringSet<> buffers;
  llvm::MapVector<llvm::StringRef, Tensor> writes;
  llvm::MapVector<mlir::StringAttr, llvm::SmallVector<mlir::Location>> nodeNotes;
  /// The element type of most parameters of the file, if that is not f32.
  mlir::Type parameterType;
  int64_t randomIds = 0;
  int callDepth = 0;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_IMPORTER_H
