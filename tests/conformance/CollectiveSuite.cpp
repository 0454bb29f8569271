//===- CollectiveSuite.cpp - What every collective backend must do -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/CollectiveSuite.h"

#include "runtime/core/Error.h"
#include "runtime/core/HalfFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dtcc::rt::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Element `i` of member `member`'s input: floats of mixed signs and magnitudes, whose
/// sum depends on the order, so that another order is noticed; or whole ones, whose sum even halves hold.
double element(int64_t member, int64_t i, Sums sums) {
  uint64_t mixed = (static_cast<uint64_t>(i) * 31 + static_cast<uint64_t>(member) + 1) * 0x9e3779b97f4a7c15u;
  double unit = static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53 - 0.5;
  return sums == Sums::InOrder ? unit * static_cast<double>(1 << (i % 13)) : std::floor(unit * 60);
}

void store(dtcc_dtype type, std::byte *to, double value) {
  auto put = [&](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (type) {
  case DTCC_F32:
    return put(static_cast<float>(value));
  case DTCC_F64:
    return put(value);
  case DTCC_BF16:
    return put(toBF16(static_cast<float>(value)));
  case DTCC_F16:
    return put(toF16(static_cast<float>(value)));
  case DTCC_I64:
    return put(static_cast<int64_t>(value * 1000));
  case DTCC_I32:
    return put(static_cast<int32_t>(value * 1000));
  case DTCC_I16:
    return put(static_cast<int16_t>(value));
  case DTCC_I8:
    return put(static_cast<int8_t>(static_cast<int>(value) % 100));
  case DTCC_BOOL:
    return put(static_cast<uint8_t>(value > 0));
  }
}

Bytes inputOf(int64_t member, dtcc_dtype type, int64_t count, Sums sums = Sums::InOrder) {
  int64_t width = dtcc_dtype_size(type);
  Bytes bytes(static_cast<size_t>(count * width));
  for (int64_t i = 0; i < count; ++i)
    store(type, bytes.data() + i * width, element(member, i, sums));
  return bytes;
}

/// The definition of a reduction, one element at a time.
template <typename T, typename Sum, typename Load, typename Store>
void reduceAs(const std::vector<Bytes> &inputs, Bytes &out, dtcc_reduction reduction, Load load, Store store) {
  for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
    auto at = [&](const Bytes &bytes) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      return static_cast<Sum>(load(value));
    };
    Sum sum = at(inputs[0]);
    for (size_t m = 1; m < inputs.size(); ++m) {
      Sum next = at(inputs[m]);
      sum = reduction == DTCC_SUM   ? static_cast<Sum>(sum + next)
            : reduction == DTCC_MAX ? std::max(sum, next)
                                    : std::min(sum, next);
    }
    T result = store(sum);
    std::memcpy(out.data() + i * sizeof(T), &result, sizeof(T));
  }
}

Bytes reduced(int64_t members, dtcc_dtype type, dtcc_reduction reduction, int64_t count, Sums sums = Sums::InOrder) {
  std::vector<Bytes> inputs;
  for (int64_t m = 0; m < members; ++m)
    inputs.push_back(inputOf(m, type, count, sums));
  Bytes out(inputs[0].size());
  auto same = [](auto value) { return value; };
  switch (type) {
  case DTCC_F32:
    reduceAs<float, float>(inputs, out, reduction, same, same);
    break;
  case DTCC_F64:
    reduceAs<double, double>(inputs, out, reduction, same, same);
    break;
  case DTCC_BF16:
    reduceAs<uint16_t, float>(inputs, out, reduction, fromBF16, toBF16);
    break;
  case DTCC_F16:
    reduceAs<uint16_t, float>(inputs, out, reduction, fromF16, toF16);
    break;
  case DTCC_I64:
    reduceAs<int64_t, int64_t>(inputs, out, reduction, same, same);
    break;
  case DTCC_I32:
    reduceAs<int32_t, int32_t>(inputs, out, reduction, same, same);
    break;
  case DTCC_I16:
    reduceAs<int16_t, int16_t>(inputs, out, reduction, same, same);
    break;
  case DTCC_I8:
    reduceAs<int8_t, int8_t>(inputs, out, reduction, same, same);
    break;
  case DTCC_BOOL:
    reduceAs<uint8_t, uint8_t>(inputs, out, reduction == DTCC_SUM ? DTCC_MAX : reduction, same, same);
    break;
  }
  return out;
}

