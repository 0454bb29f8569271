//===- MeasuredRunTest.cpp - Tables of runs, rows of them, and fits
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/validation/Validation.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dtcc::cost;

static RunTable table(std::string text) {
  std::string error;
  std::optional<RunTable> parsed = RunTable::parse(text, "t.csv", error);
  EXPECT_TRUE(parsed) << error;
  return *parsed;
}

TEST(RunTable, QuotesAndBack) {
  std::string text = "id,notes,x\na-1,\"one, \"\"two\"\"\nthree\",\r\na-2,,3\n";
  RunTable runs = table(text);
  ASSERT_EQ(runs.rows(), 2u);
  EXPECT_EQ(runs.cell(0, "notes"), "one, \"two\"\nthree");
  EXPECT_EQ(runs.cell(1, "x"), "3");
  EXPECT_EQ(runs.cell(1, "absent"), "");
  EXPECT_EQ(runs.location(1), "t.csv:4");
  runs.set(1, "new", "a,b");
  EXPECT_EQ(runs.toText(), "id,notes,x,new\na-1,\"one, \"\"two\"\"\nthree\",,\na-2,,3,\"a,b\"\n");
}

TEST(MeasuredRun, StatedNetworks) {
  EXPECT_DOUBLE_EQ(statedNetwork("1600 Gb/s RoCE per node (200 Gb/s per GPU)", 8), 25e9);
  EXPECT_DOUBLE_EQ(statedNetwork("NVLink3/NVSwitch; 8x HDR InfiniBand 200 Gb/s per node (Selene)", 8), 25e9);
  EXPECT_DOUBLE_EQ(statedNetwork("inter-node 800 Gb/s per node (vTrain config)", 8), 12.5e9);
  EXPECT_DOUBLE_EQ(statedNetwork("4 Omni-Path links per node (Jean Zay)", 8), 6.25e9);
  EXPECT_DOUBLE_EQ(statedNetwork("AWS p5.48xlarge, EFA 3200 Gb/s per instance", 8), 50e9);
  EXPECT_EQ(statedNetwork("NVSwitch (DGX A100)", 8), 0);
  EXPECT_EQ(statedNetwork("", 8), 0);
}

static const std::string kHeader = "id,source,model,params_b,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,gpu,"
                                   "gpus,tp,pp,dp,micro_batch,global_batch,recompute,measured_step_time_s,notes\n";

TEST(MeasuredRun, RowsAndTheirScope) {
  RunTable runs =
      table(kHeader + "a-1,NeMo,Llama3-8B,8.03,32,4096,32,8,14336,128256,8192,H100-80GB,8,2,1,4,1,64,none,3.5,\n"
                      "a-2,NeMo,Llama3-8B,8.03,32,4096,32,8,14336,128256,8192,H100-80GB,8,2,1,2,1,64,none,3.5,\n"
                      "a-3,NeMo,Llama3-8B,8.03,32,4096,32,8,14336,128256,8192,H100-80GB,8,2,1,4,1,66,none,3.5,\n"
                      "a-4,NeMo,x,,,4096,32,8,14336,128256,8192,H100-80GB,8,2,1,4,1,64,none,3.5,\n"
                      "a-5,NeMo,x,,32,4096,32,8,14336,128256,8192,TPU,8,2,1,4,1,64,none,3.5,\n"
                      "a-6,NeMo,x,,32,4096,32,8,14336,128256,8192,H100-80GB,8,2,1,4,1,64,none,3.5,LoRA\n");
  std::string error;
  std::optional<MeasuredRun> run = readRun(runs, 0, error);
  ASSERT_TRUE(run) << error;
  EXPECT_EQ(run->scope, "");
  EXPECT_EQ(run->source, "a");
  EXPECT_TRUE(run->model.gated);
  EXPECT_FALSE(run->model.tied);
  EXPECT_EQ(run->plan.microbatches, 16);
  EXPECT_EQ(run->plan.zero, 1);
  EXPECT_TRUE(run->plan.sequenceParallel);
  EXPECT_EQ(run->software.framework, Framework::NeMo);
  const char *reasons[] = {
      "",          "tp x cp x dp x pp is not gpus",  "the global batch is no whole number of micro-batches",
      "no layers", "an unknown kind of device: TPU", "trains adapters only"};
  for (size_t row = 1; row < runs.rows(); ++row)
    EXPECT_EQ(readRun(runs, row, error)->scope, reasons[row]);
}

