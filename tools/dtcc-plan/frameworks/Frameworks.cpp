//===- Frameworks.cpp - The frameworks that a plan is written for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/frameworks/Frameworks.h"
#include "runtime/abi/NearestName.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace dtcc;
using llvm::StringRef;

static constexpr Framework kFrameworks[] = {{"megatron", "arguments of Megatron-LM's pretrain_gpt.py", writeMegatron},
                                            {"nemo", "part of NeMo's megatron_gpt_config.yaml", writeNeMo},
                                            {"torchtitan", "part of torchtitan's train config", writeTorchtitan},
                                            {"deepspeed", "DeepSpeed's ds_config.json", writeDeepSpeed}};

llvm::Expected<const Framework *> dtcc::findFramework(StringRef name) {
  std::vector<std::string> names;
  for (const Framework &framework : kFrameworks) {
    if (framework.name == name.lower())
      return &framework;
    names.push_back(framework.name.str());
  }
  std::string near = nearestName(name.str(), names);
  return llvm::createStringError("--write must be one of " + llvm::join(names, ", ") + ", got: " + name +
                                 (near.empty() ? "" : "; did you mean " + near + "?"));
}

/// The first plan of a report.
static FrameworkPlan firstPlan(const plan::SearchReport &report, const FrameworkRequest &request) {
  const plan::PlanReport &best = report.plans.front();
  FrameworkPlan result{best.shape, report.batch, request.precision, 0, 0, request.ofSizes};
  if (request.ofSizes) {
    result.plan.sequenceParallel = result.plan.tp > 1;
    result.plan.exchange = plan::SequenceExchange::Ring;
  }
  for (const plan::StageReport &stage : best.stages)
    if (stage.recomputed >= result.recomputed) {
      result.recomputed = stage.recomputed;
      result.blocks = stage.blocks;
    }
  return result;
}

void dtcc::printWithFramework(const plan::SearchReport &report, const FrameworkRequest &request, bool json,
                              llvm::raw_ostream &stream, StringRef below,
                              llvm::function_ref<void(llvm::json::OStream &)> more) {
  const Framework *framework = request.framework;
  FrameworkConfig config;
  if (framework)
    config = framework->write(firstPlan(report, request));
  if (json) {
    printReportJson(report, stream, [&](llvm::json::OStream &out) {
      more(out);
      if (!framework)
        return;
      out.attributeObject("framework", [&] {
        out.attribute("name", framework->name);
        out.attribute("text", config.text);
        out.attributeArray("not_said", [&] {
          for (const std::string &part : config.unsaid)
            out.value(part);
        });
      });
    });
    return;
  }
  printReport(report, stream);
  stream << below;
  if (!framework)
    return;
  printHeading(stream, ("Plan 1 as " + framework->title).str());
  stream << config.text;
  for (const std::string &part : config.unsaid)
    stream << "not said: " << part << '\n';
}