/// Compares, and names the first difference.
std::string differ(const Bytes &got, const Bytes &want, const std::string &what) {
  for (size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      return message(what, ": byte ", i, " of ", want.size(), " is ", int(got[i]), ", expected ", int(want[i]));
  return "";
}

Bytes part(const Bytes &bytes, int64_t index, int64_t parts) {
  size_t length = bytes.size() / static_cast<size_t>(parts);
  auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(index) * length);
  return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

std::string checkSize(Communicator &group, dtcc_dtype type, int64_t count, Sums sums) {
  int64_t n = group.size(), me = group.index(), width = dtcc_dtype_size(type);
  auto bytes = [&](int64_t elements) { return Bytes(static_cast<size_t>(elements * width)); };
  std::string where = message(" of ", count, " elements of type ", int(type), " on ", n, " ranks"), wrong;
  auto note = [&](const std::string &found) {
    if (wrong.empty())
      wrong = found;
  };
  for (dtcc_reduction reduction : {DTCC_SUM, DTCC_MAX, DTCC_MIN}) {
    if (type == DTCC_I16 && sums == Sums::AnyOrder)
      break;
    std::string how = message(" (reduction ", int(reduction), ")", where);
    Bytes in = inputOf(me, type, count, sums), out = bytes(count), want = reduced(n, type, reduction, count, sums);
    group.allReduce(in.data(), out.data(), count, type, reduction);
    note(differ(out, want, "all_reduce" + how));
    group.allReduce(in.data(), in.data(), count, type, reduction);
    note(differ(in, want, "all_reduce in place" + how));

    in = inputOf(me, type, count * n, sums);
    out = bytes(count);
    want = part(reduced(n, type, reduction, count * n, sums), me, n);
    group.reduceScatter(in.data(), out.data(), count, type, reduction);
    note(differ(out, want, "reduce_scatter" + how));
    std::byte *mine = in.data() + me * count * width;
    group.reduceScatter(in.data(), mine, count, type, reduction);
    note(differ(part(in, me, n), want, "reduce_scatter in place" + how));
  }
  Bytes in = inputOf(me, type, count, sums), all = bytes(count * n), want;
  for (int64_t m = 0; m < n; ++m) {
    Bytes theirs = inputOf(m, type, count, sums);
    want.insert(want.end(), theirs.begin(), theirs.end());
  }
  group.allGather(in.data(), all.data(), count, type);
  note(differ(all, want, "all_gather" + where));
  std::fill(all.begin(), all.end(), std::byte(0));
  std::copy(in.begin(), in.end(), all.begin() + static_cast<std::ptrdiff_t>(me * count * width));
  group.allGather(all.data() + me * count * width, all.data(), count, type);
  note(differ(all, want, "all_gather in place" + where));

  in = inputOf(me, type, count * n, sums);
  all = bytes(count * n);
  want.clear();
  for (int64_t m = 0; m < n; ++m) {
    Bytes theirs = part(inputOf(m, type, count * n, sums), me, n);
    want.insert(want.end(), theirs.begin(), theirs.end());
  }
  group.allToAll(in.data(), all.data(), count, type);
  note(differ(all, want, "all_to_all" + where));

  in = inputOf(me, type, count, sums);
  Bytes out = bytes(count);
  group.broadcast(in.data(), out.data(), count, type);
  note(differ(out, inputOf(0, type, count, sums), "broadcast" + where));
  group.broadcast(in.data(), in.data(), count, type);
  note(differ(in, inputOf(0, type, count, sums), "broadcast in place" + where));
  return wrong;
}

} // namespace

std::string checkCollectives(Communicator &group, Sums sums) {
  // Around the limits of the algorithms: one element, fewer than members, a cache
  // line, the small path's 8 KiB, several chunks with a rest.
  std::string wrong;
  for (int64_t count : {1, 3, 1000, 2049, 20001}) {
    for (int type = DTCC_F32; type <= DTCC_BOOL; ++type) {
      std::string found = checkSize(group, static_cast<dtcc_dtype>(type), count, sums);
      if (wrong.empty())
        wrong = found;
    }
    group.barrier();
  }
  return wrong;
}

std::string checkLarge(Communicator &group, Sums sums) { return checkSize(group, DTCC_F32, 600001, sums); }

