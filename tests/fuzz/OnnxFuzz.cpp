//===- OnnxFuzz.cpp - Any bytes as an ONNX model -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "tests/fuzz/Target.h"
#include "tests/fuzz/WireMutator.h"
#include <cstring>
#include <memory>

using namespace dtcc;

/// Types and attributes live as long as their context: a new one now and then keeps the memory small.
static mlir::MLIRContext &contextOfRun() {
  constexpr int kRuns = 100;
  static std::unique_ptr<mlir::MLIRContext> context;
  static int runs = 0;
  if (!context || ++runs % kRuns == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context->getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  }
  return *context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  onnx::ImportOptions options;
  options.bindings = {{"batch", 2}, {"seq", 4}, {"N", 2}, {"n", 2}};
  (void)onnx::importOnnx(&contextOfRun(), folder.write("model.onnx", fuzz::textOf(data, size)), options);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/// Two of three times the fields of the message are changed, else its bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  fuzz::WireMutator mutator(seed, LLVMFuzzerMutate);
  std::string changed = seed % 3 ? mutator.mutate(fuzz::textOf(data, size)) : "";
  if (changed.empty() || changed.size() > most)
    return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t size, const uint8_t *other, size_t otherSize,
                                            uint8_t *out, size_t most, unsigned seed) {
  fuzz::WireMutator mutator(seed, LLVMFuzzerMutate);
  std::string made = mutator.cross(fuzz::textOf(one, size), fuzz::textOf(other, otherSize));
  if (made.size() > most)
    return 0;
  std::memcpy(out, made.data(), made.size());
  return made.size();
}
