//===- ClusterFile.cpp - Clusters as YAML
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cluster/ClusterFile.h"
#include "planner/cluster/YamlTree.h"
#include "runtime/abi/console/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>

namespace dtcc::cost {

namespace {
/// Reads a tree into a cluster. The first error is kept, and what comes after is of no matter.
class ClusterReader {
public:
  explicit ClusterReader(llvm::StringRef file) : file(file) {}
  llvm::Expected<Cluster> read(const YamlTree &tree);

private:
  using Fields = llvm::ArrayRef<llvm::StringRef>;
  bool fail(const YamlTree &at, const llvm::Twine &message) {
    if (problem.empty())
      problem = (file + ":" + llvm::Twine(at.line) + ":" + llvm::Twine(at.column) + ": " + message).str();
    return false;
  }
  bool isMap(const YamlTree &tree, llvm::StringRef what, Fields fields);
  llvm::ArrayRef<YamlTree> list(const YamlTree &tree, llvm::StringRef key);
  void quantity(const YamlTree &tree, llvm::StringRef key, llvm::StringRef unit, double &value);
  void count(const YamlTree &tree, llvm::StringRef key, int64_t &value);
  void scale(const YamlTree &tree, llvm::StringRef key, double &value);
  std::string name(const YamlTree &tree, llvm::StringRef what);
  void link(const YamlTree &tree, llvm::StringRef key, Link &value);
  std::optional<Device> device(const YamlTree &at, llvm::StringRef name);
  void readLink(const YamlTree &tree);
  void readDevice(const YamlTree &tree);
  void readNodes(const YamlTree &tree, Cluster &cluster);
  void readSwitch(const YamlTree &tree, Cluster &cluster);

