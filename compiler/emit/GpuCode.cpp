//===- GpuCode.cpp - The kernels of a program for GPUs, as its image holds them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/GpuCode.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "compiler/emit/Ptx.h"
#include "compiler/options/CompileTarget.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace dtcc;

static FailureOr<GpuModule> assemble(StringRef assembler, StringRef ptx, StringRef architecture,
                                     const OutputFiles &files) {
  std::string source = files.part("kernels.ptx"), code = files.part("kernels.cubin"), log = files.part("ptxas.log");
  std::error_code error;
  llvm::raw_fd_ostream stream(source, error);
  stream << ptx;
  stream.close();
  if (error || stream.has_error()) {
    stream.clear_error();
    return wrong("cannot write the kernels for ptxas");
  }
  int status =
      runProgram({assembler, "-arch", architecture, "-o", code, source}, log, StringRef(files.folder()).drop_back());
  auto made = llvm::MemoryBuffer::getFile(code);
  if (status != 0 || !made) {
    auto said = llvm::MemoryBuffer::getFile(log, /*IsText=*/true);
    return wrong("ptxas must take the kernels for " + architecture +
                 ", got: " + (said ? (*said)->getBuffer().trim().split('\n').first : StringRef("no code")));
  }
  return GpuModule{architectureNumber(architecture), DTCC_GPU_CUBIN, (*made)->getBuffer().str()};
}

FailureOr<std::vector<GpuModule>> dtcc::makeGpuModules(ModuleOp module, const Options &options,
                                                       const OutputFiles &files) {
  SmallVector<std::string> architectures = gpuArchitectures(options);
  auto oldest = createGpuTarget(architectures.front());
  if (failed(oldest))
    return failure();
  FailureOr<std::string> ptx = emitPtx(module, **oldest);
  if (failed(ptx))
    return failure();
  std::vector<GpuModule> modules;
  // The driver wants a NUL at its end.
  modules.push_back({architectureNumber(architectures.front()), DTCC_GPU_PTX, *ptx + '\0'});
  if (!options.assemble)
    return modules;
  llvm::ErrorOr<std::string> assembler = llvm::sys::findProgramByName("ptxas");
  if (!assembler && options.verbose)
    messageStream() << "no ptxas on the path: drivers compile the kernels for the GPUs that they find\n";
  for (const std::string &architecture : architectures) {
    if (!assembler)
      break;
    FailureOr<GpuModule> code = assemble(*assembler, *ptx, architecture, files);
    if (failed(code))
      return failure();
    modules.push_back(std::move(*code));
  }
  return modules;
}
