//===- StepClock.h - When the commands of a step are going to run
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step by its command table and the `seconds` of each row, without a device: what the null
// device (runtime/device/NullDevice.h) and `dtcc-plan cost PROGRAM` say of a program is one
// figure. All ranks of a stage do the same at the same time, so that one stands for them.
//
// Commands of a stream run in order, each behind what it waits for; an action begins when all
// streams of the one before have ended. A send takes its seconds to copy the message and goes
// on, while there is room for one more on its way. The seconds of a receive bring it over.
//
// Where streams overlap, messages come on streams of their own (NcclMessages.h of the runtime
// for GPUs): from when a message was sent and the action before its receiver's began, one
// behind the other on a channel, and behind what earlier actions took there. The receiver
// copies it, which takes it as long as the sender. Elsewhere a message comes when both sides
// are there. Streams that run at the same time do not slow each other here, nor do messages
// that share a link.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_STEPCLOCK_H
#define DTCC_RUNTIME_ABI_STEPCLOCK_H

#include "runtime/abi/dtcc_rt.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace dtcc {

class StepClock {
public:
  /// Sections of a checked image, which outlive the clock.
  struct Tables {
    const dtcc_command *commands;
    const dtcc_wait *waits;
    const int64_t *attributes;
    const dtcc_communicator *communicators;
  };
  /// A command that has run, in seconds from the beginning of the step.
  struct Span {
    uint32_t command, slot;
    double begin, end;
  };
  /// Parts of a stage's time, up to the end of its last command. `waits` is the time spent on messages not sent yet.
  struct Parts {
    double compute = 0, messages = 0, waits = 0;
    std::map<uint32_t, double> collectives; /* by communicator: those beside which nothing is computed */

    double total() const {
      double sum = compute + messages + waits;
      for (const auto &[communicator, seconds] : collectives)
        sum += seconds;
      return sum;
    }
  };

  /// `overlaps`: streams run beside each other; else commands run in the order of the table. `keepsSpans`: false if
  /// only parts and ends are asked for; a step of many micro-batches has millions of spans.
  StepClock(const Tables &tables, size_t stageCount, bool overlaps, bool keepsSpans = true)
      : tables(tables), overlaps(overlaps), keepsSpans(keepsSpans), stages(stageCount) {}

  /// Issues the next command of a stage, in the order in which its rank issues commands.
  void issue(size_t stage, uint32_t command, uint32_t slot);
  void endAction(size_t stage) { stages[stage].log.push_back({kEndOfAction, 0, 0}); }

  /// Runs all that was issued. False if a message is waited for that nobody sends, or room for one.
  bool run();
  /// End of the last command of all stages, in seconds.
  double end() const;
  /// The commands of a stage in the order in which they ran, if they are kept.
  const std::vector<Span> &spans(size_t stage) const { return stages[stage].spans; }
  Parts parts(size_t stage) const;
  /// Parts of the time of the stage that waits least for the others, up to the end of all stages.
  Parts busiest() const;

private:
  static constexpr uint32_t kEndOfAction = std::numeric_limits<uint32_t>::max();
  /// Commands of one slot, one behind the other in the table, or the end of an action.
  struct Issued {
    uint32_t first, count, slot;
  };
  /// A moment counts as compute if anything is computed, else as a collective, else as a message, else as idle.
  enum Kind { Compute, Collective, Message };
  struct Edge {
    double time;
    int change;
    Kind kind;
    uint32_t communicator;
  };
  /// Adds up the parts of a stage's time, some commands after the others.
  struct Count {
    Parts parts;
    /// The end of what was counted.
    double end = 0;
    /// Edges of the spans that are counted, by stream, all of them, and some while they are merged.
    std::vector<std::vector<Edge>> byStream;
    std::vector<Edge> edges, merged;
  };
  /// Messages of a communicator from one stage to another, in order: the seconds of their copies, and when they were
  /// copied and had come over.
  struct Channel {
    std::vector<double> copies, sent, received;
    size_t room = 0;
    /// The last action of the receiver that received here, when it took its last message, and when the one before did.
    size_t action = 0;
    double taken = 0, takenBefore = 0;
  };
  struct Stage {
    std::vector<Issued> log;
    size_t next = 0, action = 0;
    uint32_t ran = 0;                                    /* commands of the next row of the log */
    double beforeBegin = 0, actionBegin = 0, latest = 0; /* of the action before, and of this one */
    std::vector<double> streams;                         /* when each is free */
    std::vector<double> ended;                           /* by command: when it ended last */
    std::map<uint32_t, Channel *> channels;              /* by command that sends or receives */
    std::vector<Span> spans;                             /* if they are not kept, those of this action */
    size_t counted = 0;                                  /* spans whose parts are counted: those of actions before */
    Count count;
  };

