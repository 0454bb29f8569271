//===- HostNotes.cpp - What the ranks of a host do, as a message -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/HostNotes.h"

#include <cstring>

namespace dtcc::rt {
namespace {

/// A note without its text, whose bytes follow.
struct Head {
  int64_t rank, absent, step;
  uint32_t command, answers;
  uint64_t length;
};

} // namespace

std::vector<std::byte> bytesOf(const std::map<int64_t, Watch::Note> &notes) {
  std::vector<std::byte> bytes;
  auto append = [&](const void *data, size_t count) {
    const auto *from = static_cast<const std::byte *>(data);
    bytes.insert(bytes.end(), from, from + count);
  };
  for (const auto &[rank, note] : notes) {
    Head head{rank, note.absent, note.step, note.command, note.answers, note.text.size()};
    append(&head, sizeof head);
    append(note.text.data(), note.text.size());
  }
  return bytes;
}

void GatheredNotes::add(int64_t from, std::span<const std::byte> answer) {
  answered.insert(from);
  Head head;
  while (answer.size() >= sizeof head) {
    std::memcpy(&head, answer.data(), sizeof head);
    answer = answer.subspan(sizeof head);
    if (head.length > answer.size())
      return;
    Watch::Note note{head.answers != 0,
                     head.absent,
                     {reinterpret_cast<const char *>(answer.data()), head.length},
                     head.step,
                     head.command};
    answer = answer.subspan(head.length);
    if (head.rank != from) {
      ofOthers.insert_or_assign(head.rank, note);
      continue;
    }
    note.answers = true;
    own.insert_or_assign(from, note);
  }
}

std::map<int64_t, Watch::Note> GatheredNotes::notes(std::span<const int64_t> ranks, bool always) const {
  std::map<int64_t, Watch::Note> all;
  for (int64_t rank : ranks) {
    Watch::Note &note = all[rank];
    note.answers = false;
    if (auto found = own.find(rank); found != own.end()) {
      note = found->second;
    } else if (found = ofOthers.find(rank); found != ofOthers.end()) {
      note = found->second;
      note.answers &= !always;
    }
    note.answers |= answered.count(rank) != 0;
  }
  return all;
}

} // namespace dtcc::rt
