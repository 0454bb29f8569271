//===- Remote.cpp - A communicator over several processes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file is unlinked when all have joined. Its memory is sparse: each call's data have a
// place of their own, which is given back when all have read them.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/nccl/Remote.h"
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtcc::emulator {

namespace {
constexpr int kMostMembers = 16, kMostEntries = 1024;
constexpr off_t kDataBegin = off_t(1) << 30, kDataBytes = off_t(1) << 33;
/// How long a member waits for another.
constexpr std::chrono::seconds kPatience(300);
/// How often it looks.
constexpr std::chrono::microseconds kPause(200);

off_t dataOf(int entry, int member) { return kDataBegin + (off_t(entry) * kMostMembers + member) * kDataBytes; }

/// A wait without the lock, in which the other threads of this process go on.
void pauseWithout(Emulation &emulation, Lock &lock) { emulation.changed.wait_for(lock, kPause); }
} // namespace

/// A call that some have shown and not all have finished.
struct Remote::Entry {
  bool used;
  int from, to;
  uint64_t number;
  int finished;
  struct Side {
    bool shown, arrived;
    Kind kind;
    uint64_t count;
    Element element;
    Fold fold;
    int root;
    uint64_t bytes; ///< of its data

    Part part() const { return {kind, count, element, fold, root}; }
  } sides[kMostMembers];
};

struct Remote::Memory {
  std::atomic<int> state; ///< 0: being made; 1: the mutex can be used
  pthread_mutex_t mutex;
  int size, joined;
  bool broken;
  struct {
    int process, device;
    bool here;
  } members[kMostMembers];
  Entry entries[kMostEntries];
};

/// The mutex, also of a process that was killed with it. One that was stopped with it holds up nobody but those who
/// need it, until they are aborted.
class Remote::Guard {
public:
  Guard(Memory &memory, Lock &lock, const std::atomic<bool> &aborted) : memory(memory) {
    int error;
    while ((error = pthread_mutex_trylock(&memory.mutex)) == EBUSY) {
      if (aborted)
        throw CallError{kLaunchFailed, "a communicator that was aborted"};
      pauseWithout(Emulation::get(), lock);
    }
    if (error == EOWNERDEAD)
      pthread_mutex_consistent(&memory.mutex);
  }
  ~Guard() { pthread_mutex_unlock(&memory.mutex); }
  Guard(const Guard &) = delete;

private:
  Memory &memory;
};

Remote::Remote(Lock &lock, uint64_t id, int size, int me, int device) : size(size), me(me) {
  if (size > kMostMembers)
    throw CallError{kInvalidValue, "the emulator's communicators have 16 members at most"};
  name = "/dtcc-emulated-nccl-" + std::to_string(id);
  file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  off_t bytes = dataOf(kMostEntries, 0);
  void *mapped = MAP_FAILED;
  if (file >= 0 && ftruncate(file, bytes) == 0)
    mapped = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    throw CallError{kOutOfMemory, "the emulator cannot share memory between processes"};
  memory = static_cast<Memory *>(mapped);
  // Locks of a file are of a process: the first to have it makes the mutex.
  struct flock whole{};
  whole.l_type = F_WRLCK;
  while (fcntl(file, F_OFD_SETLKW, &whole) != 0)
    ;
  if (memory->state == 0) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&memory->mutex, &attributes);
    memory->size = size;
    memory->state = 1;
  }
  whole.l_type = F_UNLCK;
  fcntl(file, F_OFD_SETLK, &whole);
  {
    Guard guard(*memory, lock, aborted);
    if (memory->size != size || memory->members[me].here)
      throw CallError{4, "member " + std::to_string(me) + " of " + std::to_string(size) + " joins a communicator of " +
                             std::to_string(memory->size)};
    memory->members[me] = {getpid(), device, true};
    ++memory->joined;
  }
  auto patience = std::chrono::steady_clock::now() + kPatience;
  for (bool all = false; !all;) {
    {
      Guard guard(*memory, lock, aborted);
      all = memory->joined == size;
    }
    if (std::chrono::steady_clock::now() > patience)
      throw CallError{kLaunchFailed, "members of a communicator of " + std::to_string(size) + " do not come"};
    if (!all)
      pauseWithout(Emulation::get(), lock);
  }
  shm_unlink(name.c_str());
}

Remote::~Remote() {
  munmap(memory, sizeof(Memory));
  close(file);
}

bool Remote::hasOthers() const {
  for (int member = 0; member < size; ++member)
    if (memory->members[member].process != getpid())
      return true;
  return false;
}

int Remote::deviceOf(int member) const { return memory->members[member].device; }

