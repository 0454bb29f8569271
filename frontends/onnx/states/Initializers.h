//===- Initializers.h - Initializers as states and constants
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A float initializer with dimensions becomes a state until the finished graph shows
// that no gradient reaches it; scalars and integers are constants. Here too: ties
// found by their bytes, vectors that the exporter merged because they were equal,
// and files without weight data.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_STATES_INITIALIZERS_H
#define DTCC_FRONTENDS_ONNX_STATES_INITIALIZERS_H

#include "frontends/onnx/states/SourceFile.h"
#include "frontends/onnx/states/States.h"

namespace dtcc::onnx {

/// "'a', 'b', 'c', 'd', ..": the names of a note, the first four of them.
std::string firstOf(llvm::ArrayRef<std::string> names);

/// Whether the file stores a float matrix of more than one cell as an initializer. In one that stores none, other
/// tensors are its weights.
bool storesMatrices(const SourceFile &source);

class Initializers {
public:
  Initializers(SourceFile &source, Emitter &emitter, States &states)
      : source(source), emitter(emitter), states(states) {}

  /// Whether operand i of a node is a place for a vector parameter.
  using TakesVector = llvm::function_ref<bool(const ::onnx::NodeProto &node, unsigned i)>;
  /// Finds parameters that the exporter merged because their numbers are equal.
  mlir::LogicalResult findMerged(TakesVector takesVector);
  /// The value of an initializer: a state's read, or a constant.
  Tensor read(const ::onnx::TensorProto &tensor, llvm::StringRef name);
  /// Decodes the tensor of an attribute.
  Tensor readConstant(const ::onnx::TensorProto &tensor, llvm::StringRef name);
  /// The parameter that operand i has to itself because the exporter merged it with others. Nothing: the operand is
  /// what its name says.
  std::optional<Tensor> unmerged(const ::onnx::NodeProto &node, unsigned i);
  /// The zero bias that the exporter dropped from a product with operand 1, or null if there is no sign of one: the
  /// node's note of the rule that made it, or, with `guess`, vectors that were merged elsewhere in the file.
  Tensor droppedBias(const ::onnx::NodeProto &node, int64_t size, bool guess = false);
  /// Whether a ConstantOfShape of the model's graph stands for a parameter: that of floats with dimensions, in a file
  /// that stores no matrix. (The networks of the onnx package are such: real structures whose weights are one number.)
  bool isFilledWeight(const Tensor &cell, llvm::ArrayRef<int64_t> shape) const;
  /// A state without data that starts as `cell` everywhere.
  Tensor makeFilled(llvm::StringRef name, const Tensor &cell, llvm::ArrayRef<int64_t> shape);
  /// The number of states made so.
  int64_t numFilled() const { return filled; }
  /// Prints the notes of mends that were made at many places, a line for each kind.
  void printNotes();

private:
  Tensor makeState(const StoredTensor &stored, llvm::StringRef name);
  Tensor makeCounter(const StoredTensor &stored, llvm::StringRef name);
  Tensor withoutData(const StoredTensor &stored);
  Tensor findTied(const StoredTensor &stored);
  /// Notes a change that the user did not ask for.
  void note(const llvm::Twine &text);
  /// Whether the trace says of an initializer which parameter of the module each use is. Then states for all of them
  /// are named, if they are several.
  bool tellApart(const ::onnx::TensorProto &tensor, llvm::ArrayRef<std::pair<const ::onnx::NodeProto *, int>> places);

  SourceFile &source;
  Emitter &emitter;
  States &states;
  /// Initializers that the exporter merged, and the use that kept the name: node output and operand.
  llvm::StringMap<std::pair<std::string, unsigned>> merged;
  /// The states of each initializer that holds several parameters of the trace, by the parameters' names.
  llvm::StringMap<llvm::StringMap<std::string>> toldApart;
  /// The parameter that each initializer is, where the trace says so, and whether rows of it are looked up.
  llvm::StringMap<std::pair<std::string, bool>> inModule;
  /// Values of initializers inside loops and functions. All steps of a loop read one parameter.
  llvm::DenseMap<const ::onnx::TensorProto *, Tensor> innerStates;
  int64_t filled = 0;
  /// Names of parameters that were restored, and of initializers that were taken apart.
  llvm::SmallVector<std::string> restoredBiases, unmergedNames;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_STATES_INITIALIZERS_H
