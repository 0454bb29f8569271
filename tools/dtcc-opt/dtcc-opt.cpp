//===- dtcc-opt.cpp - Runs passes on text
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with dtcc's dialects and passes: for tests, and for looking at one pass.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/AllPasses.h"
#include "compiler/pipeline/Pipelines.h"
#include "dialects/AllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/model/CheckText.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

/// Text from a pipe is read once, by the parser.
static llvm::LogicalResult checkInput(llvm::StringRef path) {
  auto text = path == "-" ? std::error_code() : llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  std::optional<dtcc::TextProblem> problem = text && *text ? dtcc::checkText((*text)->getBuffer()) : std::nullopt;
  if (!problem)
    return llvm::success();
  llvm::errs() << path << ':' << problem->line << ':' << problem->column << ": error: " << problem->message << '\n';
  return llvm::failure();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dtcc::registerAllDialects(registry);
  dtcc::registerAllPasses();
  dtcc::registerPipelines();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "dtcc: passes on text\n", registry);
  if (failed(checkInput(input)))
    return 1;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
