//===- Show.cpp - A plan or a program, for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/Show.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace dtcc;

static llvm::Error readProgram(llvm::StringRef bytes, PlanOrProgram &file) {
  llvm::Expected<ProgramFile> program = ProgramFile::read(file.path, bytes);
  if (!program)
    return program.takeError();
  llvm::StringRef text = program->string(program->header().plan);
  // A program made of exec text says {}: it never had a plan.
  if (!text.empty() && text != "{}") {
    llvm::Expected<plan::Plan> parsed = plan::parsePlan(text, file.path + ": the plan in the program");
    if (!parsed)
      return parsed.takeError();
    file.plan = std::move(*parsed);
  }
  file.program = std::move(*program);
  return llvm::Error::success();
}

llvm::Expected<PlanOrProgram> PlanOrProgram::read(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path + ": cannot read: " + buffer.getError().message());
  llvm::StringRef bytes = (*buffer)->getBuffer();
  PlanOrProgram file;
  file.path = path.str();
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    if (llvm::Error error = readProgram(bytes, file))
      return std::move(error);
    return file;
  }
  if (!bytes.ltrim().starts_with("{"))
    return llvm::createStringError(path + ": neither a plan (JSON) nor a program of dtcc");
  llvm::Expected<plan::Plan> plan = plan::parsePlan(bytes, path);
  if (!plan)
    return plan.takeError();
  file.plan = std::move(*plan);
  return file;
}