  size_t peerStage(const dtcc_command &row) const;
  uint32_t streamOf(const dtcc_command &row) const { return overlaps ? row.stream : 0; }
  bool runNext(Stage &stage);
  /// Counts the spans from `first` on, which begin when all before have ended.
  void add(const std::vector<Span> &spans, size_t first, Count &count) const;
  void finishAction(Stage &stage) const;
  /// When the next message of a channel has come over, which takes `seconds`.
  double arrival(const Channel &channel, const Stage &receiver, double seconds) const;

  Tables tables;
  bool overlaps, keepsSpans;
  std::vector<Stage> stages;
  std::map<std::tuple<uint32_t, size_t, size_t>, Channel> channels; /* by communicator, from, to */
};

/// The stage that a message goes to or comes from. Messages go along the axis of the stages.
inline size_t StepClock::peerStage(const dtcc_command &row) const {
  auto peer = static_cast<uint64_t>(tables.attributes[row.first_attribute]);
  uint64_t members = tables.communicators[row.communicator].members;
  for (size_t stage = 0; members != 0 && stage < 64; ++stage)
    if (members >> stage & 1 && peer-- == 0)
      return stage;
  return static_cast<size_t>(peer);
}

inline void StepClock::issue(size_t stage, uint32_t command, uint32_t slot) {
  std::vector<Issued> &log = stages[stage].log;
  const bool continues = stages[stage].next < log.size() && log.back().first != kEndOfAction &&
                         log.back().slot == slot && log.back().first + log.back().count == command;
  if (continues)
    ++log.back().count;
  else
    log.push_back({command, 1, slot});
  const dtcc_command &row = tables.commands[command];
  if (row.kind != DTCC_SEND && row.kind != DTCC_RECEIVE)
    return;
  Channel *&channel = stages[stage].channels[command];
  if (channel)
    return;
  size_t from = stage, to = peerStage(row);
  if (row.kind == DTCC_RECEIVE)
    std::swap(from, to);
  channel = &channels[{row.communicator, from, to}];
  if (row.kind == DTCC_SEND)
    channel->room += static_cast<size_t>(tables.attributes[row.first_attribute + 1]);
}

inline double StepClock::arrival(const Channel &channel, const Stage &receiver, double seconds) const {
  const size_t next = channel.received.size();
  double begin = std::max({channel.sent[next], receiver.beforeBegin, channel.takenBefore});
  if (next > 0)
    begin = std::max(begin, channel.received.back());
  return begin + seconds;
}

inline void StepClock::finishAction(Stage &stage) const {
  stage.beforeBegin = std::exchange(stage.actionBegin, stage.latest);
  ++stage.action;
  add(stage.spans, stage.counted, stage.count);
  if (!keepsSpans)
    stage.spans.clear();
  stage.counted = stage.spans.size();
}

