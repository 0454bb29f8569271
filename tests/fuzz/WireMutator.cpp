//===- WireMutator.cpp - Changes messages of protobuf field by field -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/WireMutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

namespace dtcc::fuzz {

static const char *const opTypes[] = {"Add",
                                      "Sub",
                                      "Mul",
                                      "Div",
                                      "Pow",
                                      "MatMul",
                                      "Gemm",
                                      "Conv",
                                      "ConvTranspose",
                                      "Relu",
                                      "Tanh",
                                      "Erf",
                                      "Exp",
                                      "Log",
                                      "Reshape",
                                      "Transpose",
                                      "Concat",
                                      "Split",
                                      "Slice",
                                      "Gather",
                                      "GatherElements",
                                      "GatherND",
                                      "ScatterND",
                                      "ScatterElements",
                                      "Pad",
                                      "Expand",
                                      "Tile",
                                      "Squeeze",
                                      "Unsqueeze",
                                      "Shape",
                                      "Range",
                                      "Cast",
                                      "Constant",
                                      "ConstantOfShape",
                                      "Where",
                                      "Equal",
                                      "Less",
                                      "Not",
                                      "And",
                                      "ReduceMean",
                                      "ReduceSum",
                                      "ReduceMax",
                                      "ArgMax",
                                      "TopK",
                                      "Softmax",
                                      "LayerNormalization",
                                      "BatchNormalization",
                                      "GroupNormalization",
                                      "MaxPool",
                                      "AveragePool",
                                      "Resize",
                                      "LSTM",
                                      "GRU",
                                      "Einsum",
                                      "CumSum",
                                      "OneHot",
                                      "Dropout",
                                      "If",
                                      "Identity",
                                      "Sum",
                                      "Max",
                                      "Clip",
                                      "Mod",
                                      "SoftmaxCrossEntropyLoss",
                                      "Attention",
                                      "Trilu"};
static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   16,
                                   63,
                                   64,
                                   127,
                                   255,
                                   256,
                                   65535,
                                   65536,
                                   uint64_t(1) << 31,
                                   (uint64_t(1) << 31) - 1,
                                   uint64_t(1) << 32,
                                   uint64_t(1) << 56,
                                   uint64_t(1) << 62,
                                   INT64_MAX,
                                   uint64_t(INT64_MIN),
                                   ~uint64_t(0),
                                   ~uint64_t(0) - 1,
                                   uint64_t(-128)};

