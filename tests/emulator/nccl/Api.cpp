//===- Api.cpp - The functions of the emulated NCCL
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of types, reductions and results are those of nccl.h. Members are threads of one
// process (Group.h), or of several of this machine (Remote.h).
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/nccl/Remote.h"
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <tuple>
#include <utility>

using namespace dtcc::emulator;

extern "C" int ncclGroupEnd();

namespace {

constexpr int kDone = 0, kDeviceError = 1, kInvalidArgument = 4, kInvalidUsage = 5;

struct Id {
  char bytes[128];
};

/// Groups that are being made or are there, by the number in their id.
std::map<uint64_t, std::shared_ptr<Group>> &groups() {
  static auto *all = new std::map<uint64_t, std::shared_ptr<Group>>;
  return *all;
}

/// Communicators with members in other processes.
std::set<std::shared_ptr<Remote>> &remotes() {
  static auto *all = new std::set<std::shared_ptr<Remote>>;
  return *all;
}

/// Call of a thread between ncclGroupStart and ncclGroupEnd. It may outlive its communicator, which can end while work
/// of a stopped GPU is still queued.
struct Called {
  Called(const Member &member, Stream &stream)
      : device(member.device), me(member.me), group(member.group), stream(&stream), last(member.last) {}
  Device *device;
  int me;
  std::shared_ptr<Group> group;
  Stream *stream;
  std::shared_ptr<Last> last;
  Link link{-1, -1};
  std::shared_ptr<Meeting> meeting; ///< of one process
  std::shared_ptr<Remote> remote;   ///< of several, and the call's place there
  int entry = -1;
  std::shared_ptr<Part> part;
};
thread_local int depth = 0;
thread_local std::vector<Called> called;
/// Between them, on a stream that is being captured: the calls themselves, to be made again by each launch.
struct CapturedCalls {
  Stream *stream = nullptr;
  std::vector<std::function<int(Stream *)>> calls;
};
thread_local CapturedCalls capturedCalls;
thread_local std::string lastProblem;

template <class Body> int ncclCall(const char *name, Body body) {
  Emulation &emulation = Emulation::get();
  Lock lock = emulation.hold();
  try {
    body(emulation, lock);
    return kDone;
  } catch (const CallError &error) {
    lastProblem = std::string(name) + ": " + error.what;
    std::fprintf(stderr, "emulated NCCL: %s\n", lastProblem.c_str());
    emulation.changed.notify_all();
    return error.code == kInvalidArgument || error.code == kInvalidUsage ? error.code : kDeviceError;
  }
}

Element elementOf(int type) {
  static const Element elements[] = {Element::I8,  Element::U8,  Element::I32, Element::U32, Element::I64,
                                     Element::U64, Element::F16, Element::F32, Element::F64, Element::BF16};
  if (type < 0 || type > 9)
    throw CallError{kInvalidArgument, "a type that the emulator does not know: " + std::to_string(type)};
  return elements[type];
}
Fold foldOf(int reduction) {
  if (reduction < 0 || reduction > 4)
    throw CallError{kInvalidArgument, "a reduction that the emulator does not know: " + std::to_string(reduction)};
  return Fold(reduction); // sum, product, max, min, mean
}

/// As long as a work stands in a queue or runs.
struct Pending {
  explicit Pending(Device &device) : device(device) { ++device.meetings; }
  ~Pending() { --device.meetings; }
  Pending(const Pending &) = delete;
  Device &device;
};

/// Calls of one group are one work of each stream: none of them waits for another.
void enqueueAll(Emulation &emulation, Lock &lock, std::vector<Called> all) {
  std::map<Stream *, std::vector<Called>> byStream;
  for (Called &one : all)
    byStream[one.stream].push_back(one);
  for (const Called &one : all)
    keepOrder(emulation, lock, *one.last, *one.stream);
  for (auto &[stream, calls] : byStream)
    for (const Called &one : calls) {
      *one.last = {stream, stream->issued() + 1};
      if (!one.meeting) {
        one.remote->place(one.entry, *stream, stream->issued() + 1);
        continue;
      }
      one.meeting->streams[size_t(one.me)] = stream;
      one.meeting->positions[size_t(one.me)] = stream->issued() + 1;
    }
  for (auto &[stream, calls] : byStream)
    emulation.enqueueHeld(lock, *stream,
                          [&emulation, calls, pending = std::make_shared<Pending>(*stream->device)](Lock &held) {
                            // The error that stopped a GPU also stops the work behind it.
                            if (int error = calls[0].device->error)
                              throw CallError{error, ""};
                            // Who leaves without a result takes its part with it: its memory may be gone when others
                            // come.
                            struct Leave {
                              ~Leave() {
                                for (const Called &one : calls)
                                  if (one.meeting && !one.meeting->done)
                                    one.meeting->arrived[size_t(one.me)] = false;
                              }
                              const std::vector<Called> &calls;
                            } leave{calls};
                            for (const Called &one : calls)
                              if (one.meeting)
                                one.meeting->arrived[size_t(one.me)] = true;
                              else
                                one.remote->arrive(held, one.entry, *one.part);
                            emulation.changed.notify_all();
                            for (const Called &one : calls)
                              if (one.meeting)
                                attend(emulation, held, *one.group, *one.meeting, one.me);
                              else
                                one.remote->attend(emulation, held, one.entry, *one.part);
                          });
  for (const Called &one : all)
    if (one.meeting)
      connect(emulation, lock, *one.group, *one.meeting, one.me, one.link);
}

void issue(Emulation &emulation, Lock &lock, Called one) {
  if (depth > 0)
    called.push_back(std::move(one));
  else
    enqueueAll(emulation, lock, {std::move(one)});
}

void issueRemote(Emulation &emulation, Lock &lock, Member *member, Stream &stream, int entry,
                 std::shared_ptr<Part> part) {
  Called one(*member, stream);
  one.remote = member->remote, one.entry = entry, one.part = std::move(part);
  issue(emulation, lock, std::move(one));
}

/// Runs what members in other processes wait for, as long as this process lives.
void serveOthers(Emulation &emulation) {
  static bool begun = false;
  if (std::exchange(begun, true))
    return;
  std::thread([&emulation] {
    for (Lock lock = emulation.hold();;) {
      // A copy: others may join and leave while one is served.
      for (const std::shared_ptr<Remote> &remote : std::vector(remotes().begin(), remotes().end()))
        try {
          remote->serve(emulation, lock);
        } catch (const CallError &) {
          // Aborted: there is nobody to serve.
        }
      emulation.changed.wait_for(lock, std::chrono::milliseconds(1));
    }
  }).detach();
}

/// A launch of the graph makes these calls, as one group: numbers of collectives and messages are given then.
void capture(Emulation &emulation, Lock &lock, CapturedCalls all) {
  emulation.issue(lock, *all.stream, [calls = std::move(all.calls)](Lock &held, Stream &onto) {
    held.unlock();
    ++depth;
    int result = kDone;
    for (const auto &call : calls)
      result = std::max(result, call(&onto));
    result = std::max(result, ncclGroupEnd());
    held.lock();
    if (result != kDone)
      throw CallError{kLaunchFailed, "a captured call of NCCL: " + lastProblem};
  });
}

/// Whether the stream is being captured: `call` is then made by launches.
bool isCaptured(void *streamHandle, std::function<int(Stream *)> call) {
  Emulation &emulation = Emulation::get();
  Lock lock = emulation.hold();
  try {
    Stream &stream = emulation.streamOf(streamHandle);
    if (!stream.capture)
      return false;
    if (depth == 0) {
      capture(emulation, lock, {&stream, {std::move(call)}});
    } else {
      capturedCalls.stream = &stream;
      capturedCalls.calls.push_back(std::move(call));
    }
    return true;
  } catch (const CallError &) {
    return false; // the call meets the same error, and says so
  }
}

/// `inCells`, `outCells`: what the member reads and writes, 0 for nothing.
std::unique_ptr<Part> makePart(Emulation &emulation, Stream &stream, Part like, const void *in, uint64_t inCells,
                               void *out, uint64_t outCells, const char *name) {
  uint64_t width = bytesOf(like.element);
  if (inCells)
    like.in = emulation.locate(*stream.device, reinterpret_cast<uint64_t>(in), inCells * width, name);
  if (outCells)
    like.out = emulation.locate(*stream.device, reinterpret_cast<uint64_t>(out), outCells * width, name);
  return std::make_unique<Part>(like);
}

int collective(const char *name, Part like, const void *in, uint64_t inTimes, void *out, uint64_t outTimes,
               Member *member, void *streamHandle, int type, int reduction) {
  if (isCaptured(streamHandle, [=](Stream *onto) {
        return collective(name, like, in, inTimes, out, outTimes, member, onto, type, reduction);
      }))
    return kDone;
  return ncclCall(name, [&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(streamHandle);
    like.element = elementOf(type);
    like.fold = foldOf(reduction);
    Group &group = *member->group;
    if (like.kind == Kind::Broadcast && (like.root < 0 || like.root >= group.size))
      throw CallError{kInvalidArgument, "a root that is no member"};
    if (like.kind == Kind::Broadcast && like.root != member->me)
      inTimes = 0;
    uint64_t number = member->collectives++;
    if (member->remote) {
      std::shared_ptr<Part> part =
          makePart(emulation, stream, like, in, inTimes * like.count, out, outTimes * like.count, name);
      issueRemote(emulation, lock, member, stream, member->remote->show(lock, -1, -1, number, *part), part);
      return;
    }
    std::shared_ptr<Meeting> meeting = group.collectives[number];
    if (!meeting)
      group.collectives[number] = meeting = std::make_shared<Meeting>();
    group.add(*meeting, member->me,
              makePart(emulation, stream, like, in, inTimes * like.count, out, outTimes * like.count, name));
    if (std::count(meeting->parts.begin(), meeting->parts.end(), nullptr) == 0)
      group.collectives.erase(number);
    emulation.changed.notify_all();
    Called one(*member, stream);
    one.meeting = meeting;
    issue(emulation, lock, std::move(one));
  });
}

int message(const char *name, const void *in, void *out, uint64_t count, int type, int peer, Member *member,
            void *streamHandle) {
  if (isCaptured(streamHandle, [=](Stream *onto) { return message(name, in, out, count, type, peer, member, onto); }))
    return kDone;
  return ncclCall(name, [&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(streamHandle);
    Group &group = *member->group;
    if (peer < 0 || peer >= group.size)
      throw CallError{kInvalidArgument, "a peer that is no member: " + std::to_string(peer)};
    Part like{Kind::Message, count, elementOf(type)};
    auto part = makePart(emulation, stream, like, in, in ? count : 0, out, out ? count : 0, name);
    if (peer == member->me) {
      // A message to itself is a copy; both calls stand in one group, the later one makes it.
      auto &own = in ? member->sent : member->received;
      uint64_t number = own[peer]++;
      std::shared_ptr<Meeting> &meeting = group.messages[{peer, peer, number}];
      if (!meeting) {
        meeting = std::make_shared<Meeting>();
        group.add(*meeting, member->me, std::move(part));
        return;
      }
      Part &both = *meeting->parts[size_t(peer)];
      if (both.count != count || both.element != part->element)
        throw CallError{kInvalidUsage, "a message to itself of " + both.text() + " is received as " + part->text()};
      const char *from = in ? part->in : both.in;
      char *to = out ? part->out : both.out;
      uint64_t bytes = count * bytesOf(both.element);
      emulation.enqueue(lock, stream, [from, to, bytes] { std::memmove(to, from, bytes); });
      return;
    }
    bool sends = in != nullptr;
    uint64_t number = (sends ? member->sent : member->received)[peer]++;
    std::tuple key(sends ? member->me : peer, sends ? peer : member->me, number);
    if (member->remote) {
      std::shared_ptr<Part> shown = std::move(part);
      int entry = member->remote->show(lock, std::get<0>(key), std::get<1>(key), number, *shown);
      issueRemote(emulation, lock, member, stream, entry, shown);
      return;
    }
    std::shared_ptr<Meeting> meeting = group.messages[key];
    bool last = meeting != nullptr;
    if (!meeting)
      group.messages[key] = meeting = std::make_shared<Meeting>();
    group.add(*meeting, member->me, std::move(part));
    if (last)
      group.messages.erase(key);
    emulation.changed.notify_all();
    Called one(*member, stream);
    one.meeting = meeting;
    one.link = {std::get<0>(key), std::get<1>(key)};
    issue(emulation, lock, std::move(one));
  });
}
} // namespace

