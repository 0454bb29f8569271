//===- GraphIndex.cpp - Values of several graphs by name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/GraphIndex.h"
#include "frontends/onnx/file/Model.h"
#include <string>

using namespace dtcc;
using namespace dtcc::onnx;
using llvm::StringRef;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

bool dtcc::onnx::isOf(const NodeProto *node, StringRef domain, StringRef op) {
  return node && node->domain() == domain && node->op_type() == op;
}

const ::onnx::AttributeProto *dtcc::onnx::findAttribute(const NodeProto &node, StringRef name) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

double dtcc::onnx::realAttribute(const NodeProto &node, StringRef name, double otherwise) {
  const ::onnx::AttributeProto *attribute = findAttribute(node, name);
  return attribute ? attribute->f() : otherwise;
}

void GraphIndex::add(GraphProto &graph) {
  graphs.push_back(&graph);
  for (NodeProto &node : *graph.mutable_node()) {
    nodes.push_back(&node);
    for (const std::string &output : node.output())
      if (!output.empty())
        producers.try_emplace(output, &node);
  }
  for (auto &tensor : *graph.mutable_initializer())
    initializers.try_emplace(tensor.name(), &tensor);
  for (auto &input : *graph.mutable_input())
    inputs.try_emplace(input.name(), &input);
}

const NodeProto *GraphIndex::trueProducer(StringRef &name) const {
  const NodeProto *node = producer(name);
  // A damaged file may hold a cycle of these.
  for (size_t steps = 0; node && node->op_type() == "Identity" && node->input_size() == 1 && steps < nodes.size();
       ++steps) {
    name = node->input(0);
    node = producer(name);
  }
  return node;
}

/// The names that a node reads: its operands, and what its subgraphs read, which may be names of their own.
static void collectOperands(const NodeProto &node, int depth, llvm::function_ref<void(StringRef)> use) {
  for (const std::string &input : node.input())
    if (!input.empty())
      use(input);
  if (depth > kMaxNesting)
    return;
  auto enter = [&](const GraphProto &graph) {
    for (const NodeProto &inner : graph.node())
      collectOperands(inner, depth + 1, use);
    for (const auto &output : graph.output())
      use(output.name());
  };
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      enter(attribute.g());
    for (const GraphProto &graph : attribute.graphs())
      enter(graph);
  }
}

GraphIndex::Ancestors GraphIndex::ancestorsOf(StringRef name) const {
  Ancestors found;
  std::vector<const NodeProto *> pending;
  auto use = [&](StringRef value) {
    const NodeProto *node = producer(value);
    if (!node)
      found.leaves.insert(value);
    else if (found.nodes.insert(node).second)
      pending.push_back(node);
  };
  use(name);
  while (!pending.empty()) {
    const NodeProto *node = pending.back();
    pending.pop_back();
    collectOperands(*node, 0, use);
  }
  return found;
}

void GraphIndex::cut(const Ancestors &keep, StringRef result, GraphProto &graph) {
  GraphProto part;
  part.set_name(graph.name());
  for (NodeProto *node : nodes)
    if (keep.nodes.contains(node))
      part.add_node()->Swap(node);
  for (GraphProto *from : graphs) {
    for (auto &input : *from->mutable_input())
      if (keep.leaves.contains(input.name()))
        part.add_input()->Swap(&input);
    for (auto &tensor : *from->mutable_initializer())
      if (keep.leaves.contains(tensor.name()))
        part.add_initializer()->Swap(&tensor);
    part.mutable_sparse_initializer()->MergeFrom(from->sparse_initializer());
  }
  part.add_output()->set_name(result.str());
  graph.Swap(&part);
}
