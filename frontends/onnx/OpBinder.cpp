//===- OpBinder.cpp - What a rule reads of its node
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from the table of rules, which the importer reads: this side asks the importer.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "onnx/onnx-ml.pb.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::AttributeProto;

Emitter &OpBinder::emit() { return importer.emitter; }

unsigned OpBinder::numInputs() const { return node.input_size(); }

bool OpBinder::has(unsigned i) const { return int(i) < node.input_size() && !node.input(i).empty(); }

Tensor OpBinder::input(unsigned i) { return has(i) ? importer.operand(node, i) : nullptr; }
SmallVector<Tensor> OpBinder::inputs() {
  SmallVector<Tensor> all;
  for (unsigned i = 0; i < numInputs(); ++i)
    all.push_back(input(i));
  return all;
}

bool OpBinder::wants(unsigned i) const {
  return int(i) < node.output_size() && !node.output(i).empty() && importer.isUsed(node.output(i));
}

const AttributeProto *OpBinder::attribute(StringRef name) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.ref_attr_name().empty() ? &attribute
                                               : importer.scopes.callerAttribute(attribute.ref_attr_name());
  return nullptr;
}

bool OpBinder::hasAttribute(StringRef name) { return attribute(name) != nullptr; }

int64_t OpBinder::integer(StringRef name, int64_t otherwise) {
  const AttributeProto *found = attribute(name);
  return found ? found->i() : otherwise;
}

double OpBinder::real(StringRef name, double otherwise) {
  const AttributeProto *found = attribute(name);
  return found ? found->f() : otherwise;
}

std::string OpBinder::text(StringRef name, StringRef otherwise) {
  const AttributeProto *found = attribute(name);
  return found ? found->s() : otherwise.str();
}

std::optional<SmallVector<int64_t>> OpBinder::integers(StringRef name) {
  const AttributeProto *found = attribute(name);
  if (!found)
    return std::nullopt;
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

FailureOr<SmallVector<int64_t>> OpBinder::constantIntegers(unsigned i) {
  Tensor x = input(i);
  if (!x)
    return failure();
  std::shared_ptr<const HostTensor> cells = isFloat(x) ? nullptr : knownCells(x);
  if (!cells)
    return error("operand " + Twine(i) + " ('" + node.input(i) + "') must be integers known at compile time");
  if (cells->rank() > 1)
    return error("operand " + Twine(i) + " must be a scalar or a list, got rank: " + Twine(cells->rank()));
  return SmallVector<int64_t>(cells->ints.begin(), cells->ints.end());
}

FailureOr<int64_t> OpBinder::axis(int64_t value, int64_t rank) {
  if (value < -rank || value >= rank)
    return error("axis must be within a tensor of rank " + Twine(rank) + ", got: " + Twine(value));
  return value < 0 ? value + rank : value;
}

FailureOr<std::optional<SmallVector<int64_t>>> OpBinder::axes(unsigned i, int64_t since, int64_t rank) {
  std::optional<SmallVector<int64_t>> found;
  if (version < since) {
    found = integers("axes");
  } else if (has(i)) {
    FailureOr<SmallVector<int64_t>> cells = constantIntegers(i);
    if (failed(cells))
      return failure();
    found = *cells;
  }
  if (!found)
    return found;
  for (int64_t &value : *found) {
    FailureOr<int64_t> checked = axis(value, rank);
    if (failed(checked))
      return failure();
    value = *checked;
  }
  llvm::sort(*found);
  if (std::adjacent_find(found->begin(), found->end()) != found->end())
    return error("axes must differ");
  return found;
}

LogicalResult OpBinder::result(unsigned i, const Tensor &value) {
  if (!value)
    return failure();
  if (int(i) < node.output_size() && !node.output(i).empty())
    importer.scopes.define(node.output(i), value);
  return success();
}

InFlightDiagnostic OpBinder::error(const Twine &message) { return emitError(emit().getLoc(), message); }
