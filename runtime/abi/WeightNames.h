//===- WeightNames.h - A model's tensors among those of its weights
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches the tensors that a model has with those that a checkpoint (--weights) holds, by name
// and shape. The compiler does it to report mistakes early, and a program does it again when it
// reads the data: this is the one place that says which names belong together.
//
// Names are equal, or differ by one prefix that is common to all that are not equal
// ("model.layers.0.." of a checkpoint is "lm.model.layers.0.." of a module that wraps it).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_WEIGHTNAMES_H
#define DTCC_RUNTIME_ABI_WEIGHTNAMES_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dtcc {

/// A tensor of the model.
struct WantedTensor {
  /// The name under which the tensor is saved, then the names of the parameters that are tied to it.
  std::vector<std::string> names;
  std::vector<int64_t> shape;
  bool isFloat = true;
  /// Whether the checkpoint must hold the tensor, as it must hold each parameter.
  bool required = true;
  /// Whether integers of the checkpoint may become floats: a step holds counters, as batch norm's, in floats.
  bool takesIntegers = false;
};

/// A tensor of the checkpoint. `type` is safetensors' name of the element type.
struct HeldTensor {
  std::string type;
  std::vector<int64_t> shape;
};

struct WeightMatch {
  /// Name in the checkpoint of each wanted tensor; empty if the checkpoint lacks the tensor.
  std::vector<std::string> names;
  /// Prefix that the checkpoint's names have and the model's lack, or the reverse if `modelHasPrefix`.
  std::string prefix;
  bool modelHasPrefix = false;
  /// Names of required tensors that the checkpoint lacks, names in the checkpoint that are nobody's, and descriptions
  /// of tensors whose shape or type does not fit.
  std::vector<std::string> missing, surplus, unfit;

  /// The model's `name` as the checkpoint would spell it.
  std::string spelled(const std::string &name) const {
    if (!modelHasPrefix)
      return prefix + name;
    return name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name;
  }
};

namespace detail {

inline std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// Calls `fn` with the beginnings of `name` that end with a dot: "a.", "a.b." of "a.b.c".
template <typename Fn> void forEachPrefix(const std::string &name, Fn fn) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    fn(name.substr(0, dot + 1));
}

inline bool isReadable(const std::string &type, bool asFloat) {
  static const std::set<std::string> floats = {"F32", "F64", "BF16", "F16"};
  static const std::set<std::string> others = {"I64", "I32", "I16", "I8", "BOOL", "U8", "U16", "U32"};
  return (asFloat ? floats : others).count(type) != 0;
}

/// Returns the reason why a tensor of the checkpoint does not fit that of the model, or "" if it fits.
inline std::string misfit(const WantedTensor &wanted, const HeldTensor &held) {
  if (held.shape != wanted.shape) {
    bool turned = wanted.shape.size() == 2 && held.shape == std::vector<int64_t>{wanted.shape[1], wanted.shape[0]};
    return "must be " + shapeText(wanted.shape) + ", got: " + shapeText(held.shape) +
           (turned ? " (the model holds it transposed)" : "");
  }
  if (!isReadable(held.type, wanted.isFloat) && !(wanted.takesIntegers && isReadable(held.type, /*asFloat=*/false)))
    return std::string("must hold ") + (wanted.isFloat ? "F32, BF16, F16 or F64" : "integers") + ", got: " + held.type;
  return "";
}

/// "3 are missing: 'a', 'b', 'c'"; long lists are cut.
inline std::string listed(const std::vector<std::string> &items, const char *what) {
  constexpr size_t most = 12;
  std::string text = std::to_string(items.size()) + what;
  for (size_t i = 0; i < items.size() && i < most; ++i)
    text += (i ? ", " : ": ") + items[i];
  return text + (items.size() > most ? ", ..." : "");
}

} // namespace detail

/// Finds the one prefix by which most tensors without an equal name have one in the checkpoint.
inline void findPrefix(const std::vector<WantedTensor> &wanted, const std::map<std::string, HeldTensor> &held,
                       WeightMatch &match) {
  std::map<std::pair<bool, std::string>, size_t> counts;
  std::set<std::string> unmatched;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (match.names[i].empty())
      unmatched.insert(wanted[i].names.begin(), wanted[i].names.end());
  for (const std::string &name : unmatched)
    detail::forEachPrefix(name, [&](const std::string &prefix) {
      if (held.count(name.substr(prefix.size())))
        ++counts[{true, prefix}];
    });
  for (const auto &entry : held)
    detail::forEachPrefix(entry.first, [&](const std::string &prefix) {
      if (unmatched.count(entry.first.substr(prefix.size())))
        ++counts[{false, prefix}];
    });
  size_t best = 0;
  for (const auto &[candidate, count] : counts)
    if (count > best) {
      best = count;
      match.modelHasPrefix = candidate.first;
      match.prefix = candidate.second;
    }
}

inline WeightMatch matchWeights(const std::vector<WantedTensor> &wanted,
                                const std::map<std::string, HeldTensor> &held) {
  WeightMatch match;
  match.names.resize(wanted.size());
  std::set<std::string> taken;
  auto take = [&](size_t i, const std::string &name) {
    if (!held.count(name))
      return;
    taken.insert(name);
    if (match.names[i].empty())
      match.names[i] = name;
  };
  size_t equal = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (const std::string &name : wanted[i].names)
      take(i, name);
    equal += !match.names[i].empty();
  }
  if (equal < wanted.size()) {
    findPrefix(wanted, held, match);
    if (!match.prefix.empty())
      for (size_t i = 0; i < wanted.size(); ++i)
        if (match.names[i].empty())
          for (const std::string &name : wanted[i].names)
            if (std::string other = match.spelled(name); other != name)
              take(i, other);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (match.names[i].empty()) {
      if (wanted[i].required)
        match.missing.push_back("'" + wanted[i].names.front() + "'");
    } else if (std::string why = detail::misfit(wanted[i], held.at(match.names[i])); !why.empty()) {
      match.unfit.push_back("'" + match.names[i] + "' " + why);
    }
  }
  for (const auto &entry : held)
    if (!taken.count(entry.first))
      match.surplus.push_back("'" + entry.first + "'");
  return match;
}

/// Everything that keeps the weights from being the model's, for one message; empty if nothing does. Missing tensors
/// may be allowed to start otherwise.
inline std::string problemsOf(const WeightMatch &match, bool missingAllowed) {
  std::string text;
  auto add = [&](const std::vector<std::string> &items, const char *what) {
    if (!items.empty())
      text += (text.empty() ? "" : "; ") + detail::listed(items, what);
  };
  if (!missingAllowed)
    add(match.missing, " missing");
  add(match.unfit, " unfit");
  if (!text.empty())
    add(match.surplus, " not of the model");
  return text;
}

/// Notes on choices that the user did not ask for, a line each.
inline std::vector<std::string> notesOf(const WeightMatch &match) {
  std::vector<std::string> lines;
  if (!match.prefix.empty())
    lines.push_back(match.modelHasPrefix ? "names of the model are taken without '" + match.prefix + "'"
                                         : "names of the weights are taken without '" + match.prefix + "'");
  if (!match.missing.empty())
    lines.push_back(detail::listed(match.missing, " of the model not in the weights"));
  if (!match.surplus.empty())
    lines.push_back(detail::listed(match.surplus, " of the weights not of the model, not read"));
  return lines;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_WEIGHTNAMES_H
