//===- DeclareOptions.cpp - The options that a program has ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/options/DeclareOptions.h"

#include "runtime/launch/arguments/DeclaredGroup.h"
#include "runtime/launch/arguments/Validators.h"

namespace dtcc::rt {
namespace {

void declareData(CLI::App &app, DataOptions &options) {
  DeclaredGroup data(app, "Data");
  data.list("--data", options.data, "Folder of .npy files named like the inputs, or NAME=FILE (repeatable)");
  data.joined("--tokens", options.tokens,
              "Token ids: files, folders or globs, separated by commas: .npy, .bin of llm.c or nanoGPT, or any with "
              ":u8, :u16 or :u32 behind it; @WEIGHT behind each makes a mixture (repeatable)");
  data.number("--shuffle", options.shuffle, 0, "Shuffle the samples anew in each epoch, by this seed");
  DocumentOptions &documents = options.documents;
  data.number("--eos", documents.eos, 0, "Token that ends each document of --tokens");
  data.number("--bos", documents.bos, 0, "Token that begins each document of --tokens, in place of --eos");
  data.word("--documents", documents.start, Words<bool>{{"start", true}, {"cross", false}}, "cross",
            "start: windows start at documents; cross: one after the other");
}

void declareEvaluation(CLI::App &app, Options &options) {
  DeclaredGroup evaluation(app, "Evaluation");
  EvaluationOptions &eval = options.evaluation;
  evaluation.joined("--eval-tokens", eval.data.tokens, "Token ids to evaluate, as --tokens");
  evaluation.list("--eval-data", eval.data.data, "Data to evaluate, as --data (repeatable)");
  evaluation
      .option("--eval-fraction", options.data.heldOut,
              "Evaluate this part of --tokens or --data, and train on the rest")
      ->check(fraction());
  evaluation.number("--eval-every", eval.every, 1, "Steps between evaluations (default: at the end)");
  evaluation.number("--eval-steps", eval.steps, 1, "Batches of an evaluation (default: all of the data)");
  evaluation.flag("--eval-only", eval.only, "Evaluate the newest checkpoint of --checkpoint, or the weights, and stop");
  evaluation.flag("--eval-average", eval.ofAverages,
                  "Evaluate, generate and save the best with the averages of the parameters (dtcc --ema)");
  evaluation.option("--save-best", eval.best.path, "The model of the smallest loss of evaluations so far, as --save");
}

void declareGeneration(CLI::App &app, GenerateOptions &options, std::string &promptTokens) {
  DeclaredGroup generation(app, "Generation");
  generation.number("--generate", options.tokens, 1, "Write the prompt and so many tokens behind it, and stop");
  generation.option("--prompt-tokens", promptTokens, "Token ids to go on from, separated by commas");
  generation.number("--temperature", options.temperature, 0,
                    "Draw tokens at this temperature (default: 0, the likeliest)");
  generation.number("--top-k", options.topK, 1, "Draw among so many of the likeliest tokens (default: all)");
  generation.number("--stop-token", options.stop, 0, "End behind this token");
}

/// The rate that the program was compiled with is the default.
void declareRate(DeclaredGroup &training, LearningRate &rate) {
  training.number("--lr", rate.base, 0, "Learning rate")->capture_default_str();
  Words<LearningRate::Schedule> schedules;
  for (const char *name : LearningRate::scheduleNames)
    schedules.emplace_back(name, static_cast<LearningRate::Schedule>(schedules.size()));
  training.word("--lr-schedule", rate.schedule, schedules, "constant", "How the rate goes on after warm-up");
  training.number("--warmup", rate.warmup, 0, "Steps over which the learning rate rises from 0")->capture_default_str();
  training.number("--min-lr", rate.least, 0, "Rate to which --lr-schedule falls")->capture_default_str();
  training.number("--decay-steps", rate.decaySteps, 1,
                  "Steps of the fall (default: all behind the warm-up; of wsd the last tenth)");
  training.number("--lr-restart", rate.restart, 1,
                  "End the schedule at this step, and begin it anew behind it, with its warm-up");
}

void declareTraining(CLI::App &app, Options &options) {
  DeclaredGroup training(app, "Training");
  training.number("--steps", options.steps, 1, "Total number of optimizer steps (default: one pass over the data)");
  training.number("--epochs", options.epochs, 1, "Passes over the data, in place of --steps");
  declareRate(training, options.rate);
  training.number("--seed", options.seed, 0, "Seed of all random numbers")->capture_default_str();
  training.option("--weights", options.weights,
                  "Start from this .safetensors file, or folder of a model and its index");
  training.word(
      "--on-nonfinite", options.onNonfinite,
      Words<OnNonfinite>{{"stop", OnNonfinite::Stop}, {"skip", OnNonfinite::Skip}, {"rollback", OnNonfinite::Rollback}},
      "stop", "What happens where loss or gradient is NaN or infinite");
  training.word("--on-moe-overflow", options.mayDropRows, Words<bool>{{"stop", false}, {"drop", true}}, "stop",
                "What happens to rows of experts beyond a rank's room for them (--moe-capacity of the compiler)");
  training.number("--max-grad-norm-ratio", options.maxGradNormRatio, 1,
                  "Take a step whose gradients' norm is above X times the median of the last 32 for such a step");
}

void declareSaves(DeclaredGroup &output, Options &options) {
  output.option("--save", options.save.path, "Trained model: FILE.safetensors, FOLDER/ of shards, or FILE.onnx");
  output.flag("--save-trained", options.save.trainedOnly, "Save only parameters that trained, such as adapters");
  output.flag("--save-merged", options.save.merged, "Save the layers with their adapters added, and no adapters");
  output.option("--save-average", options.saveAverage.path, "Averages of the parameters (dtcc --ema), as --save");
  output.word("--save-type", options.save.type,
              Words<SaveType>{
                  {"model", SaveType::Model}, {"f32", SaveType::F32}, {"bf16", SaveType::BF16}, {"f16", SaveType::F16}},
              "model", "Type of saved floats; model: that of the model's file");
  output.option("--shard-size", options.save.shardBytes, "Largest shard of --save=FOLDER/, in bytes (default: 5GB)")
      ->transform(bytes());
}

void declareCheckpoints(DeclaredGroup &output, Options &options) {
  output.option("--checkpoint", options.checkpoint, "Folder of checkpoints");
  output.number("--checkpoint-every", options.checkpointEvery, 1, "Steps between checkpoints (default: at the end)");
  output.flag("--checkpoint-local", options.checkpointLocal, "Hosts share no folder: each keeps what its ranks write");
  output.number("--keep", options.keep.newest, 1, "Newest checkpoints that stay (default: all)");
  output.number("--keep-every", options.keep.every, 1, "Besides --keep, those of every N steps stay");
  output.flag("--resume", options.resume, "Go on from the newest whole checkpoint, if there is one");
  output.flag("--resume-anyway", options.resumeAnyway, "Also with other data, another optimizer, model or seed");
}

void declareOutput(CLI::App &app, Options &options, std::string &profileSteps) {
  DeclaredGroup output(app, "Output");
  output.option("--metrics", options.metrics, "JSON lines file with a line for each step");
  output.number("--grad-norms", options.gradNormsEvery, 1,
                "Every N steps, --metrics has the norm of each parameter's gradient, before clipping");
  declareSaves(output, options);
  declareCheckpoints(output, options);
  output.option("--profile", options.profile, "Trace for Perfetto; with --info, of the forecast");
  output.option("--profile-steps", profileSteps, "Steps of --profile: the first and the last (default: all)");
  output.flag("--info", options.info, "Print plan, memory, forecast and defaults, and stop");
}

void declareMachine(CLI::App &app, Options &options, ShownDevices shown) {
  DeclaredGroup machine(app, "Machine"), hidden(app, "");
  machine.option("--threads", options.threads, "Threads of each rank (default: cores / ranks)")
      ->transform(between(1, 4096));
  // A program for GPUs takes the option, but always does what it asks for.
  (shown.cores ? machine : hidden).flag("--overlap", options.overlap, "Run collectives on a thread of their own");
  if (shown.gpus) {
    machine.word("--cuda-graph", options.graphs,
                 Words<GraphUse>{{"auto", GraphUse::Auto}, {"on", GraphUse::On}, {"off", GraphUse::Off}}, "",
                 "Launch steps as CUDA graphs: auto (if possible), on, off");
    machine.word("--attention", options.ownAttention, Words<bool>{{"auto", false}, {"own", true}}, "",
                 "auto (cuDNN's, if available) or own (equal bits in every run)");
  }
  machine.option("--tune", options.tune,
                 "Measure at start which way of several computes matrix products, convolutions and GPUs' attention, "
                 "and keep the choices in this file");
  machine.number("--hang-timeout", options.hangSeconds, 1, "Seconds after which waiting counts as a hang")
      ->capture_default_str();
}

void declareProcesses(CLI::App &app, Options &options) {
  DeclaredGroup processes(app, "Processes that no launcher knows");
  processes.option("--rendezvous", options.rendezvous,
                   "HOST:PORT of rank 0, where ranks meet (default: as torchrun or srun say)");
  processes.number("--rank", options.rank, 0, "Number of this process, from 0");
  processes.number("--ranks", options.ranks, 1,
                   "Ranks in all; without --rank they are threads, by the plan for so many");
  processes.option("--token-file", options.tokenFile, "File of a secret that all ranks of the run have");
}

} // namespace

void declareOptions(CLI::App &app, CommandLine &line, ShownDevices shown) {
  Options &options = line.options;
  app.add_option("--config", line.config, "Options in a file of TOML, as steps = 100; the command line's win");
  declareData(app, options.data);
  declareEvaluation(app, options);
  declareGeneration(app, options.generate, line.promptTokens);
  declareTraining(app, options);
  declareOutput(app, options, line.profileSteps);
  declareMachine(app, options, shown);
  declareProcesses(app, options);
}

} // namespace dtcc::rt
