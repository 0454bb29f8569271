//===- RowSuite.cpp - Tokens to experts and back, on every backend -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/HalfFloat.h"
#include "tests/conformance/CollectiveSuite.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace dtcc::rt::test {
namespace {

struct Case {
  int64_t tokens, picks, experts, columns;
  /// Every token picks the experts of this member; -1: mixed picks.
  int64_t all = -1;
};

int64_t pickOf(const Case &c, int64_t members, int64_t token, int64_t k) {
  if (c.all >= 0)
    return c.all % members * c.experts + k % c.experts;
  uint64_t mixed = (static_cast<uint64_t>(token) * 7 + static_cast<uint64_t>(k) + 3) * 0x9e3779b97f4a7c15u;
  return static_cast<int64_t>((mixed >> 33) % static_cast<uint64_t>(c.experts * members));
}

float cellOf(int64_t token, int64_t column) {
  return std::sin(static_cast<float>(token * 131 + column)) * static_cast<float>(1 << (column % 7));
}
/// Rows of f32 or bf16.
class Rows {
public:
  Rows(dtcc_dtype type, int64_t rows, int64_t columns)
      : type(type), columns(columns), bytes(static_cast<size_t>(rows * columns * dtcc_dtype_size(type))) {
    // Whatever lay there is gone, or never read.
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        set(row, column, std::numeric_limits<float>::quiet_NaN());
  }
  void *data() { return bytes.data(); }
  /// As it would be read again.
  float rounded(float value) const { return type == DTCC_F32 ? value : fromBF16(toBF16(value)); }
  float get(int64_t row, int64_t column) const {
    if (type == DTCC_F32)
      return load<float>(row, column);
    return fromBF16(load<uint16_t>(row, column));
  }
  void set(int64_t row, int64_t column, float value) {
    if (type == DTCC_F32)
      store(row, column, value);
    else
      store(row, column, toBF16(value));
  }

private:
  template <typename T> T load(int64_t row, int64_t column) const {
    T value;
    std::memcpy(&value, bytes.data() + static_cast<size_t>(row * columns + column) * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void store(int64_t row, int64_t column, T value) {
    std::memcpy(bytes.data() + static_cast<size_t>(row * columns + column) * sizeof(T), &value, sizeof(T));
  }
  dtcc_dtype type;
  int64_t columns;
  std::vector<std::byte> bytes;
};

/// The exchange of a case among `members`, whose picks are of 64 bits.
RowExchange exchangeOf(const Case &c, int64_t members, int64_t room, dtcc_dtype type) {
  RowExchange exchange;
  exchange.members = members;
  exchange.tokens = c.tokens;
  exchange.picks = c.picks;
  exchange.room = room;
  exchange.experts = c.experts;
  exchange.columns = c.columns;
  exchange.type = type;
  return exchange;
}

/// A member's function of a cell. It makes sums over members depend on their order.
float madeOf(float cell, int64_t member) { return cell * (1.1f + 0.37f * static_cast<float>(member * member)); }

std::string checkCase(RowMover &group, const Case &c, dtcc_dtype type) {
  int64_t n = group.size(), me = group.index(), all = n * c.tokens;
  std::string where = message(" of ", c.tokens, " rows of ", c.columns, ", ", c.picks, " picks of ", c.experts,
                              " experts on each of ", n, " ranks", type == DTCC_F32 ? "" : ", of bf16");
  std::vector<int64_t> ids;
  for (int64_t token = 0; token < all; ++token)
    for (int64_t k = 0; k < c.picks; ++k)
      ids.push_back(pickOf(c, n, token, k));
  auto picked = [&](int64_t token, int64_t member) {
    for (int64_t k = 0; k < c.picks; ++k)
      if (pickOf(c, n, token, k) / c.experts == member)
        return true;
    return false;
  };
  const RowExchange exchange = exchangeOf(c, n, 0, type);
  std::string wrong;
  Rows mine(type, c.tokens, c.columns), there(type, all, c.columns), back(type, c.tokens, c.columns);
  for (int64_t token = 0; token < c.tokens; ++token)
    for (int64_t column = 0; column < c.columns; ++column)
      mine.set(token, column, cellOf(me * c.tokens + token, column));

  group.dispatch(exchange, mine.data(), ids.data(), there.data());
  for (int64_t token = 0; token < all; ++token)
    for (int64_t column = 0; column < c.columns; ++column) {
      float want = picked(token, me) ? mine.rounded(cellOf(token, column)) : 0, got = there.get(token, column);
      // And on: the others wait for this one's rows.
      if (!(got == want) && wrong.empty())
        wrong = message("dispatch_rows", where, ": cell ", column, " of row ", token, " is ", got, ", expected ", want);
      there.set(token, column, picked(token, me) ? madeOf(got, me) : std::numeric_limits<float>::quiet_NaN());
    }
  group.combine(exchange, there.data(), ids.data(), back.data());
  for (int64_t token = 0; token < c.tokens; ++token)
    for (int64_t column = 0; column < c.columns; ++column) {
      int64_t place = me * c.tokens + token;
      bool first = true;
      float want = 0, got = back.get(token, column);
      for (int64_t member = 0; member < n; ++member)
        if (picked(place, member)) {
          float made = back.rounded(madeOf(back.rounded(cellOf(place, column)), member));
          want = first ? made : want + made;
          first = false;
        }
      // Added up in f32, rounded once.
      want = back.rounded(want);
      if (!(got == want) && wrong.empty())
        wrong = message("combine_rows", where, ": cell ", column, " of row ", token, " is ", got, ", expected ", want);
    }
  return wrong;
}

/// With a bound: the rows of the first picks of every member come, side by side; what comes back is the sum over the
/// kept picks, those of one member first, and later picks count as zero.
std::string checkPackedCase(RowMover &group, const Case &c, int64_t room, dtcc_dtype type) {
  int64_t n = group.size(), me = group.index(), all = n * c.tokens;
  std::string where =
      message(" of ", c.tokens, " rows of ", c.columns, ", ", c.picks, " picks of ", c.experts, " experts on each of ",
              n, " ranks with room for ", room, type == DTCC_F32 ? "" : ", of bf16");
  std::vector<int64_t> ids, kept(static_cast<size_t>(n)), rowOf;
  // Places of this member's kept picks; the row of every kept pick at its member, or -1.
  std::vector<int64_t> mine;
  for (int64_t place = 0; place < all * c.picks; ++place) {
    int64_t id = pickOf(c, n, place / c.picks, place % c.picks);
    int64_t &count = kept[static_cast<size_t>(id / c.experts)];
    ids.push_back(id);
    rowOf.push_back(count < room ? count : -1);
    if (count < room && id / c.experts == me)
      mine.push_back(place);
    count += count < room;
  }
  const RowExchange exchange = exchangeOf(c, n, room, type);
  Rows own(type, c.tokens, c.columns), packed(type, room, c.columns), back(type, c.tokens, c.columns);
  for (int64_t token = 0; token < c.tokens; ++token)
    for (int64_t column = 0; column < c.columns; ++column)
      own.set(token, column, cellOf(me * c.tokens + token, column));
  std::string wrong;
  group.dispatch(exchange, own.data(), ids.data(), packed.data());
  for (int64_t row = 0; row < room; ++row)
    for (int64_t column = 0; column < c.columns; ++column) {
      bool isKept = row < static_cast<int64_t>(mine.size());
      float want = isKept ? own.rounded(cellOf(mine[static_cast<size_t>(row)] / c.picks, column)) : 0;
      float got = packed.get(row, column);
      if (!(got == want) && wrong.empty())
        wrong = message("dispatch_rows", where, ": cell ", column, " of row ", row, " is ", got, ", expected ", want);
      packed.set(row, column,
                 isKept ? madeOf(got, ids[static_cast<size_t>(mine[static_cast<size_t>(row)])])
                        : std::numeric_limits<float>::quiet_NaN());
    }
  group.combine(exchange, packed.data(), ids.data(), back.data());
  for (int64_t token = 0; token < c.tokens; ++token)
    for (int64_t column = 0; column < c.columns; ++column) {
      float want = 0, got = back.get(token, column), cell = own.rounded(cellOf(me * c.tokens + token, column));
      bool first = true;
      for (int64_t member = 0; member < n; ++member) {
        float sum = 0;
        bool any = false;
        for (int64_t k = 0; k < c.picks; ++k) {
          auto place = static_cast<size_t>((me * c.tokens + token) * c.picks + k);
          if (ids[place] / c.experts != member || rowOf[place] < 0)
            continue;
          const float made = own.rounded(madeOf(cell, ids[place]));
          sum = any ? sum + made : made;
          any = true;
        }
        // A member's rows are rounded once, and their sum once more.
        sum = own.rounded(sum);
        if (any)
          want = first ? sum : want + sum;
        first &= !any;
      }
      want = own.rounded(want);
      if (!(got == want) && wrong.empty())
        wrong = message("combine_rows", where, ": cell ", column, " of row ", token, " is ", got, ", expected ", want);
    }
  return wrong;
}

class HostRows final : public RowMover {
public:
  explicit HostRows(Communicator &group) : group(group) {}
  int64_t size() const override { return group.size(); }
  int64_t index() const override { return group.index(); }
  void dispatch(const RowExchange &exchange, const void *in, const void *ids, void *out) override {
    dispatchRows(group, exchange, in, ids, out, listsOf(exchange).data());
  }
  void combine(const RowExchange &exchange, const void *in, const void *ids, void *out) override {
    Rows returned(exchange.type, exchange.rowsReturned(), exchange.columns);
    combineRows(group, exchange, in, ids, out, returned.data(), listsOf(exchange).data());
  }

private:
  std::vector<int64_t> &listsOf(const RowExchange &exchange) {
    lists.resize(static_cast<size_t>(exchange.listLength()));
    return lists;
  }
  Communicator &group;
  std::vector<int64_t> lists;
};

} // namespace

std::string checkRows(Communicator &group) {
  HostRows mover(group);
  return checkRows(mover);
}

std::string checkRows(RowMover &group) {
  // One token, more picks than members and fewer, everything to one member (the first, the last), rows longer
  // than a part of a window.
  std::string wrong;
  for (const Case &c : {Case{1, 1, 1, 1}, Case{5, 2, 1, 3}, Case{64, 2, 2, 33}, Case{7, 6, 3, 20},
                        Case{40, 2, 2, 16, 0}, Case{40, 1, 1, 16, 3}, Case{300, 2, 4, 700}, Case{3, 2, 1, 300001}}) {
    // All ranks run all cases: one that stopped would leave the others waiting.
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16}) {
      std::string found = checkCase(group, c, type);
      if (wrong.empty())
        wrong = found;
    }
  }
  // Room for all and for some; several picks of one member; everything to one member.
  for (auto [c, room] : {std::pair(Case{5, 2, 1, 3}, int64_t{10}),
                         {Case{64, 2, 2, 33}, 40},
                         {Case{7, 6, 3, 20}, 5},
                         {Case{40, 2, 2, 16, 0}, 50},
                         {Case{300, 2, 4, 700}, 4000}}) {
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16}) {
      std::string found = checkPackedCase(group, c, room, type);
      if (wrong.empty())
        wrong = found;
    }
  }
  std::vector<int64_t> ids(static_cast<size_t>(group.size()), group.size());
  const RowExchange exchange = exchangeOf(Case{1, 1, 1, 1}, group.size(), 0, DTCC_F32);
  std::vector<float> rows(static_cast<size_t>(group.size()));
  try {
    float row = 1;
    group.dispatch(exchange, &row, ids.data(), rows.data());
    if (wrong.empty())
      wrong = "a pick that is no expert was taken";
  } catch (const Error &) {
  }
  return wrong;
}

} // namespace dtcc::rt::test
