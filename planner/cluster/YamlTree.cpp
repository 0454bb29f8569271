//===- YamlTree.cpp - A YAML document with the places of its parts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cluster/YamlTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include <tuple>

namespace dtcc::cost {

const YamlTree *YamlTree::find(llvm::StringRef key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key)
      return &parts[i];
  return nullptr;
}

namespace {
class TreeBuilder {
public:
  TreeBuilder(llvm::StringRef text, llvm::StringRef file) : file(file), stream(text, sources) {
    // The parser prints; we keep the first message instead.
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic &diagnostic, void *self) {
          static_cast<TreeBuilder *>(self)->fail(diagnostic.getLineNo(), diagnostic.getColumnNo() + 1,
                                                 diagnostic.getMessage().str());
        },
        this);
  }

  llvm::Expected<YamlTree> run() {
    YamlTree tree;
    auto document = stream.begin();
    if (document != stream.end() && document->getRoot())
      build(*document->getRoot(), tree, 0);
    if (problem.empty() && stream.failed())
      fail(1, 1, "not YAML");
    if (problem.empty() && ++document != stream.end())
      fail(1, 1, "a file must hold one document");
    if (!problem.empty())
      return llvm::createStringError(problem);
    return tree;
  }

private:
  void fail(unsigned line, unsigned column, std::string message) {
    if (problem.empty())
      problem = (file + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) + ": " + message).str();
  }
  void build(llvm::yaml::Node &node, YamlTree &tree, int depth);
  void buildMap(llvm::yaml::MappingNode &node, YamlTree &tree, int depth);

  std::string file, problem;
  llvm::SourceMgr sources;
  llvm::yaml::Stream stream;
};
} // namespace

void TreeBuilder::buildMap(llvm::yaml::MappingNode &node, YamlTree &tree, int depth) {
  tree.kind = YamlTree::Map;
  llvm::StringSet<> names;
  for (llvm::yaml::KeyValueNode &entry : node) {
    auto *key = llvm::dyn_cast_or_null<llvm::yaml::ScalarNode>(entry.getKey());
    if (!key || !problem.empty())
      return fail(tree.line, tree.column, "a key must be a word");
    llvm::SmallString<32> storage;
    std::string name = key->getValue(storage).str();
    auto [line, column] = sources.getLineAndColumn(key->getSourceRange().Start);
    if (!names.insert(name).second)
      return fail(line, column, "a key must stand once, got twice: " + name);
    tree.keys.push_back(name);
    tree.parts.emplace_back();
    if (llvm::yaml::Node *value = entry.getValue())
      build(*value, tree.parts.back(), depth + 1);
    if (!problem.empty())
      return; // as in a list
  }
}

void TreeBuilder::build(llvm::yaml::Node &node, YamlTree &tree, int depth) {
  // A node behind an error of syntax may have no place in the text.
  if (!problem.empty() || stream.failed())
    return;
  std::tie(tree.line, tree.column) = sources.getLineAndColumn(node.getSourceRange().Start);
  if (depth > 16)
    return fail(tree.line, tree.column, "lists and maps must lie at most 16 deep");
  llvm::SmallString<64> storage;
  if (auto *scalar = llvm::dyn_cast<llvm::yaml::ScalarNode>(&node)) {
    tree.scalar = scalar->getValue(storage).str();
  } else if (auto *block = llvm::dyn_cast<llvm::yaml::BlockScalarNode>(&node)) {
    tree.scalar = block->getValue().str();
  } else if (auto *map = llvm::dyn_cast<llvm::yaml::MappingNode>(&node)) {
    buildMap(*map, tree, depth);
  } else if (auto *list = llvm::dyn_cast<llvm::yaml::SequenceNode>(&node)) {
    tree.kind = YamlTree::List;
    for (llvm::yaml::Node &part : *list) {
      tree.parts.emplace_back();
      build(part, tree.parts.back(), depth + 1);
      // Before the parser goes on: it would call itself for each level of what was refused as too deep.
      if (!problem.empty())
        return;
    }
  } else if (!llvm::isa<llvm::yaml::NullNode>(node)) {
    fail(tree.line, tree.column, "anchors are not supported");
  }
}

llvm::Expected<YamlTree> parseYaml(llvm::StringRef text, llvm::StringRef file) { return TreeBuilder(text, file).run(); }

} // namespace dtcc::cost