std::string checkAllocated(Transport &transport, Communicator &group) {
  int64_t n = group.size(), me = group.index(), count = 40007, most = count * n + 16;
  std::vector<std::vector<float>> own;
  auto allocate = [&] {
    auto *given = reinterpret_cast<float *>(transport.allocate(static_cast<uint64_t>(most * 4)));
    return given ? given : own.emplace_back(static_cast<size_t>(most)).data();
  };
  own.reserve(3);
  float *in = allocate(), *out = allocate();
  float *elsewhere = own.emplace_back(static_cast<size_t>(most)).data();
  auto load = [&](float *to, int64_t elements, int64_t member) {
    Bytes bytes = inputOf(member, DTCC_F32, elements);
    std::memcpy(to, bytes.data(), bytes.size());
  };
  std::string wrong;
  auto expect = [&](const float *got, const Bytes &want, const char *what) {
    Bytes bytes(want.size());
    std::memcpy(bytes.data(), got, bytes.size());
    if (wrong.empty())
      wrong = differ(bytes, want, std::string(what) + " in allocated memory");
  };
  // Inside the memory, not at its beginning; then with one member's result elsewhere.
  for (float *to : {out + 3, me == n - 1 ? elsewhere : out}) {
    load(in + 5, count, me);
    group.allReduce(in + 5, to, count, DTCC_F32, DTCC_SUM);
    expect(to, reduced(n, DTCC_F32, DTCC_SUM, count), "all_reduce");
    group.allReduce(in + 5, in + 5, count, DTCC_F32, DTCC_MAX);
    expect(in + 5, reduced(n, DTCC_F32, DTCC_MAX, count), "all_reduce in place");
  }
  for (float *from : {in, me == n - 1 ? elsewhere : in}) {
    load(from, count * n, me);
    group.reduceScatter(from, out, count, DTCC_F32, DTCC_SUM);
    expect(out, part(reduced(n, DTCC_F32, DTCC_SUM, count * n), me, n), "reduce_scatter");
    load(from, count, me);
    group.allGather(from, out, count, DTCC_F32);
    for (int64_t member = 0; member < n; ++member)
      expect(out + member * count, inputOf(member, DTCC_F32, count), "all_gather");
    group.broadcast(from, out, count, DTCC_F32);
    expect(out, inputOf(0, DTCC_F32, count), "broadcast");
  }
  return wrong;
}

std::string checkMessages(Communicator &group) {
  int64_t next = (group.index() + 1) % group.size(), previous = (group.index() + group.size() - 1) % group.size();
  if (group.size() == 1)
    return "";
  for (int64_t i = 0; i < 3; ++i)
    group.reserveSend(next, 4096);
  std::string wrong;
  for (int64_t round = 0; round < 20; ++round) {
    int64_t length = round % 5 * 1000 + 8;
    length = std::min<int64_t>(length, 4096);
    std::vector<int8_t> out(static_cast<size_t>(length)), in(out.size());
    for (int64_t burst = 0; burst < 3; ++burst) {
      std::fill(out.begin(), out.end(), static_cast<int8_t>(group.index() * 60 + round + burst));
      group.send(out.data(), length, next);
    }
    for (int64_t burst = 0; burst < 3; ++burst) {
      group.receive(in.data(), length, previous);
      auto want = static_cast<int8_t>(previous * 60 + round + burst);
      for (int8_t value : in)
        if (value != want && wrong.empty())
          wrong = message("message ", burst, " of round ", round, ": got ", int(value), ", expected ", int(want));
    }
  }
  return wrong;
}

std::string checkShifts(Communicator &group) {
  group.reserveShifts();
  group.reserveShifts();
  std::string wrong;
  // Lengths of no byte, of less than a message, and of several messages with a rest.
  for (int64_t length : {0, 1, 4096, 300000, 1 << 20, (1 << 20) + 17}) {
    std::vector<uint8_t> out(static_cast<size_t>(length)), in(out.size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(group.index()) * 31);
    group.shift(out.data(), in.data(), length);
    auto before = static_cast<size_t>((group.index() + group.size() - 1) % group.size());
    for (size_t i = 0; i < in.size(); ++i)
      if (auto want = static_cast<uint8_t>(i * 7 + before * 31); in[i] != want && wrong.empty())
        wrong = message("byte ", i, " of a shift of ", length, ": got ", int(in[i]), ", expected ", int(want));
  }
  return wrong;
}

std::string checkGroups(Transport &transport, int64_t rank, int64_t rows, int64_t columns) {
  std::vector<int64_t> row, column;
  for (int64_t c = 0; c < columns; ++c)
    row.push_back(rank / columns * columns + c);
  for (int64_t r = 0; r < rows; ++r)
    column.push_back(r * columns + rank % columns);
  auto rowGroup = transport.group("row", row, rank), columnGroup = transport.group("column", column, rank);
  std::vector<int64_t> value(5000, int64_t(1) << (8 * rank)), sum(5000);
  rowGroup->allReduce(value.data(), sum.data(), 5000, DTCC_I64, DTCC_SUM);
  columnGroup->allReduce(sum.data(), sum.data(), 5000, DTCC_I64, DTCC_SUM);
  int64_t want = 0;
  for (int64_t r = 0; r < rows * columns; ++r)
    want += int64_t(1) << (8 * r);
  return sum[4999] == want ? "" : message("row and column sums: got ", sum[4999], ", expected ", want);
}

} // namespace dtcc::rt::test