/// False if it waits for another stage.
inline bool StepClock::runNext(Stage &stage) {
  const auto [first, count, slot] = stage.log[stage.next];
  if (first == kEndOfAction) {
    finishAction(stage);
    ++stage.next;
    return true;
  }
  const uint32_t number = first + stage.ran;
  const dtcc_command &row = tables.commands[number];
  const size_t stream = streamOf(row);
  stage.streams.resize(std::max(stage.streams.size(), stream + 1));
  stage.ended.resize(std::max<size_t>(stage.ended.size(), number + 1));
  double begin = std::max(stage.actionBegin, stage.streams[stream]);
  // A command of an earlier action ended before this action began, so it moves nothing.
  for (uint32_t i = 0; i < row.wait_count; ++i)
    if (uint32_t other = tables.waits[row.first_wait + i].command; other < stage.ended.size())
      begin = std::max(begin, stage.ended[other]);
  if (row.kind == DTCC_SEND) {
    Channel &channel = *stage.channels[number];
    if (channel.sent.size() >= channel.room) {
      size_t freed = channel.sent.size() - channel.room;
      if (freed >= channel.received.size())
        return false;
      begin = std::max(begin, channel.received[freed]);
    }
    channel.copies.push_back(row.seconds);
    channel.sent.push_back(begin + row.seconds);
  }
  double end = begin + row.seconds;
  if (row.kind == DTCC_RECEIVE) {
    Channel &channel = *stage.channels[number];
    size_t next = channel.received.size();
    if (next >= channel.sent.size())
      return false;
    begin = std::max(begin, channel.sent[next]);
    if (std::exchange(channel.action, stage.action) != stage.action)
      channel.takenBefore = channel.taken;
    channel.received.push_back(overlaps ? arrival(channel, stage, row.seconds) : begin + row.seconds);
    end = std::max(begin, channel.received.back()) + (overlaps ? channel.copies[next] : 0);
    channel.taken = end;
  }
  stage.streams[stream] = stage.ended[number] = end;
  stage.latest = std::max(stage.latest, end);
  stage.spans.push_back({number, slot, begin, end});
  if (++stage.ran == count) {
    stage.ran = 0;
    ++stage.next;
  }
  return true;
}

inline bool StepClock::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Stage &stage : stages)
      while (stage.next < stage.log.size() && runNext(stage))
        moved = true;
  }
  return std::all_of(stages.begin(), stages.end(), [](const Stage &stage) { return stage.next == stage.log.size(); });
}

inline double StepClock::end() const {
  double end = 0;
  for (const Stage &stage : stages)
    end = std::max(end, stage.latest);
  return end;
}

inline StepClock::Parts StepClock::busiest() const {
  Parts busiest;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    Parts parts = this->parts(stage);
    parts.waits += end() - parts.total();
    if (stage == 0 || parts.waits < busiest.waits)
      busiest = std::move(parts);
  }
  return busiest;
}

inline StepClock::Parts StepClock::parts(size_t number) const {
  const Stage &stage = stages[number];
  Count count{stage.count.parts, stage.count.end, {}, {}, {}};
  add(stage.spans, stage.counted, count);
  return std::move(count.parts);
}

inline void StepClock::add(const std::vector<Span> &spans, size_t first, Count &count) const {
  // The commands of a stream run one after the other, so their edges are sorted.
  for (std::vector<Edge> &own : count.byStream)
    own.clear();
  for (size_t i = first; i < spans.size(); ++i) {
    const Span &span = spans[i];
    const dtcc_command &row = tables.commands[span.command];
    const size_t stream = streamOf(row);
    count.byStream.resize(std::max(count.byStream.size(), stream + 1));
    Kind kind = row.kind == DTCC_COLLECTIVE                         ? Collective
                : row.kind == DTCC_SEND || row.kind == DTCC_RECEIVE ? Message
                                                                    : Compute;
    if (span.end > span.begin) {
      count.byStream[stream].push_back({span.begin, 1, kind, row.communicator});
      count.byStream[stream].push_back({span.end, -1, kind, row.communicator});
    }
  }
  std::vector<Edge> &edges = count.edges, &merged = count.merged;
  edges.clear();
  for (const std::vector<Edge> &own : count.byStream) {
    merged.resize(edges.size() + own.size());
    std::merge(edges.begin(), edges.end(), own.begin(), own.end(), merged.begin(),
               [](const Edge &a, const Edge &b) { return a.time < b.time; });
    edges.swap(merged);
  }
  Parts &parts = count.parts;
  int running[3] = {};
  std::map<uint32_t, int> groups;
  for (const Edge &edge : edges) {
    double seconds = edge.time - count.end;
    if (running[Compute])
      parts.compute += seconds;
    else if (running[Collective])
      parts.collectives[groups.begin()->first] += seconds;
    else
      (running[Message] ? parts.messages : parts.waits) += seconds;
    count.end = edge.time;
    running[edge.kind] += edge.change;
    if (edge.kind == Collective && (groups[edge.communicator] += edge.change) == 0)
      groups.erase(edge.communicator);
  }
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_STEPCLOCK_H
