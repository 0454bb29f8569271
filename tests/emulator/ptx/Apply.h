//===- Apply.h - One operation for the lanes of a warp --------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of what every lane does for itself: cells of registers in, a cell out.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_APPLY_H
#define DTCC_TESTS_EMULATOR_PTX_APPLY_H

#include "tests/emulator/ptx/Decoder.h"
#include "tests/emulator/ptx/Numbers.h"
#include "tests/emulator/ptx/Warp.h"
#include <cstring>
#include <tuple>
#include <utility>

namespace dtcc::emulator {

/// d = Op(sources a, b, c) on numbers of type D and S...
template <class Op, class D, class... S> void apply(Warp &warp, const Code &code, uint32_t lanes) {
  constexpr int count = D::kCount;
  auto run = [&]<size_t... I>(std::index_sequence<I...>) {
    const uint32_t places[] = {code.a, code.b, code.c};
    auto sources = std::tuple(static_cast<const typename S::Stored *>(warp.at<typename S::Stored>(places[I]))...);
    auto *to = warp.at<typename D::Stored>(code.d);
    auto cell = [&](int i) { return D::store(Op()(S::load(std::get<I>(sources)[i])...)); };
    if (lanes == ~0u) {
      // The result goes through a copy, because d may also be a source and the compiler should vectorize.
      typename D::Stored made[kWarpSize * count];
      for (int i = 0; i < kWarpSize * count; ++i)
        made[i] = cell(i);
      std::memcpy(to, made, sizeof made);
      return;
    }
    forLanes(lanes, [&](int lane) {
      for (int i = lane * count; i < (lane + 1) * count; ++i)
        to[i] = cell(i);
    });
  };
  run(std::make_index_sequence<sizeof...(S)>());
}

/// apply with as many sources of type N as Op takes.
template <class Op, class D, class N> constexpr Handler applied() {
  if constexpr (Op::kArity == 1)
    return apply<Op, D, N>;
  else if constexpr (Op::kArity == 2)
    return apply<Op, D, N, N>;
  else
    return apply<Op, D, N, N, N>;
}

/// The handler of Op for integers of a type, or null.
template <class Op> Handler forIntegers(Type type) {
  auto of = []<class T>(T) { return applied<Op, Integer<T>, Integer<T>>(); };
  switch (type) {
  case Type::S16:
    return of(int16_t());
  case Type::U16:
  case Type::B16:
    return of(uint16_t());
  case Type::S32:
    return of(int32_t());
  case Type::U32:
  case Type::B32:
    return of(uint32_t());
  case Type::S64:
    return of(int64_t());
  case Type::U64:
  case Type::B64:
    return of(uint64_t());
  default:
    return nullptr;
  }
}

/// The handler of Op for floats of a type, or null.
template <class Op> Handler forFloats(Type type, bool flushed) {
  auto of = []<class N>(N) { return applied<Op, N, N>(); };
  switch (type) {
  case Type::F32:
    return flushed ? of(F32Flushed()) : of(F32());
  case Type::F64:
    return of(F64());
  case Type::F16:
    return of(F16());
  case Type::BF16:
    return of(BF16());
  case Type::F16x2:
    return of(Twice<F16>());
  case Type::BF16x2:
    return of(Twice<BF16>());
  case Type::F32x2:
    return flushed ? of(Twice<F32Flushed>()) : of(Twice<F32>());
  default:
    return nullptr;
  }
}

/// Fills in d and the first `arity` sources, all of one width.
inline void placeAll(Decoder &decoder, const Instruction &instruction, Code &code, unsigned arity, unsigned width) {
  if (instruction.operands.size() != arity + 1)
    decoder.unknown(instruction);
  uint32_t *places[] = {&code.a, &code.b, &code.c};
  for (unsigned i = 0; i < arity; ++i)
    *places[i] = decoder.source(instruction, instruction.operands[i + 1], width);
  code.d = decoder.destination(instruction, instruction.operands[0], width);
}

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_APPLY_H
