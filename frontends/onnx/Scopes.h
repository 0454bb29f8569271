//===- Scopes.h - The scopes in which names of an ONNX file have values
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph, a branch and the body of a function each have a scope. A name is looked for
// from the innermost scope outwards, and an initializer becomes a value when it is first
// looked for.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_SCOPES_H
#define DTCC_FRONTENDS_ONNX_SCOPES_H

#include "frontends/onnx/states/Initializers.h"

namespace dtcc::onnx {

/// The scopes that are open while a node is imported, the innermost last.
class Scopes {
public:
  struct Scope {
    llvm::StringMap<Tensor> values;
    /// Initializers of the scope's graph, by name.
    llvm::StringMap<const ::onnx::TensorProto *> initializers;
    /// Attributes of the call that this scope is the body of.
    const ::onnx::NodeProto *call = nullptr;
    /// Functions do not see the names outside.
    bool closed = false;
  };

  Scopes(Initializers &initializers, Emitter &emitter) : initializers(initializers), emitter(emitter) {}

  void enter(Scope scope) { scopes.push_back(std::move(scope)); }
  void leave() { scopes.pop_back(); }
  const Scope &innermost() const { return scopes.back(); }
  /// Whether the scope is that of the model's graph.
  bool isOutermost() const { return scopes.size() == 1; }

  void define(llvm::StringRef name, const Tensor &value) { scopes.back().values[name] = value; }
  /// The value of that name in the innermost scope, or null.
  Tensor defined(llvm::StringRef name) const { return scopes.back().values.lookup(name); }
  /// The value of that name. Null after a message: there is none.
  Tensor lookup(llvm::StringRef name);
  /// The initializer of that name in the innermost scope, or null.
  const ::onnx::TensorProto *initializer(llvm::StringRef name) const { return scopes.back().initializers.lookup(name); }
  /// The attribute of the call that the innermost scope is the body of, or null.
  const ::onnx::AttributeProto *callerAttribute(llvm::StringRef name) const;

private:
  Initializers &initializers;
  Emitter &emitter;
  std::vector<Scope> scopes;
};

/// The scope of a graph, with its initializers.
Scopes::Scope scopeOf(const ::onnx::GraphProto &graph);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_SCOPES_H