extern "C" {

int ncclGetVersion(int *version) {
  const char *told = std::getenv("DTCC_EMULATED_NCCL_VERSION");
  *version = told ? std::atoi(told) : 23007;
  return kDone;
}
const char *ncclGetErrorString(int error) {
  switch (error) {
  case kDone:
    return "no error";
  case kDeviceError:
    return "unhandled cuda error";
  case kInvalidArgument:
    return "invalid argument";
  case kInvalidUsage:
    return "invalid usage";
  default:
    return "internal error";
  }
}
const char *ncclGetLastError(Member *) { return lastProblem.c_str(); }

int ncclGetUniqueId(Id *id) {
  return ncclCall("ncclGetUniqueId", [&](Emulation &, Lock &) {
    // Unlike those of all other processes of this machine, and of those that had its number before.
    static uint64_t last = uint64_t(std::random_device()()) << 32;
    *id = {};
    ++last;
    std::memcpy(id->bytes, &last, sizeof last);
  });
}

int ncclCommInitRank(Member **made, int size, Id id, int me) {
  return ncclCall("ncclCommInitRank", [&](Emulation &emulation, Lock &lock) {
    Device &device = emulation.current();
    if (depth > 0)
      throw CallError{kInvalidUsage,
                      "the emulator does not join communicators between ncclGroupStart and ncclGroupEnd"};
    uint64_t number;
    std::memcpy(&number, id.bytes, sizeof number);
    if (number == 0)
      throw CallError{kInvalidArgument, "an id that no ncclGetUniqueId gave"};
    if (size < 1 || me < 0 || me >= size)
      throw CallError{kInvalidArgument, "member " + std::to_string(me) + " of " + std::to_string(size)};
    const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    int version = 0;
    ncclGetVersion(&version);
    bool mayShare = version >= 23000 && shares && std::string(shares) == "1";
    auto remote = std::make_shared<Remote>(lock, number, size, me, device.number);
    for (int other = 0; other < size; ++other)
      if (other != me && remote->deviceOf(other) == device.number && !mayShare)
        throw CallError{kInvalidUsage,
                        "members " + std::to_string(me) + " and " + std::to_string(other) + " are on one GPU"};
    if (remote->hasOthers()) {
      auto alone = std::make_shared<Group>();
      alone->size = size;
      alone->devices.push_back(&device);
      *made = new Member{alone, me, &device, 0, {}, {}, remote};
      remotes().insert(remote);
      serveOthers(emulation);
      return;
    }
    std::shared_ptr<Group> &group = groups()[number];
    if (!group) {
      group = std::make_shared<Group>();
      group->size = size;
      group->devices.resize(size_t(std::max(size, 0)));
      group->threads.resize(group->devices.size());
    }
    group->devices[size_t(me)] = &device;
    group->threads[size_t(me)] = std::this_thread::get_id();
    *made = new Member{group, me, &device, 0, {}, {}, nullptr};
  });
}
/// The first fields of ncclConfig_t.
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, clusterSize, fewestBlocks, mostBlocks;
};
int ncclCommInitRankConfig(Member **made, int size, Id id, int me, const Config *config) {
  constexpr int kUndefined = INT_MIN;
  if (config && (config->magic != 0xcafebeef || config->size < 16 ||
                 (config->size >= sizeof(Config) && config->version >= 21700 && config->mostBlocks != kUndefined &&
                  config->mostBlocks <= 0))) {
    std::fprintf(stderr, "emulated NCCL: ncclCommInitRankConfig: not what NCCL_CONFIG_INITIALIZER begins with\n");
    return kInvalidArgument;
  }
  return ncclCommInitRank(made, size, id, me);
}
int ncclCommDestroy(Member *member) {
  return ncclCall("ncclCommDestroy", [&](Emulation &emulation, Lock &lock) {
    // Work that names it is finished first, unless nothing more can be.
    if (!member->device->error)
      emulation.forceAll(lock, *member->device);
    remotes().erase(member->remote);
    delete member;
  });
}
int ncclCommFinalize(Member *) { return kDone; }
/// Ends work under way without a result. Such work may still name the member, which is not freed.
int ncclCommAbort(Member *member) {
  return ncclCall("ncclCommAbort", [&](Emulation &emulation, Lock &) {
    member->group->aborted = true;
    if (member->remote)
      member->remote->abort();
    emulation.changed.notify_all();
  });
}
int ncclCommGetAsyncError(Member *member, int *error) {
  return ncclCall("ncclCommGetAsyncError",
                  [&](Emulation &, Lock &) { *error = member->device->error ? kDeviceError : kDone; });
}
int ncclCommCount(Member *member, int *count) {
  *count = member->group->size;
  return kDone;
}
int ncclCommUserRank(Member *member, int *me) {
  *me = member->me;
  return kDone;
}

