//===- Resume.cpp - The checkpoint that a run goes on from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Resume.h"

#include "runtime/abi/UpdateGroups.h"
#include "runtime/checkpoint/GatherFiles.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/network/Host.h"
#include "runtime/core/Error.h"
#include "runtime/kernels/ops/CheckedOperands.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>

namespace dtcc::rt {
namespace {

const char *const kBatch = "batch", *const kEvaluation = "evaluation", *const kLength = "length";

/// Whether both have a setting, and another.
bool differ(const RunIdentity &saved, const RunIdentity &own, const std::string &setting) {
  auto was = saved.settings.find(setting), is = own.settings.find(setting);
  return was != saved.settings.end() && is != own.settings.end() && was->second != is->second;
}

/// "adamw(0.9, 0.999, 1e-08, 0, 1, 1, 0)": the rule of an optimizer with its settings, in the order of LibraryOps.def.
std::string ruleText(const Image &image, const dtcc_command &command) {
  std::string text = std::string(libraryOpMnemonic(command.op)) + "(";
  std::span<const int64_t> attributes = image.attributes(command);
  for (size_t i = 2; i < attributes.size(); ++i) {
    double real;
    std::memcpy(&real, &attributes[i], sizeof real);
    // The bits of a double that is not 0 are a huge integer.
    constexpr int64_t mostInteger = int64_t(1) << 48;
    bool integer = attributes[i] > -mostInteger && attributes[i] < mostInteger;
    text += (i > 2 ? ", " : "") + (integer ? std::to_string(attributes[i]) : message(real));
  }
  return text + ")";
}

/// The rules without their settings.
std::string rulesOf(const std::string &optimizer) {
  std::string rules;
  bool inside = false;
  for (char c : optimizer) {
    inside |= c == '(';
    if (!inside)
      rules += c;
    inside &= c != ')';
  }
  return rules;
}

/// The first setting of the library commands of a kind; 0 if the program has none.
double settingOf(const Image &image, std::initializer_list<uint32_t> ops) {
  for (const dtcc_command &command : image.commands())
    if (command.kind == DTCC_LIBRARY && std::find(ops.begin(), ops.end(), command.op) != ops.end()) {
      double real;
      std::memcpy(&real, &image.attributes(command)[0], sizeof real);
      return real;
    }
  return 0;
}

/// "rate x 1 and decay 0.01 of 12 tensors (a to z); ..", in an order that no plan changes.
std::string parametersText(const Image &image) {
  std::vector<UpdateGroup> groups =
      updateGroups(image.segments(), image.states(), [&](const dtcc_state &state) { return image.string(state.name); });
  std::set<std::string> lines;
  for (UpdateGroup &group : groups) {
    std::sort(group.names.begin(), group.names.end());
    lines.insert(message("rate x ", group.lrScale, " and decay ", group.decay, " of ", group.names.size(),
                         group.names.size() == 1 ? " tensor (" : " tensors (", group.range(), ")"));
  }
  std::string text;
  for (const std::string &line : lines)
    text += (text.empty() ? "" : "; ") + line;
  return text;
}

std::map<std::string, std::string> settingsOf(const Image &image) {
  const double clip = settingOf(image, {DTCC_LIB_GRAD_SCALE, DTCC_LIB_GRAD_UNSCALE});
  const double average = settingOf(image, {DTCC_LIB_AVERAGE});
  const dtcc_image_header &header = image.header();
  std::map<std::string, std::string> settings{
      {kBatch, message("a batch of ", image.training().batch)},
      {"clip", clip > 0 ? message("clipping to ", clip) : "no clipping"},
      {"ema", average > 0 ? message("averages by ", average) : "no averages"},
      {"gradients", message("gradients in ", image.string(header.gradients))},
      {"parameters", parametersText(image)},
      {"precision", message("products in ", header.tf32 ? "tf32" : image.string(header.precision))}};
  if (const dtcc_training &training = image.training(); training.tokens > 0 && training.batch > 0)
    settings[kLength] = message("samples of ", training.tokens / training.batch, " tokens");
  return settings;
}

/// Names the data and the samples of evaluations. Losses of the same ones alone can be compared.
std::string evaluationText(const Image &image, const Batches &evaluated, const EvaluationOptions &options) {
  std::string text;
  for (const DataIdentity &each : evaluated.identities())
    text += each.text() + ", ";
  const int64_t all = evaluated.stepsPerEpoch(), batches = options.steps > 0 ? std::min(all, options.steps) : all;
  return message(text, batches * image.training().batch, " samples", options.ofAverages ? " with averages" : "");
}

/// Says which settings of the checkpoint differ, and how; empty if none does.
std::string settingsNote(const RunIdentity &saved, const RunIdentity &own) {
  std::string was, is;
  auto add = [](std::string &list, const std::string &text) { list += (list.empty() ? "" : ", ") + text; };
  if (!saved.optimizer.empty() && !own.optimizer.empty() && saved.optimizer != own.optimizer &&
      rulesOf(saved.optimizer) == rulesOf(own.optimizer))
    add(was, saved.optimizer), add(is, own.optimizer);
  for (const auto &[name, value] : own.settings)
    if (name != kEvaluation && name != kLength && differ(saved, own, name))
      add(was, saved.settings.at(name)), add(is, value);
  return was.empty() ? "" : message("was written with ", printable(was), ", and this program has ", is);
}

/// Why `reader` is not of this run; empty if it is.
std::string differenceOf(const CheckpointReader &reader, const Options &options, const Image &image,
                         const RunIdentity &identity) {
  std::string model(image.string(image.header().model));
  if (!reader.model().empty() && reader.model() != model)
    return message("the model '", reader.model(), "', and this program trains '", model, "'");
  const RunIdentity &saved = reader.identity();
  if (!saved.optimizer.empty() && !identity.optimizer.empty() &&
      rulesOf(saved.optimizer) != rulesOf(identity.optimizer))
    return message("the optimizer ", rulesOf(saved.optimizer), ", and this program has ", rulesOf(identity.optimizer));
  if (options.hasSeed && options.seed != reader.position().seed)
    return message("--seed=", reader.position().seed, ", and --seed=", options.seed, " is given");
  // A position in the data counts samples.
  if (differ(saved, identity, kLength))
    return message(saved.settings.at(kLength), ", and this program reads ", identity.settings.at(kLength));
  for (const DataIdentity &one : saved.data)
    for (const DataIdentity &other : identity.data)
      if (one.input == other.input && !(one == other))
        return message("the data ", one.text(), " for the input '", one.input, "', and this run has ", other.text(),
                       one.name == other.name && one.bytes == other.bytes
                           ? " (another content, or another --eval-fraction, --eos, --bos or --documents)"
                           : "");
  return {};
}

} // namespace

RunIdentity identityOf(const Image &image, const Batches &batches, const Batches *evaluated,
                       const EvaluationOptions &evaluation) {
  std::set<std::string> rules;
  for (const dtcc_command &command : image.commands())
    if (command.kind == DTCC_LIBRARY && dtcc_is_rule(command.op))
      rules.insert(ruleText(image, command));
  RunIdentity identity{{}, batches.identities(), settingsOf(image)};
  for (const std::string &rule : rules)
    identity.optimizer += (identity.optimizer.empty() ? "" : "; ") + rule;
  if (evaluated)
    identity.settings[kEvaluation] = evaluationText(image, *evaluated, evaluation);
  return identity;
}

bool hasOtherEvaluation(const CheckpointReader &reader, const RunIdentity &identity) {
  return differ(reader.identity(), identity, kEvaluation);
}

bool hasOtherBatch(const CheckpointReader &reader, const RunIdentity &identity) {
  return differ(reader.identity(), identity, kBatch);
}

FolderDisks findCheckpointDisks(const Options &options, Communicator &world) {
  if (options.checkpointLocal) {
    std::error_code error; // where it cannot be made, writing says so
    std::filesystem::create_directories(options.checkpoint, error);
  }
  // A run that only reads may do so from a folder in which it may make no file.
  if (!options.checkpointLocal && !options.trains())
    return {};
  world.barrier();
  constexpr double patience = 3; // seconds, for what NFS shows late
  FolderDisks disks = findDisks(options.checkpoint, world, options.checkpointLocal ? 0 : patience);
  if (options.checkpointLocal || !disks.areSeveral())
    return disks;
  std::vector<HostName> hosts(static_cast<size_t>(world.size()));
  const HostName mine = HostName::ofThis();
  world.allGather(&mine, hosts.data(), sizeof mine, DTCC_I8);
  size_t other = 0;
  while (disks.leaders[other] == 0)
    ++other;
  fail("--checkpoint=", options.checkpoint, " must be a folder that all ranks see, and rank ", other, " on ",
       hosts[other].name, " does not see what rank 0 on ", hosts[0].name,
       " writes there: share the folder, or give --checkpoint-local, by which each host keeps the part of its ranks");
}

std::unique_ptr<CheckpointReader> chooseCheckpoint(const Options &options, const Image &image,
                                                   const RunIdentity &identity, const FolderDisks &disks,
                                                   Communicator *world, bool speaks) {
  const std::string &folder = options.checkpoint;
  const bool several = world && disks.areSeveral();
  if (!options.resume && options.trains()) {
    std::vector<int64_t> steps = checkpointSteps(folder);
    int64_t newest = several ? newestStep(folder, INT64_MAX, *world) : steps.empty() ? -1 : steps.back();
    if (newest >= 0)
      fail(checkpointPath(folder, newest),
           " is there from another run: give --resume to go on from it, or a folder without checkpoints");
    return nullptr;
  }
  std::unique_ptr<CheckpointReader> reader =
      several ? gatherNewestCheckpoint(folder, disks, image, *world) : newestWholeCheckpoint(folder, world);
  if (!reader && !options.trains())
    fail("there is no checkpoint in ", folder, options.generate.isAsked() ? " to generate from" : " to evaluate");
  if (!reader) {
    if (speaks)
      std::cerr << "note: starting anew: there is no checkpoint in " << folder << "\n";
    return nullptr;
  }
  std::string difference = differenceOf(*reader, options, image, identity);
  if (!difference.empty() && !options.resumeAnyway)
    fail(reader->folder(), " was written with ", difference, ": --resume-anyway goes on all the same");
  if (speaks) {
    if (!difference.empty())
      std::cerr << "warning: " << reader->folder() << " was written with " << printable(difference) << "\n";
    if (const std::string note = settingsNote(reader->identity(), identity); !note.empty())
      std::cerr << "note: " << reader->folder() << " " << note << "\n";
    std::cerr << (options.trains()             ? "note: resumed from step "
                  : options.generate.isAsked() ? "note: generates from step "
                                               : "note: evaluates step ")
              << reader->position().step << " in " << reader->folder() << "\n";
  }
  return reader;
}

} // namespace dtcc::rt
