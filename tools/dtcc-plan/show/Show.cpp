//===- Show.cpp - A plan or a program, for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/Show.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace dtcc;

/// Takes the world of `ranks` ranks; 0: the only one.
static llvm::Expected<ProgramFile> pickWorld(std::vector<ProgramFile> worlds, llvm::StringRef path, int64_t ranks) {
  if (worlds.size() == 1 && ranks == 0)
    return std::move(worlds[0]);
  std::string numbers;
  for (ProgramFile &world : worlds) {
    if (world.product(DTCC_AXIS_RANK) == ranks)
      return std::move(world);
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(world.product(DTCC_AXIS_RANK));
  }
  return llvm::createStringError(path + " must be named with a number of ranks that it has a plan for (" + numbers +
                                 "), as " + path + ":" + llvm::Twine(worlds.back().product(DTCC_AXIS_RANK)) +
                                 (ranks == 0 ? "" : ", got: " + std::to_string(ranks)));
}

static llvm::Error readProgram(llvm::StringRef bytes, int64_t ranks, PlanOrProgram &file) {
  llvm::Expected<std::vector<ProgramFile>> worlds = ProgramFile::readWorlds(file.path, bytes);
  if (!worlds)
    return worlds.takeError();
  llvm::Expected<ProgramFile> program = pickWorld(std::move(*worlds), file.path, ranks);
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

/// Splits FILE:RANKS, unless there is a file of that name.
static std::pair<llvm::StringRef, int64_t> splitWorld(llvm::StringRef text) {
  auto [path, number] = text.rsplit(':');
  int64_t ranks = 0;
  if (llvm::sys::fs::exists(text) || number.getAsInteger(10, ranks) || ranks < 1)
    return {text, 0};
  return {path, ranks};
}

llvm::Expected<PlanOrProgram> PlanOrProgram::read(llvm::StringRef text) {
  auto [path, ranks] = splitWorld(text);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path + ": cannot read: " + buffer.getError().message());
  llvm::StringRef bytes = (*buffer)->getBuffer();
  PlanOrProgram file;
  file.path = path.str();
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    if (llvm::Error error = readProgram(bytes, ranks, file))
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
