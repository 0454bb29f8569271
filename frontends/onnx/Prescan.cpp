//===- Prescan.cpp - Checks of a whole file before anything is built
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Prescan.h"
#include "frontends/onnx/Limits.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

template <typename T> using Repeated = google::protobuf::RepeatedPtrField<T>;

namespace {
class Scan {
public:
  Scan(const SourceFile &source, const RuleTable &table) : source(source), model(source.model), table(table) {}
  /// `known` are the names that the graph sees; afterwards it is as it was.
  LogicalResult checkGraph(const GraphProto &graph, llvm::StringSet<> &known, int depth);
  LogicalResult checkNodes();
  LogicalResult findFoldedNorms();

  Prescan result;

private:
  void listUnsupported(const Repeated<NodeProto> &nodes, std::vector<const NodeProto *> &out, int depth);

  const SourceFile &source;
  const Model &model;
  const RuleTable &table;
};
} // namespace

LogicalResult Scan::checkGraph(const GraphProto &graph, llvm::StringSet<> &known, int depth) {
  if (depth > kMaxNesting)
    return emitError(model.loc()) << "graphs must not be nested more than " << kMaxNesting << " deep";
  if (graph.sparse_initializer_size() > 0)
    return emitError(model.loc()) << "sparse initializers are not supported";
  llvm::StringSet<> initializers, later;
  // Names that this graph defines. The graph around it does not see them.
  SmallVector<StringRef> own;
  llvm::scope_exit forget([&] {
    for (StringRef name : own)
      known.erase(name);
  });
  auto add = [&](StringRef name) {
    bool isNew = known.insert(name).second;
    if (isNew)
      own.push_back(name);
    return isNew;
  };
  for (const auto &tensor : graph.initializer())
    if (!initializers.insert(tensor.name()).second)
      return emitError(model.loc()) << "initializer '" << tensor.name() << "' is defined twice";
  for (const auto &tensor : graph.initializer())
    add(tensor.name());
  for (const auto &input : graph.input())
    if (!add(input.name()) && !initializers.contains(input.name()))
      return emitError(model.loc()) << "input '" << input.name() << "' is defined twice";
  for (const NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      later.insert(output);
  for (const NodeProto &node : graph.node()) {
    for (const std::string &input : node.input()) {
      if (!input.empty() && !known.contains(input))
        return emitError(model.nodeLoc(node))
               << "operand '" << input << "' is "
               << (later.contains(input) ? "used before it is made: nodes are out of order, or form a cycle"
                                         : "not defined");
      result.used.insert(input);
    }
    for (const auto &attribute : node.attribute())
      if (attribute.has_g() && failed(checkGraph(attribute.g(), known, depth + 1)))
        return failure();
    for (const std::string &output : node.output())
      if (!output.empty() && !add(output))
        return emitError(model.nodeLoc(node)) << "'" << output << "' is defined twice";
  }
  if (graph.output_size() == 0)
    return emitError(model.loc()) << "the graph has no output";
  for (const auto &output : graph.output()) {
    result.used.insert(output.name());
    if (!known.contains(output.name()))
      return emitError(model.loc()) << "output '" << output.name() << "' is not defined";
  }
  return success();
}

void Scan::listUnsupported(const Repeated<NodeProto> &nodes, std::vector<const NodeProto *> &out, int depth) {
  if (depth > kMaxNesting)
    return;
  for (const NodeProto &node : nodes) {
    ++result.nodes;
    if (!source.findFunction(node) && !table.find(model, node))
      out.push_back(&node);
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        listUnsupported(attribute.g().node(), out, depth + 1);
  }
}

LogicalResult Scan::checkNodes() {
  std::vector<const NodeProto *> unsupported;
  listUnsupported(model.proto().graph().node(), unsupported, 0);
  for (const FunctionProto &function : model.proto().functions()) {
    listUnsupported(function.node(), unsupported, 0);
    for (const NodeProto &node : function.node())
      for (const std::string &input : node.input())
        result.used.insert(input);
    for (const std::string &output : function.output())
      result.used.insert(output);
  }
  if (unsupported.empty())
    return success();
  InFlightDiagnostic error = emitError(model.loc()) << "unsupported nodes (" << unsupported.size() << "): ";
  llvm::ListSeparator separator;
  // Each recommendation, with the operators and domains that it is for.
  std::map<std::string, llvm::SetVector<StringRef>> instead;
  for (const NodeProto *node : unsupported) {
    StringRef domain = node->domain(), name = node->name();
    if (name.empty())
      name = node->output_size() ? StringRef(node->output(0)) : StringRef("?");
    bool standard = domain.empty() || domain == "ai.onnx";
    error << StringRef(separator) << (standard ? "ai.onnx" : domain) << "." << node->op_type() << " version "
          << model.opset(standard ? "" : domain) << " ('" << name << "')";
    auto later = table.all().find(node->op_type());
    if (Replacement row = replacementOf(standard ? "" : domain, node->op_type()); !row.text.empty())
      instead[row.text.str()].insert(row.name);
    else if (later != table.all().end() && model.opset() >= kFirstSet)
      instead["operator set " + std::to_string(later->second.begin()->first) +
              " or later, by onnx.version_converter.convert_version"]
          .insert(row.name);
  }
  for (const auto &[text, names] : instead)
    error << "; for " << llvm::join(names, ", ") << ": " << text;
  if (model.opset() < kFirstSet)
    error << "; operator sets before " << kFirstSet << " are read where their operators mean the same as in that set: "
          << "convert the file by onnx.version_converter.convert_version(model, 13)";
  return error;
}

/// Whether a node is what PyTorch's exporter made of a batch norm and the operator before it. It notes the rewriting
/// rule and, of the call that the node was made of, "%batch_norm : .. call_function(operands)".
static bool isNotedAsNorm(const NodeProto &node) {
  return llvm::any_of(node.metadata_props(), [](const auto &entry) {
    StringRef key = entry.key(), value = entry.value();
    return (key.ends_with("rule_name") && value.contains("FuseBatchNorm")) ||
           (key.ends_with("fx_node") && value.take_until([](char c) { return c == '('; }).contains("batch_norm"));
  });
}

/// Exporters fold batch norm into the operator before it, even of a module in training mode. What is left trains, but
/// as another model. Where nothing is noted, the name of the new bias of a convolution tells.
LogicalResult Scan::findFoldedNorms() {
  if (!source.forcesTraining())
    return success();
  std::vector<std::string> folded;
  for (const NodeProto &node : model.proto().graph().node()) {
    if (!llvm::is_contained({"Conv", "ConvTranspose", "Gemm"}, StringRef(node.op_type())) || node.input_size() < 3)
      continue;
    // PyTorch's older exporter numbers the weights and biases that it folds: "onnx::Conv_17".
    const bool numbered =
        StringRef(node.input(1)).starts_with("onnx::Conv_") && StringRef(node.input(2)).starts_with("onnx::Conv_");
    const bool named = node.op_type() == "Conv" && node.input(2) == node.input(1) + "_bias";
    if (isNotedAsNorm(node) || numbered || named)
      folded.push_back(node.input(1));
  }
  if (folded.empty())
    return success();
  return emitError(model.loc()) << "batch norm was folded into " << folded.size()
                                << (folded.size() == 1 ? " weight" : " weights") << " on export ('" << folded.front()
                                << "'" << (folded.size() > 1 ? ", ..." : "")
                                << "): this would train another model; export with tools/export, or with "
                                   "optimize=False, or train the folded one with --train-mode=as-is";
}

FailureOr<Prescan> dtcc::onnx::prescan(const SourceFile &source, const RuleTable &table) {
  Scan scan(source, table);
  llvm::StringSet<> known;
  if (failed(scan.checkGraph(source.model.proto().graph(), known, 0)) || failed(scan.checkNodes()) ||
      failed(scan.findFoldedNorms()))
    return failure();
  return std::move(scan.result);
}
