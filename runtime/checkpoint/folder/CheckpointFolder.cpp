//===- CheckpointFolder.cpp - The checkpoints of a run, as a folder
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/folder/CheckpointFolder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

namespace fs = std::filesystem;

namespace dtcc::rt {
namespace {

constexpr std::string_view prefix = "step-", unfinished = ".tmp";
/// The checkpoint that stood in the place of a new one, on file systems that cannot swap two folders.
constexpr std::string_view replaced = ".replaced";

/// The N of "step-N", or -1.
int64_t stepOf(std::string_view name) {
  int64_t step = -1;
  if (!name.starts_with(prefix) || name.size() == prefix.size())
    return -1;
  name.remove_prefix(prefix.size());
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

std::vector<std::string> namesIn(const std::string &directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

/// The N of "step-N" and an ending, or -1.
int64_t stepOf(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? stepOf(name.substr(0, name.size() - ending.size())) : -1;
}

} // namespace

std::string checkpointPath(const std::string &directory, int64_t step) {
  return (fs::path(directory) / (std::string(prefix) + std::to_string(step))).string();
}

std::string formerPath(const std::string &directory, int64_t step) {
  return checkpointPath(directory, step) + std::string(replaced);
}

std::vector<int64_t> checkpointSteps(const std::string &directory) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const std::string &name : namesIn(directory))
    if (int64_t step = stepOf(name); step >= 0 && fs::is_directory(fs::path(directory) / name, error))
      steps.push_back(step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

void removeUnfinished(const std::string &directory) {
  std::error_code error;
  for (const std::string &name : namesIn(directory)) {
    fs::path path = fs::path(directory) / name;
    // The run was killed before the new checkpoint had taken the place of this one.
    if (int64_t step = stepOf(name, replaced); step >= 0 && !fs::exists(checkpointPath(directory, step), error))
      fs::rename(path, checkpointPath(directory, step), error);
    else if (step >= 0 || stepOf(name, unfinished) >= 0)
      fs::remove_all(path, error);
  }
}

void pruneCheckpoints(const std::string &directory, const KeepOptions &options) {
  if (options.newest == 0)
    return;
  std::vector<int64_t> steps = checkpointSteps(directory);
  auto surplus = static_cast<int64_t>(steps.size()) - options.newest;
  for (int64_t i = 0; i < surplus; ++i) {
    int64_t step = steps[static_cast<size_t>(i)];
    if (options.every > 0 && step % options.every == 0)
      continue;
    std::string path = checkpointPath(directory, step), doomed = path + std::string(unfinished);
    std::error_code error;
    fs::remove_all(doomed, error);
    fs::rename(path, doomed, error);
    if (!error)
      fs::remove_all(doomed, error);
  }
}

} // namespace dtcc::rt