static bool readVariable(std::string_view &bytes, uint64_t &value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

static void writeVariable(uint64_t value, std::string &out) {
  for (; value > 127; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

/// Bytes that are nothing but letters are a name, though they may read as a message.
static bool isName(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c >= 32 && c < 127; });
}

bool WireMutator::parse(std::string_view bytes, std::vector<Field> &fields, int depth) {
  if (depth > 16)
    return false;
  while (!bytes.empty()) {
    uint64_t key;
    if (!readVariable(bytes, key) || key >> 3 == 0 || key >> 3 > 1000)
      return false;
    Field field;
    field.number = static_cast<uint32_t>(key >> 3);
    field.wire = key & 7;
    if (field.wire == 0) {
      if (!readVariable(bytes, field.value))
        return false;
    } else if (field.wire == 1 || field.wire == 5) {
      size_t width = field.wire == 1 ? 8 : 4;
      if (bytes.size() < width)
        return false;
      std::memcpy(&field.value, bytes.data(), width);
      bytes.remove_prefix(width);
    } else if (field.wire == 2) {
      uint64_t length;
      if (!readVariable(bytes, length) || length > bytes.size())
        return false;
      std::string_view inner = bytes.substr(0, length);
      bytes.remove_prefix(length);
      field.isMessage = !inner.empty() && !isName(inner) && parse(inner, field.fields, depth + 1);
      if (!field.isMessage) {
        field.fields.clear();
        field.bytes = inner;
      }
    } else {
      return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

void WireMutator::write(const std::vector<Field> &fields, std::string &out) {
  for (const Field &field : fields) {
    writeVariable(uint64_t(field.number) << 3 | field.wire, out);
    if (field.wire == 0) {
      writeVariable(field.value, out);
    } else if (field.wire != 2) {
      out.append(reinterpret_cast<const char *>(&field.value), field.wire == 1 ? 8 : 4);
    } else {
      std::string inner = field.bytes;
      if (field.isMessage)
        write(field.fields, inner);
      writeVariable(inner.size(), out);
      out += inner;
    }
  }
}

void WireMutator::list(std::vector<Field> &fields, std::vector<std::pair<std::vector<Field> *, size_t>> &places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.emplace_back(&fields, i);
    list(fields[i].fields, places);
  }
}

void WireMutator::changeValue(Field &field, const std::vector<std::pair<std::vector<Field> *, size_t>> &places) {
  if (field.wire != 2) {
    field.value = below(2) ? numbers[below(std::size(numbers))] : field.value + below(5) - 2;
    return;
  }
  if (field.isMessage)
    return change(field.fields);
  switch (below(4)) {
  case 0:
    field.bytes = opTypes[below(std::size(opTypes))];
    return;
  case 1:
    // Another name or tensor of the file.
    for (int attempt = 0; attempt < 8; ++attempt) {
      auto [fields, i] = places[below(places.size())];
      if (const Field &other = (*fields)[i]; other.wire == 2 && !other.isMessage) {
        field.bytes = std::string(other.bytes);
        return;
      }
    }
    return;
  default:
    std::string bytes = field.bytes;
    bytes.resize(field.bytes.size() + 16);
    size_t size = mutateBytes(reinterpret_cast<uint8_t *>(bytes.data()), field.bytes.size(), bytes.size());
    field.bytes = bytes.substr(0, size);
  }
}

void WireMutator::change(std::vector<Field> &fields) {
  std::vector<std::pair<std::vector<Field> *, size_t>> places;
  list(fields, places);
  if (places.empty())
    return;
  auto [in, at] = places[below(places.size())];
  switch (below(8)) {
  case 0:
    in->erase(in->begin() + static_cast<std::ptrdiff_t>(at));
    return;
  case 1:
    in->insert(in->begin() + static_cast<std::ptrdiff_t>(below(in->size() + 1)), Field((*in)[at]));
    return;
  case 2:
    std::swap((*in)[at], (*in)[below(in->size())]);
    return;
  case 3:
    (*in)[at].number = 1 + static_cast<uint32_t>(below(24));
    return;
  default:
    changeValue((*in)[at], places);
  }
}

std::string WireMutator::mutate(std::string_view message) {
  std::vector<Field> fields;
  if (!parse(message, fields, 0))
    return "";
  for (size_t count = 1 + below(3); count-- > 0;)
    change(fields);
  std::string out;
  write(fields, out);
  return out;
}

std::string WireMutator::cross(std::string_view one, std::string_view other) {
  std::vector<Field> mine, theirs;
  std::vector<std::pair<std::vector<Field> *, size_t>> places, sources;
  if (!parse(one, mine, 0) || !parse(other, theirs, 0))
    return std::string(one);
  list(mine, places);
  list(theirs, sources);
  if (places.empty() || sources.empty())
    return std::string(one);
  auto [from, number] = sources[below(sources.size())];
  const Field &given = (*from)[number];
  auto [to, at] = places[below(places.size())];
  for (int attempt = 0; attempt < 16 && (*to)[at].number != given.number; ++attempt)
    std::tie(to, at) = places[below(places.size())];
  if (below(2))
    (*to)[at] = Field(given);
  else
    to->insert(to->begin() + static_cast<std::ptrdiff_t>(at), Field(given));
  std::string out;
  write(mine, out);
  return out;
}

} // namespace dtcc::fuzz
