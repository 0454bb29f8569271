//===- PeerMemory.cpp - Memory that other processes can reach - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file's part of a process begins at partsBegin + process * partBytes: places that
// nobody touches take no memory. A table a process says which segments its part has.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/PeerMemory.h"

#include "runtime/core/Error.h"

#include <atomic>

namespace dtcc::rt {
namespace {

constexpr uint64_t unit = uint64_t(2) << 20; /* a huge page */
constexpr uint64_t tablesBegin = uint64_t(1) << 46;
constexpr uint64_t partsBegin = uint64_t(1) << 47;
constexpr uint64_t partBytes = uint64_t(1) << 42;
constexpr uint32_t mostSegments = 100;

} // namespace

struct PeerMemory::Table {
  std::atomic<uint32_t> count;
  uint64_t bytes[mostSegments]; /* multiples of `unit`, one after the other */
};

PeerMemory::PeerMemory(const SharedFile &file, int64_t process, int64_t processes)
    : file(file), me(process), tableBytes((sizeof(Table) + 4095) / 4096 * 4096),
      segments(static_cast<size_t>(processes)) {
  tables = static_cast<std::byte *>(file.map(tablesBegin, static_cast<uint64_t>(processes) * tableBytes));
}

PeerMemory::~PeerMemory() {
  for (const std::vector<Segment> &mapped : segments)
    for (const Segment &segment : mapped)
      SharedFile::unmap(segment.address, segment.bytes);
  SharedFile::unmap(tables, segments.size() * tableBytes);
}

PeerMemory::Table &PeerMemory::table(int64_t process) {
  return *reinterpret_cast<Table *>(tables + static_cast<uint64_t>(process) * tableBytes);
}

std::byte *PeerMemory::allocate(uint64_t bytes) {
  std::lock_guard<std::mutex> guard(lock);
  Table &mine = table(me);
  std::vector<Segment> &mapped = segments[static_cast<size_t>(me)];
  auto count = static_cast<uint32_t>(mapped.size());
  uint64_t offset = mapped.empty() ? 0 : mapped.back().offset + mapped.back().bytes;
  uint64_t rounded = (bytes + unit - 1) / unit * unit;
  if (bytes == 0 || count == mostSegments || offset + rounded > partBytes)
    return nullptr;
  void *address = file.map(partsBegin + static_cast<uint64_t>(me) * partBytes + offset, rounded, unit);
  mapped.push_back({static_cast<std::byte *>(address), offset, rounded});
  mine.bytes[count] = rounded;
  mine.count.store(count + 1, std::memory_order_release);
  return mapped.back().address;
}

uint64_t PeerMemory::handle(const void *address) const {
  for (const Segment &segment : segments[static_cast<size_t>(me)]) {
    const auto *byte = static_cast<const std::byte *>(address);
    if (byte >= segment.address && byte < segment.address + segment.bytes)
      return segment.offset + static_cast<uint64_t>(byte - segment.address) + 1;
  }
  return 0;
}

std::byte *PeerMemory::resolve(int64_t process, uint64_t handle) {
  std::lock_guard<std::mutex> guard(lock);
  std::vector<Segment> &mapped = segments[static_cast<size_t>(process)];
  uint64_t at = handle - 1;
  for (const Segment &segment : mapped)
    if (at - segment.offset < segment.bytes)
      return segment.address + (at - segment.offset);
  const Table &theirs = table(process);
  for (uint32_t i = static_cast<uint32_t>(mapped.size()); i < theirs.count.load(std::memory_order_acquire); ++i) {
    uint64_t offset = mapped.empty() ? 0 : mapped.back().offset + mapped.back().bytes;
    void *address = file.map(partsBegin + static_cast<uint64_t>(process) * partBytes + offset, theirs.bytes[i], unit);
    mapped.push_back({static_cast<std::byte *>(address), offset, theirs.bytes[i]});
    if (at - offset < theirs.bytes[i])
      return mapped.back().address + (at - offset);
  }
  fail("process ", process, " named memory that it does not have");
}

} // namespace dtcc::rt
