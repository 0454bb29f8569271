//===- Scopes.cpp - The scopes in which names of an ONNX file have values
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Scopes.h"

using namespace dtcc::onnx;
using ::onnx::AttributeProto;

Tensor Scopes::lookup(llvm::StringRef name) {
  for (Scope &scope : llvm::reverse(scopes)) {
    if (auto found = scope.values.find(name); found != scope.values.end())
      return found->second;
    if (auto found = scope.initializers.find(name); found != scope.initializers.end()) {
      Tensor made = initializers.read(*found->second, name);
      if (made)
        scope.values[name] = made;
      return made;
    }
    if (scope.closed)
      break;
  }
  return emitter.error("'" + name + "' is not defined");
}

const AttributeProto *Scopes::callerAttribute(llvm::StringRef name) const {
  if (const ::onnx::NodeProto *call = scopes.back().call)
    for (const AttributeProto &attribute : call->attribute())
      if (attribute.name() == name)
        return &attribute;
  return nullptr;
}

Scopes::Scope dtcc::onnx::scopeOf(const ::onnx::GraphProto &graph) {
  Scopes::Scope scope;
  for (const auto &tensor : graph.initializer())
    scope.initializers[tensor.name()] = &tensor;
  return scope;
}
