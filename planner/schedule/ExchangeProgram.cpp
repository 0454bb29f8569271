//===- ExchangeProgram.cpp - What the step of a stage exchanges with others
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/ExchangeProgram.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace dtcc::plan {

namespace {
/// From, to.
using Direction = std::pair<int64_t, int64_t>;
Direction directionOf(int64_t stage, const StageExchange &message) {
  return message.kind == StageExchange::Send ? Direction{stage, message.peer} : Direction{message.peer, stage};
}

/// The channels of all messages of a step, as they are sent and as they are received.
struct Orders {
  std::vector<std::string> sent, received;

  bool agreeOn(llvm::ArrayRef<std::string> channels) const {
    auto isOne = [&](const std::string &channel) { return llvm::is_contained(channels, channel); };
    return llvm::equal(llvm::make_filter_range(sent, isOne), llvm::make_filter_range(received, isOne));
  }
  /// For each channel the number of the merged channel that it becomes part of.
  std::map<std::string, size_t> merge() const {
    std::vector<std::vector<std::string>> groups;
    std::map<std::string, size_t> numbers;
    for (const std::vector<std::string> *all : {&sent, &received})
      for (const std::string &channel : *all) {
        auto [at, isNew] = numbers.try_emplace(channel, 0);
        if (!isNew)
          continue;
        size_t &number = at->second;
        for (; number < groups.size(); ++number) {
          groups[number].push_back(channel);
          if (agreeOn(groups[number]))
            break;
          groups[number].pop_back();
        }
        if (number == groups.size())
          groups.push_back({channel});
      }
    return numbers;
  }
};

/// A place in the step of a stage.
struct Cursor {
  size_t run = 0, exchange = 0;

  /// The exchange that comes next; null at the end.
  const StageExchange *find(const ExchangeProgram &program) {
    for (; run < program.runs.size(); ++run, exchange = 0)
      if (const auto &exchanges = program.phases[program.runs[run].first].exchanges; exchange < exchanges.size())
        return &exchanges[exchange];
    return nullptr;
  }
};

/// Runs all; at the end the cursors stand behind what each stage waits in.
std::string simulate(llvm::ArrayRef<ExchangeProgram> programs, std::vector<Cursor> &cursors,
                     std::vector<bool> &waitsToSend) {
  Rendezvous rendezvous(programs.size());
  for (size_t stage = 0; stage < programs.size(); ++stage) {
    llvm::SmallDenseSet<size_t> ran(llvm::from_range, llvm::make_first_range(programs[stage].runs));
    for (const auto &[number, phase] : llvm::enumerate(programs[stage].phases))
      for (const StageExchange &exchange : phase.exchanges)
        if (exchange.kind == StageExchange::Send && ran.contains(number))
          rendezvous.reserve(stage, exchange);
  }
  cursors.assign(programs.size(), {});
  waitsToSend.assign(programs.size(), false);
  auto next = [&](int64_t stage) -> llvm::FailureOr<std::optional<StageExchange>> {
    const ExchangeProgram &program = programs[stage];
    const StageExchange *found = cursors[stage].find(program);
    waitsToSend[stage] = found && found->kind == StageExchange::Send;
    if (!found)
      return std::optional<StageExchange>();
    StageExchange exchange = *found;
    auto [phase, slot] = program.runs[cursors[stage].run];
    exchange.where = "in " + program.phases[phase].name + " " + std::to_string(slot);
    ++cursors[stage].exchange;
    return std::optional(std::move(exchange));
  };
  return *rendezvous.run(next, [](llvm::ArrayRef<int64_t>) {});
}
} // namespace

std::string checkExchanges(llvm::ArrayRef<ExchangeProgram> programs) {
  std::vector<Cursor> cursors;
  std::vector<bool> waitsToSend;
  return simulate(programs, cursors, waitsToSend);
}

void mergeChannels(llvm::MutableArrayRef<ExchangeProgram> programs) {
  std::map<Direction, Orders> orders;
  for (const auto &[stage, program] : llvm::enumerate(programs))
    for (auto [phase, slot] : program.runs)
      for (const StageExchange &exchange : program.phases[phase].exchanges)
        if (exchange.kind != StageExchange::Collective) {
          Orders &order = orders[directionOf(stage, exchange)];
          (exchange.kind == StageExchange::Send ? order.sent : order.received).push_back(exchange.channel);
        }
  std::map<Direction, std::map<std::string, size_t>> numbers;
  for (const auto &[direction, order] : orders)
    numbers[direction] = order.merge();
  for (const auto &[stage, program] : llvm::enumerate(programs))
    for (ExchangeProgram::Phase &phase : program.phases)
      for (StageExchange &exchange : phase.exchanges)
        if (exchange.kind != StageExchange::Collective) {
          // A phase that no run names has numbers of its own.
          std::map<std::string, size_t> &known = numbers[directionOf(stage, exchange)];
          exchange.channel = std::to_string(known.try_emplace(exchange.channel, known.size()).first->second);
        }
}

/// Reserves room for the runs of training alone, or of evaluation: messages of the other give them no room on a
/// channel.
static void reserveExchanges(llvm::MutableArrayRef<ExchangeProgram> programs, bool evaluates) {
  std::vector<ExchangeProgram> part(programs.begin(), programs.end());
  for (ExchangeProgram &program : part)
    llvm::erase_if(program.runs, [&](const auto &run) { return program.phases[run.first].evaluates != evaluates; });
  std::vector<Cursor> cursors;
  std::vector<bool> waitsToSend;
  // Ends: no send waits where there is room for a message of every micro-batch.
  for (bool more = true; more;) {
    more = false;
    if (simulate(part, cursors, waitsToSend).empty())
      return;
    for (size_t stage = 0; stage < part.size(); ++stage) {
      if (!waitsToSend[stage])
        continue;
      const Cursor &at = cursors[stage];
      const size_t phase = part[stage].runs[at.run].first;
      for (ExchangeProgram *program : {&part[stage], &programs[stage]})
        ++program->phases[phase].exchanges[at.exchange - 1].room;
      more = true;
    }
  }
}

void reserveExchanges(llvm::MutableArrayRef<ExchangeProgram> programs) {
  reserveExchanges(programs, /*evaluates=*/false);
  reserveExchanges(programs, /*evaluates=*/true);
}

} // namespace dtcc::plan