int Remote::show(Lock &lock, int from, int to, uint64_t number, const Part &part) {
  Guard guard(*memory, lock, aborted);
  int free = -1, found = -1;
  for (int i = 0; i < kMostEntries && found < 0; ++i) {
    const Entry &entry = memory->entries[i];
    if (!entry.used)
      free = free < 0 ? i : free;
    else if (entry.from == from && entry.to == to && entry.number == number)
      found = i;
  }
  if (found < 0 && free < 0)
    throw CallError{kLaunchFailed, "a member is too many calls ahead of another"};
  Entry &entry = memory->entries[found < 0 ? free : found];
  if (found < 0) {
    entry = Entry{};
    entry.used = true;
    entry.from = from;
    entry.to = to;
    entry.number = number;
  }
  for (int other = 0; other < size; ++other)
    if (entry.sides[other].shown && !fits(part, entry.sides[other].part())) {
      memory->broken = true;
      throw CallError{5, mismatch(size, me, part, other, entry.sides[other].part())};
    }
  entry.sides[me] = {true, false, part.kind, part.count, part.element, part.fold, part.root, 0};
  return int(&entry - memory->entries);
}

void Remote::place(int entry, Stream &stream, uint64_t position) {
  pending.push_back({entry, &stream, position, false});
}

void Remote::arrive(Lock &lock, int number, const Part &part) {
  pending.remove_if([&](const Pending &one) { return one.entry == number; });
  Entry &entry = memory->entries[number];
  uint64_t cells = part.kind == Kind::ReduceScatter ? part.count * uint64_t(size) : part.count;
  uint64_t bytes = part.in ? cells * bytesOf(part.element) : 0;
  for (uint64_t at = 0; at < bytes;) {
    ssize_t wrote = pwrite(file, part.in + at, bytes - at, dataOf(number, me) + off_t(at));
    if (wrote <= 0)
      throw CallError{kOutOfMemory, "the emulator has no memory left for a collective"};
    at += uint64_t(wrote);
  }
  Guard guard(*memory, lock, aborted);
  entry.sides[me].bytes = bytes;
  entry.sides[me].arrived = true;
}

bool Remote::isReady(const Entry &entry) const {
  for (int member = 0; member < size; ++member)
    if ((entry.from < 0 || member == entry.from || member == entry.to) && !entry.sides[member].arrived)
      return false;
  return true;
}

void Remote::attend(Emulation &emulation, Lock &lock, int number, const Part &part) {
  Entry &entry = memory->entries[number];
  auto patience = std::chrono::steady_clock::now() + kPatience;
  for (bool ready = false; !ready;) {
    // As a kernel of NCCL, which ends when it is told to.
    if (aborted)
      return;
    {
      Guard guard(*memory, lock, aborted);
      ready = isReady(entry);
      if (!ready && memory->broken)
        throw CallError{kLaunchFailed, "members of a communicator do not agree"};
    }
    if (ready)
      break;
    if (std::chrono::steady_clock::now() > patience)
      throw CallError{kLaunchFailed, "member " + std::to_string(me) + " of " + std::to_string(size) + " waits in " +
                                         part.text() + " in vain for the others"};
    pauseWithout(emulation, lock);
  }
  Meeting meeting;
  std::vector<std::vector<char>> data(static_cast<size_t>(size));
  for (int member = 0; member < size; ++member) {
    const Entry::Side &side = entry.sides[member];
    if (!side.shown) {
      meeting.parts.push_back(nullptr);
      continue;
    }
    std::vector<char> &bytes = data[size_t(member)];
    bytes.resize(side.bytes);
    for (uint64_t at = 0; at < side.bytes;) {
      ssize_t got = pread(file, bytes.data() + at, side.bytes - at, dataOf(number, member) + off_t(at));
      if (got <= 0)
        throw CallError{kLaunchFailed, "the emulator lost data of a collective"};
      at += uint64_t(got);
    }
    auto &made = meeting.parts.emplace_back(std::make_unique<Part>(side.part()));
    made->in = bytes.empty() ? nullptr : bytes.data();
    made->out = member == me ? part.out : nullptr;
  }
  perform(meeting);
  Guard guard(*memory, lock, aborted);
  if (++entry.finished == (entry.from < 0 ? size : 2)) {
    for (int member = 0; member < size; ++member)
      if (entry.sides[member].bytes > 0)
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, dataOf(number, member),
                  off_t((entry.sides[member].bytes + 4095) / 4096 * 4096));
    entry.used = false;
  }
}

void Remote::serve(Emulation &emulation, Lock &lock) {
  if (aborted)
    return;
  Guard guard(*memory, lock, aborted);
  for (Pending &one : pending) {
    bool awaited = false;
    for (int member = 0; member < size; ++member)
      awaited |= member != me && memory->entries[one.entry].sides[member].arrived;
    if (!awaited || one.served)
      continue;
    one.served = true;
    std::thread([&emulation, stream = one.stream, position = one.position] {
      Lock held = emulation.hold();
      currentDevice = stream->device;
      emulation.force(held, *stream, position);
    }).detach();
  }
}

} // namespace dtcc::emulator
