//===- Group.cpp - Members of an emulated communicator
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/nccl/Group.h"
#include <algorithm>
#include <chrono>

namespace dtcc::emulator {

/// How long a member waits for another to call at all.
constexpr std::chrono::seconds kPatience(300);

std::string Part::text() const {
  static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "message"};
  static const char *const elements[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64"};
  static const char *const folds[] = {"sum", "product", "max", "min", "mean"};
  std::string text = std::string(kinds[int(kind)]) + " of " + std::to_string(count) + " x " + elements[int(element)];
  if (kind == Kind::AllReduce || kind == Kind::ReduceScatter)
    text += std::string(" (") + folds[int(fold)] + ")";
  return kind == Kind::Broadcast ? text + " from " + std::to_string(root) : text;
}

bool fits(const Part &one, const Part &other) {
  return one.kind == other.kind && one.count == other.count && one.element == other.element && one.fold == other.fold &&
         one.root == other.root;
}

std::string mismatch(int size, int member, const Part &part, int other, const Part &theirs) {
  return "member " + std::to_string(member) + " of " + std::to_string(size) + " calls " + part.text() +
         " where member " + std::to_string(other) + " calls " + theirs.text();
}

void Group::add(Meeting &meeting, int member, std::unique_ptr<Part> part) {
  if (meeting.parts.empty()) {
    meeting.parts.resize(size_t(size));
    meeting.streams.resize(size_t(size));
    meeting.positions.resize(size_t(size));
    meeting.arrived.resize(size_t(size));
  }
  for (int other = 0; other < size; ++other)
    if (const Part *theirs = meeting.parts[size_t(other)].get(); theirs && !fits(*part, *theirs)) {
      broken = true;
      throw CallError{5, mismatch(size, member, *part, other, *theirs)};
    }
  meeting.parts[size_t(member)] = std::move(part);
}

bool Group::isComplete(const Meeting &meeting) const {
  size_t wanted = 0, here = 0;
  for (size_t i = 0; i < meeting.parts.size(); ++i) {
    wanted += meeting.parts[i] && meeting.parts[i]->kind == Kind::Message ? 0 : 1;
    here += meeting.arrived[i];
  }
  return wanted == meeting.parts.size() ? here == wanted : here == 2;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// The members' cells, folded in the order of members: in double, or as integers.
template <class T> T foldCells(const std::vector<T> &cells, Fold fold) {
  T sum = cells[0];
  for (size_t i = 1; i < cells.size(); ++i)
    switch (fold) {
    case Fold::Sum:
    case Fold::Mean:
      sum = T(sum + cells[i]);
      break;
    case Fold::Product:
      sum = T(sum * cells[i]);
      break;
    case Fold::Max:
      sum = std::max(sum, cells[i]);
      break;
    case Fold::Min:
      sum = std::min(sum, cells[i]);
      break;
    }
  return fold == Fold::Mean ? T(sum / T(cells.size())) : sum;
}

template <class T>
void foldIntegers(const std::vector<const char *> &ins, char *out, uint64_t first, uint64_t count, Fold fold) {
  std::vector<T> cells(ins.size());
  for (uint64_t i = 0; i < count; ++i) {
    for (size_t member = 0; member < ins.size(); ++member)
      cells[member] = cellAs<T>(ins[member] + (first + i) * sizeof(T));
    T sum = foldCells(cells, fold);
    std::memcpy(out + i * sizeof(T), &sum, sizeof sum);
  }
}

/// Cells [first, first + count) of all members to the start of out.
void foldInto(const std::vector<const char *> &ins, char *out, uint64_t first, uint64_t count, Element element,
              Fold fold) {
  switch (element) {
  case Element::I8:
    return foldIntegers<int8_t>(ins, out, first, count, fold);
  case Element::U8:
    return foldIntegers<uint8_t>(ins, out, first, count, fold);
  case Element::I32:
    return foldIntegers<int32_t>(ins, out, first, count, fold);
  case Element::U32:
    return foldIntegers<uint32_t>(ins, out, first, count, fold);
  case Element::I64:
    return foldIntegers<int64_t>(ins, out, first, count, fold);
  case Element::U64:
    return foldIntegers<uint64_t>(ins, out, first, count, fold);
  default:
    break;
  }
  std::vector<double> cells(ins.size());
  for (uint64_t i = 0; i < count; ++i) {
    for (size_t member = 0; member < ins.size(); ++member)
      cells[member] = loadFloat(ins[member], int64_t(first + i), element);
    storeFloat(out, int64_t(i), element, foldCells(cells, fold));
  }
}
} // namespace

void perform(Meeting &meeting) {
  std::vector<const char *> ins;
  std::vector<Part *> parts;
  for (const auto &part : meeting.parts)
    if (part) {
      parts.push_back(part.get());
      ins.push_back(part->in);
    }
  const Part &like = *parts[0];
  uint64_t bytes = like.count * bytesOf(like.element);
  if (bytes == 0)
    return;
  // Results are made apart: they may lie over what others still read.
  std::vector<std::vector<char>> results;
  for (size_t member = 0; member < parts.size(); ++member) {
    std::vector<char> &made = results.emplace_back();
    switch (like.kind) {
    case Kind::AllReduce:
      made.resize(bytes);
      if (member == 0)
        foldInto(ins, made.data(), 0, like.count, like.element, like.fold);
      else
        made = results[0];
      break;
    case Kind::ReduceScatter:
      made.resize(bytes);
      foldInto(ins, made.data(), member * like.count, like.count, like.element, like.fold);
      break;
    case Kind::AllGather:
      for (const char *in : ins)
        made.insert(made.end(), in, in + bytes);
      break;
    case Kind::Broadcast:
      made.assign(ins[size_t(like.root)], ins[size_t(like.root)] + bytes);
      break;
    case Kind::Message:
      for (const char *in : ins)
        if (in)
          made.assign(in, in + bytes);
      break;
    }
  }
  for (size_t member = 0; member < parts.size(); ++member)
    if (parts[member]->out)
      std::memcpy(parts[member]->out, results[member].data(), results[member].size());
}

namespace {

/// Meetings in which streams wait now. Used under the lock.
std::map<Stream *, const Meeting *> &attended() {
  static auto *all = new std::map<Stream *, const Meeting *>;
  return *all;
}

/// Streams of which the first work waits for the other's, under the lock.
std::map<Stream *, Stream *> &behind() {
  static auto *all = new std::map<Stream *, Stream *>;
  return *all;
}

/// For which others a thread still waits on the host, under the lock: a rank is one thread.
using Threads = std::vector<std::thread::id>;
std::map<std::thread::id, std::function<Threads()>> &hosts() {
  static auto *all = new std::map<std::thread::id, std::function<Threads()>>;
  return *all;
}
bool hostWaitsFor(std::thread::id one, std::thread::id other, std::set<std::thread::id> &seen) {
  if (auto at = hosts().find(one); at != hosts().end() && seen.insert(one).second)
    for (std::thread::id next : at->second())
      if (next == other || hostWaitsFor(next, other, seen))
        return true;
  return false;
}

/// Whether `meeting` waits, over whatever others, for a stream that waits in it.
bool waitsFor(const Meeting &meeting, const Stream *stream, std::set<const Meeting *> &seen) {
  if (!seen.insert(&meeting).second || meeting.done)
    return false;
  for (size_t member = 0; member < meeting.parts.size(); ++member) {
    Stream *other = meeting.streams[member];
    if (!meeting.parts[member] || meeting.arrived[member] || !other)
      continue;
    for (auto at = behind().find(other); at != behind().end() && other != stream; at = behind().find(other))
      other = at->second;
    auto in = attended().find(other);
    if (other == stream || (in != attended().end() && waitsFor(*in->second, stream, seen)))
      return true;
  }
  return false;
}

/// As long as a stream waits in a meeting.
struct Attendance {
  Attendance(Stream *stream, const Meeting &meeting) : stream(stream) { attended()[stream] = &meeting; }
  ~Attendance() { attended().erase(stream); }
  Attendance(const Attendance &) = delete;
  Stream *stream;
};

} // namespace

void keepOrder(Emulation &emulation, Lock &lock, const Last &last, Stream &stream) {
  Stream *before = last.stream;
  if (!before || before == &stream || stream.device->streams.count(before) == 0 || before->done >= last.position)
    return;
  emulation.enqueueHeld(lock, stream, [&emulation, &stream, before, position = last.position](Lock &held) {
    struct Behind {
      Behind(Stream *stream, Stream *before) : stream(stream) { behind()[stream] = before; }
      ~Behind() { behind().erase(stream); }
      Behind(const Behind &) = delete;
      Stream *stream;
    } here(&stream, before);
    emulation.force(held, *before, position);
  });
}

void connect(Emulation &emulation, Lock &lock, Group &group, const Meeting &meeting, int me, Link link) {
  if (!group.connected.insert({me, link}).second)
    return;
  const std::thread::id mine = std::this_thread::get_id();
  auto missing = [&] {
    Threads threads;
    for (int member = 0; member < group.size; ++member)
      if (!meeting.parts[size_t(member)] && (link.first < 0 || member == link.first || member == link.second))
        threads.push_back(group.threads[size_t(member)]);
    return threads;
  };
  struct Wait {
    ~Wait() { hosts().erase(mine); }
    std::thread::id mine;
  } wait{mine};
  auto patience = std::chrono::steady_clock::now() + kPatience;
  while (!missing().empty() && !group.aborted && !group.broken && !group.devices[size_t(me)]->error) {
    hosts()[mine] = missing;
    std::set<std::thread::id> seen;
    if (hostWaitsFor(mine, mine, seen) || emulation.changed.wait_until(lock, patience) == std::cv_status::timeout) {
      group.broken = true;
      emulation.changed.notify_all();
      throw CallError{kLaunchFailed, "hosts wait for each other: the first " + meeting.parts[size_t(me)]->text() +
                                         " of member " + std::to_string(me) + " of " + std::to_string(group.size) +
                                         " waits for a call of those that it is exchanged with"};
    }
  }
}

void attend(Emulation &emulation, Lock &lock, Group &group, Meeting &meeting, int me) {
  Stream *mine = meeting.streams[size_t(me)];
  Attendance here(mine, meeting);
  auto patience = std::chrono::steady_clock::now() + kPatience;
  while (!meeting.done) {
    if (group.isComplete(meeting)) {
      perform(meeting);
      meeting.done = true;
      emulation.changed.notify_all();
      return;
    }
    // As a kernel of NCCL, which ends when it is told to.
    if (group.aborted)
      return;
    if (group.broken)
      throw CallError{kLaunchFailed, "members of a communicator do not agree"};
    for (const Device *device : group.devices)
      if (device && device->error)
        throw CallError{kLaunchFailed, "another member of a communicator has failed"};
    if (std::set<const Meeting *> seen; waitsFor(meeting, mine, seen)) {
      group.broken = true;
      emulation.changed.notify_all();
      throw CallError{kLaunchFailed, "streams wait for each other: member " + std::to_string(me) + " of " +
                                         std::to_string(group.size) + " waits in " + meeting.parts[size_t(me)]->text() +
                                         ", and who does not come waits for what stands behind it"};
    }
    bool moved = false;
    for (size_t member = 0; member < meeting.parts.size() && !moved && !meeting.done; ++member) {
      Stream *stream = meeting.streams[member];
      if (!meeting.parts[member] || meeting.arrived[member] || !stream)
        continue;
      if (stream->owner == std::thread::id() || stream->owner == std::this_thread::get_id()) {
        emulation.force(lock, *stream, meeting.positions[member]);
        moved = true;
      }
    }
    if (!moved && !meeting.done && emulation.changed.wait_until(lock, patience) == std::cv_status::timeout)
      throw CallError{kLaunchFailed, "a member of a communicator of " + std::to_string(group.size) +
                                         " waits in vain for the others' calls"};
  }
}

} // namespace dtcc::emulator
