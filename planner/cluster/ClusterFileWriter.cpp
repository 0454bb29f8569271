//===- ClusterFileWriter.cpp - A cluster as a file
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cluster/ClusterFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc::cost {

namespace {
class Writer {
public:
  explicit Writer(const Cluster &cluster) : cluster(cluster), out(text) {}
  std::string run();

private:
  void number(const char *key, double value, const char *unit) { out << key << llvm::format("%.6g", value) << unit; }
  /// A link that is no preset, or differs from it, is written out once.
  void declare(const Link &link);
  void declare(const Device &device);
  void nodes(const NodeGroup &group);

  const Cluster &cluster;
  std::string text;
  llvm::raw_string_ostream out;
  llvm::StringSet<> declared;
};
} // namespace

void Writer::declare(const Link &link) {
  const Link *preset = findLink(link.name);
  if (link.name.empty() || (preset && *preset == link) || !declared.insert(link.name).second)
    return;
  out << "  - {name: " << link.name;
  number(", bandwidth: ", link.bytesPerSecond / 1e9, " GB/s");
  number(", latency: ", link.latencySeconds * 1e6, " us}\n");
}

void Writer::declare(const Device &device) {
  const Device *preset = findDevice(device.name);
  if (preset || !declared.insert(device.name).second)
    return;
  out << "  - name: " << device.name << "\n    like: cpu-core\n";
  static constexpr const char *kKeys[kWidths] = {"    f32: ", "    b16: ", "    f8: ", "    f4: "};
  for (int width = 0; width < kWidths; ++width)
    if (device.flopsPerSecond[width] > 0)
      number(kKeys[width], device.flopsPerSecond[width] / 1e9, " GFLOP/s\n");
  number("    memory: ", device.memoryBytes / 1e9, " GB\n");
  number("    memory-bandwidth: ", device.memoryBytesPerSecond / 1e9, " GB/s\n");
  out << "    units: " << device.units << '\n';
  if (device.pricePerHour > 0)
    number("    price: ", device.pricePerHour, " $/h\n");
}

void Writer::nodes(const NodeGroup &group) {
  out << "  - name: " << group.name << "\n    count: " << group.count << "\n    devices:\n";
  for (const DeviceGroup &devices : group.devices)
    out << "      - {kind: " << devices.device.name << ", count: " << devices.count << "}\n";
  out << "    link: " << group.link.name << '\n';
  if (!group.port.name.empty())
    out << "    port: " << group.port.name << "\n    ports: " << group.ports << '\n';
  if (group.hostMemoryBytes > 0)
    number("    host-memory: ", group.hostMemoryBytes / 1e9, " GB\n");
  if (group.nvmeBytes > 0)
    number("    nvme: ", group.nvmeBytes / 1e9, " GB\n");
  if (group.nvmeBytesPerSecond > 0)
    number("    nvme-bandwidth: ", group.nvmeBytesPerSecond / 1e9, " GB/s\n");
  if (group.pricePerHour > 0)
    number("    price: ", group.pricePerHour, " $/h\n");
  if (group.deviceScale != 1 || group.hostScale != 1) {
    number("    device-scale: ", group.deviceScale, "\n");
    number("    host-scale: ", group.hostScale, "\n");
  }
}

std::string Writer::run() {
  out << "version: 1\nname: " << cluster.name << '\n';
  // A section is only written if something stands in it.
  auto section = [&](const char *title, llvm::function_ref<void()> write) {
    size_t start = text.size();
    out << title << ":\n";
    size_t empty = text.size();
    write();
    if (text.size() == empty)
      text.resize(start);
  };
  section("links", [&] {
    for (const NodeGroup &group : cluster.nodes) {
      declare(group.link);
      declare(group.port);
    }
  });
  section("devices", [&] {
    for (const NodeGroup &group : cluster.nodes)
      for (const DeviceGroup &devices : group.devices)
        declare(devices.device);
  });
  section("nodes", [&] {
    for (const NodeGroup &group : cluster.nodes)
      nodes(group);
  });
  section("switches", [&] {
    for (const Switch &node : cluster.switches) {
      out << "  - {name: " << node.name << ", link: " << node.link.name << ", ports: " << node.ports << ", joins: [";
      for (size_t i = 0; i < node.joins.size(); ++i)
        out << (i ? ", " : "") << node.joins[i];
      out << "]}\n";
    }
  });
  return text;
}

std::string toYaml(const Cluster &cluster) { return Writer(cluster).run(); }

} // namespace dtcc::cost
