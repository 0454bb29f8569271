//===- Tuning.cpp - Ways of commands by measurement ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Tuning.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace dtcc::rt::cuda {
namespace {

/// The first line of a file of choices.
constexpr const char *kTitle = "dtcc choices 1";
constexpr int kAlgorithms = 8, kRuns = 5, kRounds = 3;

using Choices = std::map<std::string, Choice>;

/// One line a choice: the problem, a tab, the name of the way, the words of its algorithm.
std::string textOf(const Choices &choices) {
  std::ostringstream text;
  text << std::hex;
  for (const auto &[problem, choice] : choices) {
    text << problem << '\t' << choice.way;
    for (uint64_t word : choice.algorithm)
      text << ' ' << word;
    text << '\n';
  }
  return text.str();
}

/// The number of the line that is no choice, counted from 1; 0 if all are.
size_t readChoices(std::istream &text, Choices &choices) {
  std::string line;
  for (size_t number = 1; std::getline(text, line); ++number) {
    const size_t tab = line.rfind('\t');
    std::istringstream words(tab == std::string::npos ? "" : line.substr(tab + 1));
    words >> std::hex;
    Choice choice;
    words >> choice.way;
    for (uint64_t &word : choice.algorithm)
      words >> word;
    std::string rest;
    if (tab == 0 || words.fail() || words >> rest)
      return number;
    choices[line.substr(0, tab)] = choice;
  }
  return 0;
}

/// Reads the choices of a file. A missing file gives none; a damaged file gives none and a line that says so. Throws if
/// the file is something else, because it would be overwritten.
Choices readFile(const std::string &file) {
  Choices choices;
  std::ifstream stream(file);
  std::string title;
  if (!stream || (std::getline(stream, title).eof() && title.empty()))
    return choices;
  if (title != kTitle)
    failWith(Status::Usage, "--tune=", file, " must be a file that --tune wrote, or none");
  if (size_t line = readChoices(stream, choices)) {
    std::cerr << "note: line " << line + 1 << " of --tune=" << file << " is no choice: all are measured again"
              << std::endl;
    choices.clear();
  }
  return choices;
}

/// The texts of all ranks, in their order.
std::vector<std::string> gather(const std::string &mine, Communicator *all) {
  if (!all)
    return {mine};
  auto size = static_cast<int64_t>(mine.size());
  std::vector<int64_t> sizes(static_cast<size_t>(all->size()));
  all->allGather(&size, sizes.data(), 1, DTCC_I64);
  const auto longest = static_cast<size_t>(std::max<int64_t>(*std::max_element(sizes.begin(), sizes.end()), 1));
  std::string room = mine, texts(longest * sizes.size(), 0);
  room.resize(longest);
  all->allGather(room.data(), texts.data(), static_cast<int64_t>(longest), DTCC_I8);
  std::vector<std::string> result;
  for (size_t i = 0; i < sizes.size(); ++i)
    result.push_back(texts.substr(i * longest, static_cast<size_t>(sizes[i])));
  return result;
}

class Tuner {
public:
  Tuner(std::span<const TuningSite> sites, Gpu &gpu, GpuLauncher &launcher, Rank &rank)
      : sites(sites), gpu(gpu), launcher(launcher), rank(rank), begin(gpu.event(/*flags=*/0)),
        end(gpu.event(/*flags=*/0)) {}

