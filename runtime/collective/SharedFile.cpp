//===- SharedFile.cpp - Memory that the processes of one job share -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The socket's name is in Linux's abstract namespace, which vanishes with the socket.
// Only processes of the same user are served or believed.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/SharedFile.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// Sparse: an upper limit of offsets, not of memory.
constexpr off_t fileBytes = off_t(1) << 60;

/// Offset of the bytes that processes lock. No memory is mapped there.
constexpr off_t locksBegin = off_t(1) << 59;

/// Time limit for processes to find each other. They look every few milliseconds.
class Deadline {
public:
  Deadline(const std::string &name, int seconds, bool (*interrupted)())
      : name(name), seconds(seconds), interrupted(interrupted),
        end(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {}
  /// Whether there is time left; throws when the process shall end.
  bool goesOn() const {
    if (interrupted && interrupted())
      failWith(Status::Interrupted, "interrupted while the processes of job '", name, "' meet");
    return std::chrono::steady_clock::now() < end;
  }
  std::string text() const { return message("within ", seconds, " s"); }

private:
  const std::string &name;
  int seconds;
  bool (*interrupted)();
  std::chrono::steady_clock::time_point end;
};

[[noreturn]] void failJob(const std::string &name, const std::string &why) {
  fail("the processes of job '", name, "' cannot meet: ", why);
}

socklen_t fillAddress(sockaddr_un &address, const std::string &name) {
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool sameUser(int connection) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/// A message of one byte that carries a file descriptor.
struct FileMessage {
  FileMessage() {
    part = {&byte, 1};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  char byte = 0;
  iovec part{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

bool sendFile(int connection, int file) {
  FileMessage message;
  cmsghdr *first = CMSG_FIRSTHDR(&message.header);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(first), &file, sizeof(int));
  return sendmsg(connection, &message.header, MSG_NOSIGNAL) == 1;
}

int receiveFile(int connection) {
  FileMessage message;
  int file = -1;
  if (recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) != 1)
    return -1;
  cmsghdr *first = CMSG_FIRSTHDR(&message.header);
  if (first && first->cmsg_type == SCM_RIGHTS)
    std::memcpy(&file, CMSG_DATA(first), sizeof(int));
  return file;
}

void serve(const std::string &name, int listener, int file, int64_t others, const Deadline &deadline) {
  for (int64_t served = 0; served < others;) {
    pollfd waiting{listener, POLLIN, 0};
    if (poll(&waiting, 1, /*milliseconds=*/50) <= 0) {
      if (!deadline.goesOn())
        failJob(name, message("only ", served + 1, " of ", others + 1, " came ", deadline.text()));
      continue;
    }
    int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0)
      continue;
    served += sameUser(connection) && sendFile(connection, file) ? 1 : 0;
    close(connection);
  }
}

} // namespace

SharedFile::SharedFile(const std::string &name, int64_t process, int64_t processes, int seconds,
                       bool (*interrupted)()) {
  Deadline deadline(name, seconds, interrupted);
  sockaddr_un address;
  socklen_t length = fillAddress(address, name);
  int channel = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (channel < 0)
    failJob(name, std::strerror(errno));
  if (process == 0) {
    file = memfd_create("dtcc", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, fileBytes) != 0 ||
        bind(channel, reinterpret_cast<sockaddr *>(&address), length) != 0 || listen(channel, 128) != 0)
      failJob(name, std::strerror(errno));
    serve(name, channel, file, processes - 1, deadline);
  } else {
    while (connect(channel, reinterpret_cast<sockaddr *>(&address), length) != 0) {
      if (!deadline.goesOn())
        failJob(name, "process 0 did not come " + deadline.text());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (!sameUser(channel) || (file = receiveFile(channel)) < 0)
      failJob(name, "process 0 gave no memory");
  }
  close(channel);
}

SharedFile::~SharedFile() { close(file); }

void *SharedFile::map(uint64_t offset, size_t bytes, size_t alignment) const {
  // An aligned part of a larger reservation, whose rest is given back.
  size_t reserved = bytes + alignment - 4096;
  auto *start =
      static_cast<std::byte *>(mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (start != MAP_FAILED) {
    size_t before = (alignment - reinterpret_cast<uintptr_t>(start) % alignment) % alignment;
    if (before > 0)
      munmap(start, before);
    if (reserved > before + bytes)
      munmap(start + before + bytes, reserved - before - bytes);
    void *address =
        mmap(start + before, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset));
    if (address != MAP_FAILED)
      return address;
    munmap(start + before, bytes);
  }
  failWith(Status::Memory, "cannot map ", bytes, " bytes of shared memory: ", std::strerror(errno));
}

/// A write lock of one byte, behind all that is mapped.
static struct flock lockAt(off_t place) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

void SharedFile::lock(uint64_t place) const {
  struct flock wanted = lockAt(locksBegin + static_cast<off_t>(place));
  if (fcntl(file, F_SETLK, &wanted) != 0)
    fail("cannot lock a byte of the job's memory: ", std::strerror(errno));
}

bool SharedFile::isLocked(uint64_t place) const {
  struct flock found = lockAt(locksBegin + static_cast<off_t>(place));
  return fcntl(file, F_GETLK, &found) != 0 || found.l_type != F_UNLCK;
}

void SharedFile::unmap(void *address, size_t bytes) { munmap(address, bytes); }

} // namespace dtcc::rt
