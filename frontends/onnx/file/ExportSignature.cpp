//===- ExportSignature.cpp - What PyTorch notes of a module's tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/ExportSignature.h"
#include "frontends/onnx/file/Model.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtcc::onnx;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// The operands, by their names in the exporter's trace, of the call that a node was made of. The exporter notes it as
/// "%linear : .. [target=torch.ops.aten.linear.default](args = (%x, %p_head_weight), kwargs = {})". None of calls that
/// multiply an operand by a number, and none of other nodes.
static SmallVector<StringRef> tracedOperands(const NodeProto &node) {
  SmallVector<StringRef> names;
  for (const auto &entry : node.metadata_props()) {
    if (!StringRef(entry.key()).ends_with("fx_node"))
      continue;
    auto [operands, further] = StringRef(entry.value()).split("(args = (").second.split("kwargs = {");
    if (further.contains("alpha") || further.contains("beta"))
      continue;
    SmallVector<StringRef> parts;
    operands.split(parts, '%');
    for (StringRef part : ArrayRef(parts).drop_front())
      names.push_back(part.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }));
  }
  return names;
}

bool dtcc::onnx::madeByRule(const NodeProto &node, StringRef rule) {
  return llvm::any_of(node.metadata_props(), [&](const auto &entry) {
    return StringRef(entry.key()).ends_with("rule_name") && StringRef(entry.value()).contains(rule);
  });
}

/// Whether an operand is what a recurrent layer starts from, h or c.
static bool isStart(const NodeProto &node, int operand) {
  StringRef op = node.op_type();
  return (op == "GRU" || op == "LSTM" || op == "RNN") && (operand == 5 || operand == 6);
}

/// Whether operand `i` is the weight of a product, which a bias may follow.
static bool isWeight(const NodeProto &node, unsigned i) {
  StringRef op = node.op_type();
  return i == 1 && (op == "MatMul" || op == "Gemm" || op == "Conv" || op == "ConvTranspose");
}

StringRef ExportSignature::parameterOf(const NodeProto &node, unsigned i, size_t rank) const {
  SmallVector<StringRef> operands = tracedOperands(node), names;
  for (StringRef inTrace : operands)
    if (StringRef name = traced.lookup(inTrace); !name.empty())
      names.push_back(name);
  // A group norm may be written as an instance norm, whose scale is no parameter.
  if (node.op_type() == "InstanceNormalization")
    return StringRef();
  if (StringRef(node.op_type()).ends_with("Normalization"))
    return i >= 1 && i <= names.size() ? names[i - 1] : StringRef();
  if (names.size() == 1)
    return names.front();
  if (names.size() != 2)
    return StringRef();
  // A call of two parameters has a weight and then its bias, as linear(x, w, b), or both in turn, as addmm(b, x, w).
  if (!traced.lookup(operands.front()).empty())
    std::swap(names.front(), names.back());
  return rank == 1 ? names.back() : isWeight(node, i) ? names.front() : StringRef();
}

void ExportSignature::read(const Model &model) {
  const auto &graph = model.proto().graph();
  for (const auto &property : graph.metadata_props()) {
    if (!StringRef(property.key()).ends_with("ExportedProgram.graph_signature"))
      continue;
    for (StringRef line : llvm::split(StringRef(property.value()), '\n')) {
      auto [inTrace, tensor] = line.split(": ");
      auto [kind, rest] = tensor.split(" target='");
      StringRef name = rest.split('\'').first;
      if (kind == "PARAMETER" && parameters.insert(name).second)
        traced[inTrace] = name;
      else if (kind == "BUFFER" || kind == "CONSTANT_TENSOR")
        constants.insert(name);
    }
  }
  if (!exists())
    return;
  llvm::StringSet<> unnamed;    // floats that are no tensor of the module
  llvm::StringMap<size_t> kept; // the rank of each initializer
  for (const TensorProto &tensor : graph.initializer()) {
    StringRef name = tensor.name();
    kept[name] = static_cast<size_t>(tensor.dims_size());
    // The exporter's own numbers, such as the exponent of a square, are scalars named "val_7".
    const bool isNumber = tensor.dims_size() == 0 && name.starts_with("val_");
    if (isa_and_nonnull<FloatType>(model.elementType(tensor.data_type())) && !isNumber && !isParameter(name) &&
        !constants.contains(name))
      unnamed.insert(name);
  }
  // A call may want a parameter in another order, as a linear layer its weight transposed: it then stands beside the
  // call's node under a name of its own, "val_154".
  llvm::StringSet<> moved;
  for (const NodeProto &node : graph.node()) {
    // The importer restores a bias that was dropped.
    if (madeByRule(node, kRemoveBiasRule))
      for (StringRef inTrace : tracedOperands(node))
        moved.insert(traced.lookup(inTrace));
    for (auto [i, operand] : llvm::enumerate(node.input())) {
      // One initializer may hold several parameters of equal numbers.
      if (auto at = kept.find(operand); at != kept.end())
        moved.insert(parameterOf(node, static_cast<unsigned>(i), at->second));
      if (!StringRef(operand).starts_with("val_") || !unnamed.contains(operand))
        continue;
      SmallVector<StringRef> operands = tracedOperands(node);
      // A layer whose start the user leaves out begins with zeros that the trace makes: no tensor of the module.
      if (isStart(node, static_cast<int>(i))) {
        if (llvm::any_of(operands, [](StringRef inTrace) { return inTrace.starts_with("zeros"); }))
          constants.insert(operand);
        continue;
      }
      for (StringRef inTrace : operands)
        if (StringRef name = traced.lookup(inTrace); !name.empty()) {
          parameters.insert(operand);
          moved.insert(name);
        }
    }
  }
  for (auto [inTrace, name] : traced)
    if (!kept.contains(name) && !moved.contains(name))
      missingParameters.push_back(name.str());
  for (const TensorProto &tensor : graph.initializer())
    if (unnamed.contains(tensor.name()) && !isParameter(tensor.name()) && !constants.contains(tensor.name())) {
      if (missingParameters.empty())
        constants.insert(tensor.name());
      else
        computedOnExport.push_back(tensor.name());
    }
}