/// Experts are priced and counted by themselves; a model that the table knows has what no column says.
TEST(MeasuredRun, RunsThatAreSetApart) {
  Validation validation;
  std::string error;
  ASSERT_TRUE(
      validation.add(table("id,source,model,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,moe_experts,moe_topk,"
                           "gpu,gpus,tp,pp,dp,"
                           "ep,micro_batch,global_batch,offload,measured_step_time_s,notes\n"
                           "a-1,NeMo,DeepSeek-V3,61,7168,128,128,2048,129280,4096,256,8,H100-80GB,64,1,8,8,8,1,64,,9,\n"
                           "a-2,NeMo,Other,4,1024,8,8,2048,32000,4096,8,2,H100-80GB,8,1,1,8,8,1,64,,1,\n"
                           "a-3,NeMo,Other,4,1024,8,8,2048,32000,4096,8,2,H100-80GB,8,1,1,8,3,1,64,,1,\n"
                           "b-4,NeMo,Dense,4,1024,8,8,4096,32000,4096,,,H100-80GB,8,1,1,8,,1,64,activations to CPU,1,\n"
                           "b-5,NeMo,Dense,4,1024,8,8,4096,32000,4096,,,H100-80GB,8,1,1,8,,1,64,,1,\n"),
                     error));
  validation.price(Constants());
  EXPECT_EQ(validation.runs[0].run.model.latentRank, 512);
  EXPECT_EQ(validation.runs[1].run.model.expertFfn, 2048);
  EXPECT_EQ(validation.runs[2].run.scope, "ep does not divide the ranks of a stage, or the experts");
  EXPECT_GT(validation.runs[3].seconds, validation.runs[4].seconds * 0.99);
  EXPECT_LT(validation.runs[3].memoryGib, validation.runs[4].memoryGib);
  EXPECT_EQ(validation.errors(validation.sources()).rows, 1u);
  EXPECT_EQ(validation.fitRows().size(), 1u);
  auto apart = validation.errorsApart();
  EXPECT_EQ(apart["experts"].rows, 2u);
  EXPECT_EQ(apart["experts, a"].rows, 2u);
  EXPECT_EQ(apart["offload, b"].rows, 1u);
}

/// A fit to times that the model computed with other constants finds these constants.
TEST(Fit, FindsWhatMadeTheTimes) {
  std::vector<FitRow> rows;
  Constants truth = startConstants();
  truth.gemmAmpere *= 0.8;
  truth.host *= 3;
  int number = 0;
  for (double hidden : {512.0, 1024.0, 2048.0, 4096.0, 8192.0})
    for (double samples : {1.0, 4.0}) {
      Transformer model{24, hidden, hidden / 128, hidden / 128, 4 * hidden, 50304, 1024, false, true};
      Parallelism plan;
      plan.microbatches = 4;
      RunSetting setting;
      setting.samples = samples;
      const Device &device = *findDevice("a100");
      FitRow row{makeStepProblem(model, plan, setting, softwareOf(Framework::PyTorch), device, fabricOf(device)), 0,
                 "source " + std::to_string(number++ % 3), std::to_string(hidden)};
      row.seconds = priceStep(row.problem, truth).total();
      rows.push_back(row);
    }
  Constants found = fitConstants(rows, startConstants());
  auto worst = [&](const Constants &constants) {
    double most = 0;
    for (const FitRow &row : rows)
      most = std::max(most, std::abs(std::log(priceStep(row.problem, constants).total() / row.seconds)));
    return most;
  };
  EXPECT_GT(worst(startConstants()), 0.2);
  EXPECT_LT(worst(found), 0.10);
  EXPECT_LT(found.gemmAmpere, 0.95 * startConstants().gemmAmpere);
  EXPECT_GT(found.host, 1.8 * startConstants().host);
  // Two scales find most of a machine that is slower as a whole.
  for (FitRow &row : rows)
    row.seconds = 1.3 * priceStep(row.problem, startConstants()).total();
  Calibration scales = fitCalibration(rows, startConstants());
  EXPECT_NEAR(scales.device, 1.3, 0.1);
  EXPECT_NEAR(scales.host, 1.3, 0.2);
  Calibration other = onOtherDevices(scales);
  EXPECT_GT(other.device, 1);
  EXPECT_LT(other.device, 1.15);
  EXPECT_EQ(other.host, scales.host);
}

/// A source priced by constants that it had no part in, and then with two scales from its first run: as good as it
/// was or better, as runs of a machine that is slower throughout are.
TEST(Fit, CalibratesWhatWasLeftOut) {
  std::string text = kHeader;
  for (int source = 0; source < 3; ++source)
    for (int batch = 1; batch <= 4; ++batch)
      text += std::string(1, char('a' + source)) + "-" + std::to_string(batch) +
              ",NeMo,Llama3-8B,8.03,32,4096,32,8,14336,128256,8192,H100-80GB,8,2,1,4,1," + std::to_string(64 * batch) +
              ",none," + std::to_string((source == 2 ? 1.4 : 1.0) * 6.2 * batch) + ",\n";
  auto biasOf = [&](size_t count) {
    Validation validation;
    std::string error;
    EXPECT_TRUE(validation.add(table(text), error)) << error;
    validation.priceLeftOut(startConstants(), count);
    EXPECT_EQ(validation.errors({"c"}).rows, 4 - count);
    return validation.errors({"c"}).bias;
  };
  EXPECT_LT(biasOf(0), -15);
  EXPECT_GT(biasOf(3), 0.75 * biasOf(0));
}

TEST(Fit, Quantiles) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3}, 0.9), 3);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
}
