//===- Declarations.h - Ours against those of a library's own header -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime declares what it asks of NVIDIA's libraries itself, in the .def file of each.
// A file of this folder includes a library's header and the .def file, and is compiled where
// the header is installed (*.test): what does not compile is declared wrongly.
//
// Ours are looser where the binary interface is the same: an int for an enumeration, void *
// for a handle or a buffer.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_CONFORMANCE_HEADERS_DECLARATIONS_H
#define DTCC_TESTS_CONFORMANCE_HEADERS_DECLARATIONS_H

#include <string_view>
#include <type_traits>

namespace dtcc::headers {

/// Whether a value of one type is passed, and read behind a pointer, as one of the other.
template <typename Ours, typename Theirs> constexpr bool matches() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_function_v<Ours> && std::is_function_v<Theirs>) {
    return false; // other than by matchesCall
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using Here = std::remove_pointer_t<Ours>;
    using There = std::remove_pointer_t<Theirs>;
    // They write where we let them: what is const for us is const for them.
    constexpr bool writes = std::is_const_v<Here> && !std::is_const_v<There>;
    constexpr bool opaque = std::is_void_v<Here> || std::is_void_v<There>;
    if constexpr (writes || opaque)
      return !writes;
    else
      return matches<std::remove_const_t<Here>, std::remove_const_t<There>>();
  } else if constexpr (std::is_enum_v<Theirs> && std::is_integral_v<Ours>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_trivially_copyable_v<Ours> == std::is_trivially_copyable_v<Theirs>;
  } else {
    return false;
  }
}

template <typename Ours, typename Theirs> struct MatchesCall : std::false_type {};
template <typename Result, typename... Parameters, typename TheirResult, typename... TheirParameters>
  requires(sizeof...(Parameters) == sizeof...(TheirParameters))
struct MatchesCall<Result(Parameters...), TheirResult(TheirParameters...)>
    : std::bool_constant<matches<Result, TheirResult>() && (matches<Parameters, TheirParameters>() && ...)> {};

constexpr bool sameText(std::string_view ours, std::string_view theirs) { return ours == theirs; }

} // namespace dtcc::headers

/// SYMBOL, a name that we look up, is the one that a program compiled with the header would use, and is called so.
/// NAME: the symbol as text, before the header's macros may have renamed it. The rest: the function's type.
#define DTCC_HEADER_FUNCTION(NAME, SYMBOL, ...)                                                                        \
  static_assert(::dtcc::headers::sameText(NAME, #SYMBOL), NAME ": the header means " #SYMBOL);                         \
  static_assert(::dtcc::headers::MatchesCall<__VA_ARGS__, decltype(::SYMBOL)>::value,                                  \
                NAME ": the header declares another type");
#define DTCC_HEADER_NUMBER(THEIRS, VALUE)                                                                              \
  static_assert(static_cast<long long>(VALUE) == static_cast<long long>(THEIRS), #THEIRS ": the header has another");
/// A field of a struct of ours, and theirs.
#define DTCC_HEADER_FIELD(OURS, FIELD, THEIRS, THEIR_FIELD)                                                            \
  static_assert(offsetof(OURS, FIELD) == offsetof(THEIRS, THEIR_FIELD) &&                                              \
                    sizeof(OURS::FIELD) == sizeof(THEIRS::THEIR_FIELD),                                                \
                #THEIRS "::" #THEIR_FIELD ": the header has it elsewhere");

#endif // DTCC_TESTS_CONFORMANCE_HEADERS_DECLARATIONS_H
