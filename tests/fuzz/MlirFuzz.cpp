//===- MlirFuzz.cpp - Any bytes as the text of a module -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tests/fuzz/Target.h"
#include "tools/model/CheckText.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

using namespace dtcc;

/// Types and attributes live as long as their context: a new one now and then keeps the memory small.
static mlir::MLIRContext &contextOfRun() {
  constexpr int kRuns = 200;
  static std::unique_ptr<mlir::MLIRContext> context;
  static int runs = 0;
  if (!context || ++runs % kRuns == 0) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    context->getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  }
  return *context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(fuzz::textOf(data, size));
  if (checkText(text))
    return 0;
  // Parsed and verified; what passes can be printed.
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&contextOfRun()));
  if (module) {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    module->print(stream);
  }
  return 0;
}
