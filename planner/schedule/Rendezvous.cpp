//===- Rendezvous.cpp - Programs that wait for each other, run side by side
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/Rendezvous.h"
#include <algorithm>

namespace dtcc::plan {

static std::string stageName(int64_t stage) { return "stage " + std::to_string(stage); }

std::string StageExchange::str() const {
  if (kind == Collective)
    return "for the others of group " + channel;
  return (kind == Send ? "to send to " : "for a message of ") + stageName(peer) + " on channel " + channel;
}

std::vector<int64_t> Rendezvous::ready(int64_t stage, std::string &wrong) {
  const StageExchange &exchange = *waiting[stage];
  Link link = linkOf(stage, exchange);
  switch (exchange.kind) {
  case StageExchange::Send: {
    std::deque<std::string> &sent = messages[link];
    if (sent.size() >= std::max<size_t>(1, room[link]))
      return {};
    sent.push_back(exchange.what);
    return {stage};
  }
  case StageExchange::Receive: {
    std::deque<std::string> &sent = messages[link];
    if (sent.empty())
      return {};
    if (sent.front() != exchange.what)
      wrong = stageName(stage) + " receives " + exchange.what + " " + exchange.where + ", but " +
              stageName(exchange.peer) + " sends " + sent.front() + " on channel " + exchange.channel;
    sent.pop_front();
    return {stage};
  }
  case StageExchange::Collective:
    for (int64_t member : exchange.members) {
      const std::optional<StageExchange> &other = waiting[member];
      if (!other || other->kind != StageExchange::Collective || other->channel != exchange.channel)
        return {};
      if (other->what != exchange.what || other->members != exchange.members)
        wrong = "members of group " + exchange.channel + " issue different collectives: " + stageName(stage) + " " +
                exchange.what + " " + exchange.where + ", " + stageName(member) + " " + other->what + " " +
                other->where;
    }
    return exchange.members;
  }
  return {};
}

/// Describes the stages and messages that are left when no stage can go on; empty if all have ended.
std::string Rendezvous::describeEnd() const {
  std::string stuck;
  for (size_t stage = 0; stage < waiting.size(); ++stage)
    if (waiting[stage])
      stuck += (stuck.empty() ? "" : ", ") + stageName(stage) + " waits " + waiting[stage]->where + " " +
               waiting[stage]->str();
  if (!stuck.empty())
    return "the step never ends: " + stuck;
  for (const auto &[link, sent] : messages)
    if (!sent.empty())
      return stageName(std::get<1>(link)) + " never receives " + sent.front() + ", which " +
             stageName(std::get<0>(link)) + " sends on channel " + std::get<2>(link);
  return "";
}

llvm::FailureOr<std::string>
Rendezvous::run(llvm::function_ref<llvm::FailureOr<std::optional<StageExchange>>(int64_t)> next,
                llvm::function_ref<void(llvm::ArrayRef<int64_t>)> pass) {
  auto advance = [&](int64_t stage) {
    llvm::FailureOr<std::optional<StageExchange>> exchange = next(stage);
    if (llvm::failed(exchange))
      return llvm::failure();
    waiting[stage] = std::move(*exchange);
    return llvm::success();
  };
  int64_t stages = waiting.size();
  for (int64_t stage = 0; stage < stages; ++stage)
    if (llvm::failed(advance(stage)))
      return llvm::failure();
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t stage = 0; stage < stages; ++stage) {
      if (!waiting[stage])
        continue;
      std::string wrong;
      std::vector<int64_t> who = ready(stage, wrong);
      if (!wrong.empty())
        return wrong;
      if (who.empty())
        continue;
      pass(who);
      for (int64_t member : who)
        if (llvm::failed(advance(member)))
          return llvm::failure();
      progress = true;
    }
  }
  return describeEnd();
}

} // namespace dtcc::plan
