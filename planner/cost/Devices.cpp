//===- Devices.cpp - Kinds of devices and what joins them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Devices.h"
#include <algorithm>
#include <cctype>

namespace dtcc::cost {

static const std::vector<Link> &links() {
  static const std::vector<Link> table = {
#define DTCC_LINK(key, rate, latency, peers, description, source) {key, rate * 1e9, latency * 1e-6, peers},
#include "planner/cost/Links.def"
  };
  return table;
}

/// The rows of Devices.def name rows of Links.def; a unit test looks up all of them.
static Link linkOf(std::string_view name) {
  const Link *link = findLink(name);
  return link ? *link : Link();
}

static const std::vector<Device> &devices() {
  static const std::vector<Device> table = {
#define DTCC_DEVICE(key, architecture, f32, b16, f8, f4, memory, rate, units, link, domain, host, network, price,      \
                    source)                                                                                            \
  {key,                                                                                                                \
   Architecture::architecture,                                                                                         \
   {f32 * 1e12, b16 * 1e12, f8 * 1e12, f4 * 1e12},                                                                     \
   memory * 0x1p30,                                                                                                    \
   rate * 1e9,                                                                                                         \
   units,                                                                                                              \
   linkOf(link),                                                                                                       \
   domain,                                                                                                             \
   linkOf(host),                                                                                                       \
   linkOf(network),                                                                                                    \
   price},
#define DTCC_DEVICE_ALIAS(name, key)
#include "planner/cost/Devices.def"
  };
  return table;
}

static bool equalsLower(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

namespace {
struct Alias {
  std::string_view name, key;
};
constexpr Alias kAliases[] = {
#define DTCC_DEVICE(...)
#define DTCC_DEVICE_ALIAS(name, key) {name, key},
#include "planner/cost/Devices.def"
};
} // namespace

const Device *findDevice(std::string_view name) {
  for (const Alias &alias : kAliases)
    if (equalsLower(alias.name, name))
      name = alias.key;
  for (const Device &device : devices())
    if (equalsLower(device.name, name))
      return &device;
  return nullptr;
}

const Link *findLink(std::string_view name) {
  for (const Link &link : links())
    if (equalsLower(link.name, name))
      return &link;
  return nullptr;
}

std::vector<std::string> deviceNames(bool others) {
  std::vector<std::string> names;
  for (const Device &device : devices())
    names.push_back(device.name);
  for (const Alias &alias : kAliases)
    if (others)
      names.emplace_back(alias.name);
  return names;
}

std::vector<std::string> linkNames() {
  std::vector<std::string> names;
  for (const Link &link : links())
    names.push_back(link.name);
  return names;
}

} // namespace dtcc::cost
