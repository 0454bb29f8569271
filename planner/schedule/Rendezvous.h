//===- Rendezvous.h - Programs that wait for each other, run side by side
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulation behind rule V10: each stage of a pipeline runs in the order of its own program,
// messages wait as the runtime's do, and collectives wait for all their members. A message has
// only one receiver, so the end does not depend on which stage goes first: one simulation
// decides for all orders.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SCHEDULE_RENDEZVOUS_H
#define DTCC_PLANNER_SCHEDULE_RENDEZVOUS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace dtcc::plan {

/// A command by which a stage exchanges something with other stages.
struct StageExchange {
  enum Kind { Send, Receive, Collective } kind = Send;
  /// The other stage of a message.
  int64_t peer = 0;
  /// Stages that take part in a collective, ascending.
  std::vector<int64_t> members;
  /// Messages of one channel between two stages arrive in order; others do not wait for them. Of a
  /// collective: its group, in which all members issue the same ones in one order.
  std::string channel;
  /// Must be the same for all who take part: type and kind of what is exchanged.
  std::string what;
  /// Number of such messages that may be under way, for a send; at least 1.
  int64_t room = 1;
  /// "in backward 2".
  std::string where;
  /// "to send to stage 1 on channel 0".
  std::string str() const;
};

class Rendezvous {
public:
  explicit Rendezvous(int64_t stages) : waiting(stages) {}

  /// Before the run: as many more messages of the channel of `send`, by stage `from`, may be on their way as it
  /// has room for (as Communicator::reserveSend of the runtime). A send waits while all are.
  void reserve(int64_t from, const StageExchange &send) { room[linkOf(from, send)] += send.room; }

  /// Runs all stages. `next` runs a stage to its next exchange, nothing at its end. `pass` is called when
  /// one takes place, with the stages for which it does. Fails if `next` does; gives what is wrong,
  /// empty if all end and every message is received.
  llvm::FailureOr<std::string>
  run(llvm::function_ref<llvm::FailureOr<std::optional<StageExchange>>(int64_t stage)> next,
      llvm::function_ref<void(llvm::ArrayRef<int64_t> stages)> pass);

private:
  /// From, to, channel.
  using Link = std::tuple<int64_t, int64_t, std::string>;
  static Link linkOf(int64_t stage, const StageExchange &exchange) {
    return exchange.kind == StageExchange::Send ? Link{stage, exchange.peer, exchange.channel}
                                                : Link{exchange.peer, stage, exchange.channel};
  }
  /// The stages for which the exchange of `stage` takes place now; empty if it waits, or something is wrong.
  std::vector<int64_t> ready(int64_t stage, std::string &wrong);
  std::string describeEnd() const;

  std::vector<std::optional<StageExchange>> waiting;
  std::map<Link, size_t> room;
  /// Messages under way.
  std::map<Link, std::deque<std::string>> messages;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SCHEDULE_RENDEZVOUS_H
