//===- GraphIndex.h - Values of several graphs by name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX runs a training algorithm as the concatenation of two graphs. The index finds
// what makes a value of such a concatenation and what a value depends on, and cuts out
// the part that computes one value. It holds pointers into the graphs, which must stay
// as they are while it is used.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_GRAPHINDEX_H
#define DTCC_FRONTENDS_ONNX_TRAINING_GRAPHINDEX_H

#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace dtcc::onnx {

/// Whether `node`, which may be null, is of this operator.
bool isOf(const ::onnx::NodeProto *node, llvm::StringRef domain, llvm::StringRef op);
/// An attribute of a node that stands in no function; null if the node lacks it.
const ::onnx::AttributeProto *findAttribute(const ::onnx::NodeProto &node, llvm::StringRef name);
double realAttribute(const ::onnx::NodeProto &node, llvm::StringRef name, double otherwise);

class GraphIndex {
public:
  /// Appends a graph. Where a name is taken already the first one keeps it.
  void add(::onnx::GraphProto &graph);

  const ::onnx::NodeProto *producer(llvm::StringRef name) const { return producers.lookup(name); }
  /// The producer, looking through Identity. `name` becomes the name of the producer's output.
  const ::onnx::NodeProto *trueProducer(llvm::StringRef &name) const;
  const ::onnx::TensorProto *initializer(llvm::StringRef name) const { return initializers.lookup(name); }
  bool isInput(llvm::StringRef name) const { return inputs.contains(name); }

  /// The nodes, inputs and initializers that a value depends on.
  struct Ancestors {
    llvm::DenseSet<const ::onnx::NodeProto *> nodes;
    /// Names of inputs and initializers, which no node produces.
    llvm::StringSet<> leaves;
  };
  Ancestors ancestorsOf(llvm::StringRef name) const;

  /// Makes `graph`, which may be one that was added, hold the nodes, inputs and initializers of `keep` and the only
  /// output `result`. Moves out of the added graphs, and ends the life of the index.
  void cut(const Ancestors &keep, llvm::StringRef result, ::onnx::GraphProto &graph);

private:
  std::vector<::onnx::NodeProto *> nodes;
  llvm::StringMap<::onnx::NodeProto *> producers;
  llvm::StringMap<::onnx::TensorProto *> initializers;
  llvm::StringMap<::onnx::ValueInfoProto *> inputs;
  std::vector<::onnx::GraphProto *> graphs;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_GRAPHINDEX_H
