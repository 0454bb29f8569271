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

std::string Meeting::str() const {
  if (kind == Collective)
    return "for the others of group " + channel;
  return (kind == Send ? "to send to " : "for a message of ") + stageName(peer) + " on channel " + channel;
}

std::vector<int64_t> Rendezvous::ready(int64_t stage, std::string &wrong) {
  const Meeting &meeting = *waiting[stage];
  Link link = linkOf(stage, meeting);
  switch (meeting.kind) {
  case Meeting::Send: {
    std::deque<std::string> &sent = messages[link];
    if (sent.size() >= std::max<size_t>(1, room[link]))
      return {};
    sent.push_back(meeting.what);
    return {stage};
  }
  case Meeting::Receive: {
    std::deque<std::string> &sent = messages[link];
    if (sent.empty())
      return {};
    if (sent.front() != meeting.what)
      wrong = stageName(stage) + " receives " + meeting.what + " " + meeting.where + ", but " +
              stageName(meeting.peer) + " sends " + sent.front() + " on channel " + meeting.channel;
    sent.pop_front();
    return {stage};
  }
  case Meeting::Collective:
    for (int64_t member : meeting.members) {
      const std::optional<Meeting> &other = waiting[member];
      if (!other || other->kind != Meeting::Collective || other->channel != meeting.channel)
        return {};
      if (other->what != meeting.what || other->members != meeting.members)
        wrong = "members of group " + meeting.channel + " issue different collectives: " + stageName(stage) + " " +
                meeting.what + " " + meeting.where + ", " + stageName(member) + " " + other->what + " " + other->where;
    }
    return meeting.members;
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

llvm::FailureOr<std::string> Rendezvous::run(llvm::function_ref<llvm::FailureOr<std::optional<Meeting>>(int64_t)> next,
                                             llvm::function_ref<void(llvm::ArrayRef<int64_t>)> pass) {
  auto advance = [&](int64_t stage) {
    llvm::FailureOr<std::optional<Meeting>> meeting = next(stage);
    if (llvm::failed(meeting))
      return llvm::failure();
    waiting[stage] = std::move(*meeting);
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
