//===- PipelinePlanning.cpp - The pipeline of a plan, as the command line gives it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/planning/PipelinePlanning.h"
#include "compiler/console/ErrorStream.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace dtcc;

FailureOr<PipelineRequest> dtcc::readSchedule(const std::string &text, std::optional<int64_t> ranks, bool noStages) {
  PipelineRequest request;
  if (text.empty())
    return request;
  if (ranks ? *ranks == 1 : noStages)
    return wrong("--schedule needs stages, as --mesh=pp=2, got: --schedule=" + text);
  if (plan::stagesPerRank(text)) {
    request.schedule = text;
    return request;
  }
  if (!StringRef(text).ends_with(".csv"))
    return wrong("--schedule must be " + cost::scheduleNames() + " or FILE.csv, got: " + text);
  auto buffer = llvm::MemoryBuffer::getFile(text, /*IsText=*/true);
  if (!buffer)
    return wrong("--schedule: cannot read " + text + ": " + buffer.getError().message());
  llvm::Expected<plan::Schedule> actions = plan::parseScheduleCsv((*buffer)->getBuffer(), text);
  if (!actions)
    return wrong("--schedule: " + llvm::toString(actions.takeError()));
  if (ranks && int64_t(actions->ranks.size()) != *ranks)
    return wrong("--schedule: " + text + " must have a line for each of the " + Twine(*ranks) +
                 " ranks of --mesh=pp, got: " + Twine(actions->ranks.size()));
  // Before the search, which prices what passed its check.
  if (llvm::Error error = actions->check(actions->stages(), actions->microbatches()))
    return wrong("--schedule: " + text + ": " + llvm::toString(std::move(error)));
  request.actions = std::move(*actions);
  return request;
}