  std::string file, problem;
  std::map<std::string, Link> links;
  std::map<std::string, Device> devices;
  std::map<std::string, const YamlTree *> places;
};
} // namespace

bool ClusterReader::isMap(const YamlTree &tree, llvm::StringRef what, Fields fields) {
  if (tree.kind != YamlTree::Map)
    return fail(tree, what + " must be a map of fields");
  for (size_t i = 0; i < tree.keys.size(); ++i)
    if (!llvm::is_contained(fields, tree.keys[i])) {
      std::vector<std::string> known;
      for (llvm::StringRef field : fields)
        known.push_back(field.str());
      std::string near = nearestName(tree.keys[i], known);
      return fail(tree.parts[i],
                  what + " has no field " + tree.keys[i] + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
  return true;
}

llvm::ArrayRef<YamlTree> ClusterReader::list(const YamlTree &tree, llvm::StringRef key) {
  const YamlTree *found = tree.find(key);
  if (!found)
    return {};
  if (found->kind != YamlTree::List)
    fail(*found, key + " must be a list");
  return found->parts;
}

void ClusterReader::quantity(const YamlTree &tree, llvm::StringRef key, llvm::StringRef unit, double &value) {
  const YamlTree *found = tree.find(key);
  if (!found)
    return;
  llvm::Expected<double> parsed = parseQuantity(found->scalar, unit);
  if (parsed)
    value = *parsed;
  else
    fail(*found, key + ": " + llvm::toString(parsed.takeError()));
}

void ClusterReader::count(const YamlTree &tree, llvm::StringRef key, int64_t &value) {
  const YamlTree *found = tree.find(key);
  if (!found)
    return;
  if (llvm::StringRef(found->scalar).getAsInteger(10, value) || value < 1 || value > (int64_t(1) << 24))
    fail(*found, key + " must be a whole number of at least 1 and at most 2^24, got: " +
                     (found->scalar.empty() ? llvm::Twine("nothing") : llvm::Twine(found->scalar)));
}

void ClusterReader::scale(const YamlTree &tree, llvm::StringRef key, double &value) {
  const YamlTree *found = tree.find(key);
  if (found && (llvm::StringRef(found->scalar).getAsDouble(value) || !(value > 0 && value < 1e6)))
    fail(*found, key + " must be a number above 0 and below 10^6, got: " +
                     (found->scalar.empty() ? llvm::Twine("nothing") : llvm::Twine(found->scalar)));
}

std::string ClusterReader::name(const YamlTree &tree, llvm::StringRef what) {
  const YamlTree *found = tree.find("name");
  if (!found || found->scalar.empty()) {
    fail(found ? *found : tree, what + " must have a name");
    return "";
  }
  if (!places.emplace(found->scalar, found).second)
    fail(*found, "names must differ, got twice: " + found->scalar);
  return found->scalar;
}

void ClusterReader::link(const YamlTree &tree, llvm::StringRef key, Link &value) {
  const YamlTree *found = tree.find(key);
  if (!found)
    return;
  if (auto own = links.find(found->scalar); own != links.end())
    value = own->second;
  else if (const Link *preset = findLink(found->scalar))
    value = *preset;
  else {
    std::string near = nearestName(found->scalar, linkNames());
    fail(*found, key + " must be a link of this file or a known one, got: " + found->scalar +
                     (near.empty() ? "" : "; did you mean " + near + "?"));
  }
}

std::optional<Device> ClusterReader::device(const YamlTree &at, llvm::StringRef name) {
  if (auto own = devices.find(name.str()); own != devices.end())
    return own->second;
  if (const Device *preset = findDevice(name.str()))
    return *preset;
  std::string near = nearestName(name.str(), deviceNames(/*others=*/true));
  fail(at, "a device must be one of this file or a known kind, got: " + name +
               (near.empty() ? "" : "; did you mean " + near + "?"));
  return std::nullopt;
}

void ClusterReader::readLink(const YamlTree &tree) {
  if (!isMap(tree, "a link", {"name", "like", "bandwidth", "latency"}))
    return;
  Link value;
  link(tree, "like", value);
  value.name = name(tree, "a link");
  quantity(tree, "bandwidth", "B/s", value.bytesPerSecond);
  quantity(tree, "latency", "s", value.latencySeconds);
  if (value.bytesPerSecond <= 0)
    fail(tree, "a link must have a bandwidth above 0 or be like a known one");
  links[value.name] = value;
}

void ClusterReader::readDevice(const YamlTree &tree) {
  if (!isMap(tree, "a device",
             {"name", "like", "f32", "b16", "f8", "f4", "memory", "memory-bandwidth", "units", "link", "host-link",
              "network", "price"}))
    return;
  Device value;
  const YamlTree *like = tree.find("like");
  if (!like) {
    fail(tree, "a device must be like a known kind");
    return;
  }
  // A device is like one above it: so that none is like itself.
  if (std::optional<Device> base = device(*like, like->scalar))
    value = *base;
  value.name = name(tree, "a device");
  for (auto [key, width] : {std::pair{"f32", Width::F32}, {"b16", Width::B16}, {"f8", Width::F8}, {"f4", Width::F4}})
    quantity(tree, key, "FLOP/s", value.flopsPerSecond[static_cast<int>(width)]);
  quantity(tree, "memory", "B", value.memoryBytes);
  quantity(tree, "memory-bandwidth", "B/s", value.memoryBytesPerSecond);
  quantity(tree, "price", "$/h", value.pricePerHour);
  count(tree, "units", value.units);
  link(tree, "link", value.link);
  link(tree, "host-link", value.hostLink);
  link(tree, "network", value.network);
  if (value.memoryBytes <= 0 || value.memoryBytesPerSecond <= 0 || value.flopsPerSecond[0] <= 0)
    fail(tree, "memory, memory-bandwidth and f32 of a device must be above 0");
  devices[value.name] = value;
}

void ClusterReader::readNodes(const YamlTree &tree, Cluster &cluster) {
  if (!isMap(tree, "a group of nodes",
             {"name", "count", "devices", "link", "port", "ports", "host-memory", "nvme", "nvme-bandwidth", "price",
              "device-scale", "host-scale"}))
    return;
  NodeGroup group;
  group.name = name(tree, "a group of nodes");
  count(tree, "count", group.count);
  for (const YamlTree &part : list(tree, "devices")) {
    if (!isMap(part, "devices of a node", {"kind", "count"}))
      return;
    const YamlTree *kind = part.find("kind");
    DeviceGroup devices;
    if (!kind) {
      fail(part, "devices of a node must have a kind");
      return;
    }
    std::optional<Device> found = device(*kind, kind->scalar);
    if (!found)
      return;
    devices.device = *found;
    count(part, "count", devices.count);
    group.devices.push_back(devices);
  }
  if (group.devices.empty()) {
    fail(tree, "a group of nodes must have devices");
    return;
  }
  group.link = group.devices[0].device.link;
  group.port = group.devices[0].device.network;
  group.ports = group.devicesPerNode();
  link(tree, "link", group.link);
  link(tree, "port", group.port);
  count(tree, "ports", group.ports);
  quantity(tree, "host-memory", "B", group.hostMemoryBytes);
  quantity(tree, "nvme", "B", group.nvmeBytes);
  quantity(tree, "nvme-bandwidth", "B/s", group.nvmeBytesPerSecond);
  if (const YamlTree *nvme = tree.find("nvme"); nvme && group.nvmeBytesPerSecond <= 0)
    fail(*nvme, "nvme must come with an nvme-bandwidth above 0");
  quantity(tree, "price", "$/h", group.pricePerHour);
  scale(tree, "device-scale", group.deviceScale);
  scale(tree, "host-scale", group.hostScale);
  cluster.nodes.push_back(group);
}

void ClusterReader::readSwitch(const YamlTree &tree, Cluster &cluster) {
  if (!isMap(tree, "a switch", {"name", "joins", "link", "ports"}))
    return;
  Switch value;
  value.name = name(tree, "a switch");
  link(tree, "link", value.link);
  count(tree, "ports", value.ports);
  if (value.link.bytesPerSecond <= 0)
    fail(tree, "a switch must have a link");
  for (const YamlTree &part : list(tree, "joins"))
    value.joins.push_back(part.scalar);
  if (value.joins.empty())
    fail(tree, "a switch must join something");
  cluster.switches.push_back(value);
}

llvm::Expected<Cluster> ClusterReader::read(const YamlTree &tree) {
  Cluster cluster;
  if (isMap(tree, "a cluster", {"version", "name", "links", "devices", "nodes", "switches"})) {
    const YamlTree *version = tree.find("version");
    if (!version || version->scalar != "1")
      fail(version ? *version : tree,
           "version must be 1, got: " + (version ? llvm::Twine(version->scalar) : "nothing"));
    if (const YamlTree *title = tree.find("name"))
      cluster.name = title->scalar;
    for (const YamlTree &part : list(tree, "links"))
      readLink(part);
    for (const YamlTree &part : list(tree, "devices"))
      readDevice(part);
    for (const YamlTree &part : list(tree, "nodes"))
      readNodes(part, cluster);
    for (const YamlTree &part : list(tree, "switches"))
      readSwitch(part, cluster);
    if (cluster.nodes.empty())
      fail(tree, "a cluster must have nodes");
  }
  std::string place;
  if (problem.empty())
    if (std::string wrong = checkJoins(cluster, place); !wrong.empty()) {
      const YamlTree *switches = tree.find("switches");
      auto at = places.find(place);
      fail(at != places.end() ? *at->second : switches ? *switches : tree, wrong);
    }
  if (!problem.empty())
    return llvm::createStringError(problem);
  return cluster;
}

llvm::Expected<Cluster> parseClusterFile(llvm::StringRef text, llvm::StringRef file) {
  llvm::Expected<YamlTree> tree = parseYaml(text, file);
  if (!tree)
    return tree.takeError();
  return ClusterReader(file).read(*tree);
}

llvm::Expected<Cluster> readCluster(llvm::StringRef nameOrPath) {
  if (!nameOrPath.ends_with(".yaml") && !nameOrPath.ends_with(".yml")) {
    std::string error;
    std::optional<Cluster> cluster = parseCluster(nameOrPath.str(), error);
    if (cluster)
      return *cluster;
    return llvm::createStringError(error);
  }
  auto buffer = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), nameOrPath + ": cannot read: " + buffer.getError().message());
  return parseClusterFile((*buffer)->getBuffer(), nameOrPath);
}

} // namespace dtcc::cost
