//===- Frameworks.cpp - The frameworks that a plan is written for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/frameworks/Frameworks.h"
#include "runtime/abi/console/NearestName.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <numeric>

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
  FrameworkPlan result{best.shape, report.batch, request.precision, 0, 0, request.ofSizes, {}};
  if (request.ofSizes) {
    result.plan.sequenceParallel = result.plan.tp > 1;
    result.plan.exchange = plan::SequenceExchange::Ring;
  }
  for (const plan::StageReport &stage : best.stages) {
    result.blocksOfRank.push_back(stage.blocks);
    if (stage.recomputed >= result.recomputed) {
      result.recomputed = stage.recomputed;
      result.blocks = stage.blocks;
    }
  }
  return result;
}

bool FrameworkPlan::mayHaveEqualStages() const {
  if (blocksOfRank.empty())
    return true;
  // Blocks beside the layers, at most: the embedding, the last norm, the classifier and its loss, in parts.
  constexpr size_t beside = 5;
  auto [least, most] = std::minmax_element(blocksOfRank.begin(), blocksOfRank.end());
  size_t all = std::accumulate(blocksOfRank.begin(), blocksOfRank.end(), size_t(0));
  size_t stages = size_t(plan.pp * std::max<int64_t>(1, plan.virtualStages));
  // Whether a multiple of the stages lies in [all - beside, all].
  return *most - *least <= beside && all / stages * stages + beside >= all;
}

void dtcc::noteUnequalStages(const FrameworkPlan &given, StringRef instead, FrameworkConfig &config) {
  if (given.plan.pp == 1 || given.mayHaveEqualStages())
    return;
  std::string counts;
  for (size_t blocks : given.blocksOfRank)
    counts += (counts.empty() ? "" : ", ") + std::to_string(blocks);
  config.unsaid.push_back(llvm::formatv(
      "stages of unequal length: the ranks of the pipeline have {0} blocks{1}; {2}", counts,
      given.plan.virtualStages > 1 ? llvm::formatv(", in {0} stages each", given.plan.virtualStages).str() : "",
      instead));
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