int ncclGroupStart() {
  ++depth;
  return kDone;
}
int ncclGroupEnd() {
  return ncclCall("ncclGroupEnd", [](Emulation &emulation, Lock &lock) {
    if (depth == 0)
      throw CallError{kInvalidUsage, "it ends a group that was not begun"};
    if (--depth > 0)
      return;
    enqueueAll(emulation, lock, std::exchange(called, {}));
    if (CapturedCalls all = std::exchange(capturedCalls, {}); all.stream)
      capture(emulation, lock, std::move(all));
  });
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int reduction, Member *member, void *stream) {
  return collective("ncclAllReduce", {Kind::AllReduce, count}, in, 1, out, 1, member, stream, type, reduction);
}
int ncclAllGather(const void *in, void *out, size_t count, int type, Member *member, void *stream) {
  return collective("ncclAllGather", {Kind::AllGather, count}, in, 1, out, uint64_t(member->group->size), member,
                    stream, type, 0);
}
int ncclReduceScatter(const void *in, void *out, size_t count, int type, int reduction, Member *member, void *stream) {
  return collective("ncclReduceScatter", {Kind::ReduceScatter, count}, in, uint64_t(member->group->size), out, 1,
                    member, stream, type, reduction);
}
int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, Member *member, void *stream) {
  Part like{Kind::Broadcast, count};
  like.root = root;
  return collective("ncclBroadcast", like, in, 1, out, 1, member, stream, type, 0);
}
int ncclSend(const void *data, size_t count, int type, int peer, Member *member, void *stream) {
  return message("ncclSend", data, nullptr, count, type, peer, member, stream);
}
int ncclRecv(void *data, size_t count, int type, int peer, Member *member, void *stream) {
  return message("ncclRecv", nullptr, data, count, type, peer, member, stream);
}
}
