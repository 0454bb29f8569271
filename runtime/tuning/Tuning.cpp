//===- Tuning.cpp - Ways of commands by measurement ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/tuning/Tuning.h"

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

namespace dtcc::rt {
namespace {

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

std::string joined(const std::set<std::string> &problems) {
  std::string text;
  for (const std::string &problem : problems)
    text += problem + '\n';
  return text;
}

std::set<std::string> split(const std::string &text) {
  std::set<std::string> problems;
  std::istringstream lines(text);
  for (std::string problem; std::getline(lines, problem);)
    problems.insert(problem);
  return problems;
}

/// The problems that any rank names.
std::set<std::string> onAnyRank(const std::set<std::string> &mine, Communicator *all) {
  std::set<std::string> any;
  for (const std::string &text : gather(joined(mine), all))
    any.merge(split(text));
  return any;
}

class Tuner {
public:
  Tuner(std::span<Tunable *const> sites, int64_t rank) : sites(sites), rank(rank) {}

  /// Takes the choices that are known. Returns the problems that have none, or one that is not possible here.
  std::set<std::string> missing(const Choices &choices) {
    std::set<std::string> problems;
    for (Tunable *site : sites)
      if (auto known = choices.find(site->problem()); known == choices.end() || !site->choose(known->second))
        problems.insert(site->problem());
    return problems;
  }
  Choices measure(const std::set<std::string> &problems) {
    Choices choices;
    for (Tunable *site : sites)
      if (std::string problem = site->problem(); problems.count(problem) && !choices.count(problem))
        if (std::optional<Choice> best = fastest(*site))
          choices[problem] = *best;
    if (failures)
      std::cerr << "note: rank " << rank << " passed over " << failures
                << (failures == 1 ? " algorithm that failed: " : " algorithms that failed, the first: ") << firstFailure
                << std::endl;
    return choices;
  }
  /// Back to what is taken without a measurement, for sites without a choice that may have tried another way.
  void reset(const std::set<std::string> &problems, const Choices &choices) {
    for (Tunable *site : sites)
      if (std::string problem = site->problem(); problems.count(problem) && !choices.count(problem))
        if (std::vector<Choice> candidates = site->candidates(); !candidates.empty())
          site->choose(candidates.front());
  }
  /// The choices that concern sites of this rank.
  Choices taken(const Choices &choices) const {
    Choices mine;
    for (Tunable *site : sites)
      if (auto known = choices.find(site->problem()); known != choices.end())
        mine.insert(*known);
    return mine;
  }

private:
  std::optional<Choice> fastest(Tunable &site) {
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<Choice> candidates = site.candidates();
    if (candidates.size() == 1)
      return candidates.front();
    std::vector<double> least(candidates.size(), never);
    std::vector<bool> out(candidates.size());
    double best = never;
    for (int pass = 0; pass < site.passes(); ++pass)
      for (size_t i = 0; i < candidates.size(); ++i) {
        out[i] = out[i] || (pass > 0 && least[i] > 2 * best);
        if (out[i])
          continue;
        try {
          if (site.choose(candidates[i]))
            least[i] = std::min(least[i], site.seconds(best == never ? 0 : best));
          else
            out[i] = true;
        } catch (const Error &error) {
          // Some algorithms of a heuristic turn out to be none when they are run.
          out[i] = true, least[i] = never;
          if (failures++ == 0)
            firstFailure = error.what();
        }
        best = std::min(best, least[i]);
      }
    // min_element returns the first of several equal times.
    auto fastest = std::min_element(least.begin(), least.end());
    if (fastest == least.end() || *fastest == never)
      return std::nullopt;
    const bool clear = *fastest * (1 + site.margin()) < least.front();
    return candidates[clear ? static_cast<size_t>(fastest - least.begin()) : 0];
  }

  std::span<Tunable *const> sites;
  int64_t rank;
  int failures = 0;
  std::string firstFailure;
};

/// The choices that the first rank knows before it measures.
Choices knownChoices(const TuningRequest &request) {
  Choices choices;
  if (!request.file.empty())
    choices = readChoicesFile(request.file);
  Choices given;
  if (readChoices(request.given, given)) {
    std::cerr << "note: the choices of the checkpoint are of another version, and are left out" << std::endl;
    return choices;
  }
  given.merge(choices);
  return given;
}

/// The problems that each measures: the first rank that misses one.
std::vector<std::set<std::string>> shared(const std::vector<std::string> &missing) {
  std::vector<std::set<std::string>> shares;
  std::set<std::string> taken;
  for (const std::string &text : missing) {
    shares.emplace_back();
    for (const std::string &problem : split(text))
      if (taken.insert(problem).second)
        shares.back().insert(problem);
  }
  return shares;
}

} // namespace

std::string wordOfFirst(const std::string &mine, Communicator *all) {
  return gather(!all || all->index() == 0 ? mine : "", all).front();
}

std::string tune(std::span<Tunable *const> sites, const TuningRequest &request, Communicator *all, int64_t rank) {
  Tuner tuner(sites, rank);
  const size_t me = all ? static_cast<size_t>(all->index()) : 0;
  Choices choices;
  readChoices(wordOfFirst(me == 0 ? textOf(knownChoices(request)) : "", all), choices);
  const std::set<std::string> mine = tuner.missing(choices);
  const std::vector<std::set<std::string>> shares = shared(gather(joined(mine), all));
  size_t missing = 0;
  for (const std::set<std::string> &share : shares)
    missing += share.size();
  // A choice that is not possible on one rank is measured anew by that rank, or dropped by all.
  for (const std::set<std::string> &share : shares)
    for (const std::string &problem : share)
      choices.erase(problem);
  if (!request.file.empty()) {
    // Ranks take turns, because two may share a GPU, or the cores of a machine.
    Choices measured;
    for (size_t i = 0; i < shares.size(); ++i) {
      if (i == me)
        measured = tuner.measure(shares[me]);
      if (all)
        all->barrier();
    }
    for (const std::string &text : gather(textOf(measured), all))
      readChoices(text, choices);
  }
  // No rank keeps what another cannot take.
  std::set<std::string> refused, tried;
  for (Tunable *site : sites) {
    tried.insert(site->problem());
    if (auto known = choices.find(site->problem()); known != choices.end() && !site->choose(known->second))
      refused.insert(site->problem());
  }
  refused = onAnyRank(refused, all);
  for (const std::string &problem : refused)
    choices.erase(problem);
  if (missing > 0 || !refused.empty())
    tuner.reset(tried, choices);
  if (me == 0 && !refused.empty())
    std::cerr << "note: " << refused.size()
              << (refused.size() == 1 ? " choice is not possible on all ranks, and is taken by none: "
                                      : " choices are not possible on all ranks, and are taken by none, the first: ")
              << *refused.begin() << std::endl;
  if (me == 0 && missing > 0 && !request.file.empty()) {
    writeChoicesFile(request.file, choices);
    std::cerr << "note: measured " << missing << (missing == 1 ? " operation" : " operations") << " into "
              << request.file << std::endl;
  } else if (me == 0 && missing > 0) {
    std::cerr << "note: the checkpoint has no choice that is possible here for " << missing
              << (missing == 1 ? " operation: it is" : " operations: they are")
              << " computed as without --tune, and may round otherwise than before" << std::endl;
  }
  Choices used;
  for (const std::string &text : gather(textOf(tuner.taken(choices)), all))
    readChoices(text, used);
  return textOf(used);
}

} // namespace dtcc::rt