  /// The line of a site's problem: with the GPU and the library, since choices are theirs.
  std::string keyOf(const TuningSite &site) const {
    return gpu.info().model + "; " + site.op->library() + "; " + site.op->problem();
  }
  bool choose(const TuningSite &site, const Choice &choice) {
    launcher.bindFor(site.stream);
    return site.op->choose(choice);
  }
  /// Keys of the sites that have no choice, or one that is no longer accepted.
  std::set<std::string> missing(const Choices &choices) {
    std::set<std::string> keys;
    for (const TuningSite &site : sites)
      if (auto known = choices.find(keyOf(site)); known == choices.end() || !choose(site, known->second))
        keys.insert(keyOf(site));
    return keys;
  }
  Choices measure(const std::set<std::string> &keys) {
    Choices choices;
    for (const TuningSite &site : sites)
      if (std::string key = keyOf(site); keys.count(key) && !choices.count(key))
        if (std::optional<Choice> best = fastest(site))
          choices[key] = *best;
    if (failures)
      std::cerr << "note: rank " << rank.abi.rank << " passed over " << failures
                << (failures == 1 ? " algorithm that failed: " : " algorithms that failed, the first: ") << firstFailure
                << std::endl;
    return choices;
  }

private:
  std::optional<Choice> fastest(const TuningSite &site) {
    std::optional<Choice> best;
    float least = 0;
    launcher.bindFor(site.stream);
    std::vector<Choice> choices = site.op->choices(kAlgorithms);
    if (choices.size() == 1)
      return choices.front();
    for (Choice &choice : choices)
      try {
        if (!choose(site, choice))
          continue;
        const float took = milliseconds(site, least);
        if (!best || took < least)
          best = std::move(choice), least = took;
      } catch (const Error &error) {
        // Some algorithms of a heuristic turn out to be none when they are run.
        if (failures++ == 0)
          firstFailure = error.what();
      }
    return best;
  }
  /// Time of the fastest of several rounds, after one run that loads the code. If the first round is far slower than
  /// `best`, its time is returned at once.
  float milliseconds(const TuningSite &site, float best) {
    const Call call{gpu.firstStream(), site.buffers.data(), nullptr, site.workspace};
    site.op->run(rank, call);
    float least = 0;
    for (int round = 0; round < kRounds; ++round) {
      gpu.record(begin, gpu.firstStream());
      for (int i = 0; i < kRuns; ++i)
        site.op->run(rank, call);
      gpu.record(end, gpu.firstStream());
      gpu.synchronize(gpu.firstStream());
      float took = 0;
      gpu.check(driver().elapsedTime(&took, begin, end), "cuEventElapsedTime");
      least = round == 0 ? took : std::min(least, took);
      if (best > 0 && least > 2 * best)
        break;
    }
    return least;
  }

  std::span<const TuningSite> sites;
  Gpu &gpu;
  GpuLauncher &launcher;
  Rank &rank;
  CUevent begin, end;
  int failures = 0;
  std::string firstFailure;
};

std::string joined(const std::set<std::string> &keys) {
  std::string text;
  for (const std::string &key : keys)
    text += key + '\n';
  return text;
}

} // namespace

void tune(std::span<const TuningSite> sites, const std::string &file, Gpu &gpu, GpuLauncher &launcher, Rank &rank,
          Communicator *all) {
  Tuner tuner(sites, gpu, launcher, rank);
  const size_t me = all ? static_cast<size_t>(all->index()) : 0;
  Choices choices;
  std::istringstream first(gather(me == 0 ? textOf(readFile(file)) : "", all).front());
  readChoices(first, choices);
  // A missing choice is measured by the first rank that has the site. Ranks take turns, because two may share a GPU.
  std::vector<std::string> wanted = gather(joined(tuner.missing(choices)), all);
  std::set<std::string> taken, mine;
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::istringstream lines(wanted[i]);
    for (std::string key; std::getline(lines, key);)
      if (taken.insert(key).second && i == me)
        mine.insert(key);
  }
  Choices measured;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i == me)
      measured = tuner.measure(mine);
    if (all)
      all->barrier();
  }
  for (const std::string &text : gather(textOf(measured), all)) {
    std::istringstream lines(text);
    readChoices(lines, choices);
  }
  // No rank keeps what the others do not.
  for (const TuningSite &site : sites)
    if (auto known = choices.find(tuner.keyOf(site)); known != choices.end() && !tuner.choose(site, known->second))
      failWith(Status::Device, "rank ", rank.abi.rank,
               ": what was chosen on another rank is none of the ways here: ", tuner.keyOf(site));
  if (me == 0 && !taken.empty()) {
    writeWhole(file, std::string(kTitle) + '\n' + textOf(choices));
    std::cerr << "note: measured " << taken.size() << (taken.size() == 1 ? " operation" : " operations") << " into "
              << file << std::endl;
  }
}

} // namespace dtcc::rt::cuda
