//===- TransformerText.h - The loss of a transformer, as text
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models whose sizes and layers a test says: rows of attention, feed-forward parts and plain
// products between an embedding and a head.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_SPMD_TRANSFORMERTEXT_H
#define DTCC_TESTS_UNIT_SPMD_TRANSFORMERTEXT_H

#include "llvm/Support/FormatVariadic.h"
#include <string>
#include <vector>

namespace dtcc::spmd {

class TransformerText {
public:
  enum class Layer { Attention, FeedForward, Gated, Product, Gate };

  int64_t batch = 8, sequence = 4, heads = 2, headSize = 4, ffn = 16, vocabulary = 12;
  /// Heads of queries for each head of keys and values; 1: the three are one product.
  int64_t groups = 1;
  /// Vectors added to products.
  bool biases = true;
  /// The head multiplies by the embedding.
  bool tied = true;
  /// Positions have embeddings.
  bool places = true;
  /// The head reads the sum of what all layers make.
  bool sumsLayers = false;
  std::vector<Layer> layers;
  /// Per layer, the number of the layer whose parameters it uses: its own if absent.
  std::vector<size_t> sharedWith;

  std::string str() {
    begin();
    for (number = 0; number < layers.size(); ++number) {
      prefix = "l" + std::to_string(number < sharedWith.size() ? sharedWith[number] : number) + ".";
      add(layers[number]);
      made.push_back(current);
    }
    for (size_t layer = 0; sumsLayers && layer + 1 < made.size(); ++layer)
      current = binary("add", current, made[layer], wide());
    return end();
  }

private:
  int64_t hidden() const { return heads * headSize; }
  std::string activation(const std::string &rest) const {
    return llvm::formatv("tensor<{0}x{1}x{2}xf32>", batch, sequence, rest);
  }
  std::string wide() const { return activation(std::to_string(hidden())); }

  /// Reads the parameter of the layer, which has this shape; its value.
  std::string read(const std::string &name, const std::string &shape) {
    std::string state = prefix + name, type = "tensor<" + shape + "xf32>";
    if (states.find("@" + state + " ") == std::string::npos) {
      std::string saved = "array<i64: " + shape + ">";
      for (size_t at; (at = saved.find('x')) != std::string::npos;)
        saved.replace(at, 1, ", ");
      states += "graph.state @" + state + " : " + type +
                " {role = #graph<role parameter>, trainable = true, decay = true, saved_name = \"" + state +
                "\", saved_shape = " + saved + ", init = #graph.init<normal, 0.0, 0.02>}\n";
    }
    auto known = reads.find("%" + state + "_ = ");
    if (known == std::string::npos) {
      std::string line = "  %" + state + "_ = graph.read @" + state + " : " + type + "\n";
      reads += line;
      body += line;
    }
    return "%" + state + "_";
  }

  std::string fresh() { return "%v" + std::to_string(values++); }
  std::string define(const std::string &right) {
    std::string name = fresh();
    body += "  " + name + " = " + right + "\n";
    return name;
  }
  std::string binary(const std::string &op, const std::string &a, const std::string &b, const std::string &type) {
    return define("graph." + op + " " + a + ", " + b + " : (" + type + ", " + type + ") -> " + type);
  }
  /// A contraction of `x` and a parameter, with a bias over the dimensions from the third on.
  std::string product(const std::string &letters, const std::string &x, const std::string &type,
                      const std::string &name, const std::string &shape, const std::string &result,
                      const std::string &biasShape, const std::string &biasDims) {
    std::string w = read(name, shape);
    std::string y = define("graph.contract \"" + letters + "\" " + x + ", " + w + " : (" + type + ", tensor<" + shape +
                           "xf32>) -> " + result);
    if (!biases)
      return y;
    std::string b = read(name + ".b", biasShape);
    b = define("graph.broadcast " + b + " [" + biasDims + "] : (tensor<" + biasShape + "xf32>) -> " + result);
    return binary("add", y, b, result);
  }
  std::string norm(const std::string &x) {
    std::string h = std::to_string(hidden()), w = read("norm.w", h), b = read("norm.b", h), y = fresh(), m = fresh(),
                r = fresh(), vector = "tensor<" + h + "xf32>";
    std::string rows = llvm::formatv("tensor<{0}x{1}xf32>", batch, sequence);
    body += "  " + y + ", " + m + ", " + r + " = graph.layer_norm " + x + ", " + w + ", " + b +
            " [2] {eps = 1.0e-5 : f64} : (" + wide() + ", " + vector + ", " + vector + ") -> (" + wide() + ", " + rows +
            ", " + rows + ")\n";
    return y;
  }

  void begin() {
    states = reads = body = prefix = "";
    made.clear();
    values = 0;
    std::string h = std::to_string(hidden());
    std::string table = read("wte", llvm::formatv("{0}x{1}", vocabulary, h));
    std::string ids = llvm::formatv("tensor<{0}x{1}xi64>", batch, sequence);
    current = define(llvm::formatv("graph.embedding {0}, %ids : (tensor<{1}x{2}xf32>, {3}) -> {4}", table, vocabulary,
                                   h, ids, wide()));
    if (!places)
      return;
    std::string line = llvm::formatv("tensor<{0}xi64>", sequence),
                rows = llvm::formatv("tensor<{0}x{1}xf32>", sequence, h);
    std::string first = read("wpe", llvm::formatv("{0}x{1}", sequence, h));
    std::string iota = define("graph.iota {dim = 0 : i64} : " + line);
    std::string place = define(llvm::formatv("graph.embedding {0}, {1} : ({2}, {3}) -> {2}", first, iota, rows, line));
    place = define("graph.broadcast " + place + " [1, 2] : (" + rows + ") -> " + wide());
    current = binary("add", current, place, wide());
  }

  void add(Layer layer) {
    std::string h = std::to_string(hidden()), f = std::to_string(ffn);
    if (layer == Layer::Product) {
      std::string y = product("btc,cn->btn", current, wide(), "w", h + "x" + h, wide(), h, "2");
      current = define("graph.relu " + y + " : " + wide());
      return;
    }
    if (layer == Layer::Gate) {
      std::string s = read("s", h);
      s = define("graph.broadcast " + s + " [2] : (tensor<" + h + "xf32>) -> " + wide());
      std::string y = binary("mul", current, s, wide());
      current = product("btc,cn->btn", y, wide(), "w", h + "x" + h, wide(), h, "2");
      return;
    }
    std::string y = norm(current);
    if (layer == Layer::Attention) {
      std::string n = std::to_string(heads), d = std::to_string(headSize), one = activation(n + "x" + d);
      std::string dims = groups > 1 ? n + "x" + std::to_string(groups) : n, queries = activation(dims + "x" + d);
      std::string q, k, v, a = fresh(), l = fresh();
      if (groups > 1) {
        q = product("btc,chgd->bthgd", y, wide(), "q", h + "x" + dims + "x" + d, queries, dims + "x" + d, "2, 3, 4");
        k = product("btc,chd->bthd", y, wide(), "k", h + "x" + n + "x" + d, one, n + "x" + d, "2, 3");
        v = product("btc,chd->bthd", y, wide(), "v", h + "x" + n + "x" + d, one, n + "x" + d, "2, 3");
      } else {
        std::string all = product("btc,cshd->btshd", y, wide(), "qkv", h + "x3x" + n + "x" + d,
                                  activation("3x" + n + "x" + d), "3x" + n + "x" + d, "2, 3, 4");
        q = fresh(), k = fresh(), v = fresh();
        body += "  " + q + ", " + k + ", " + v + " = graph.unstack " + all + " {dim = 2 : i64} : (" +
                activation("3x" + n + "x" + d) + ") -> (" + one + ", " + one + ", " + one + ")\n";
      }
      body += "  " + a + ", " + l + " = graph.attention " + q + ", " + k + ", " + v +
              " <causal = true> {scale = 0.5 : f64} : (" + queries + ", " + one + ", " + one + ") -> (" + queries +
              llvm::formatv(", tensor<{0}x{1}x{2}xf32>)\n", batch, dims, sequence).str();
      y = product(groups > 1 ? "bthgd,hgdc->btc" : "bthd,hdc->btc", a, queries, "o", dims + "x" + d + "x" + h, wide(),
                  h, "2");
    } else {
      std::string inner = activation(f);
      std::string up = product("btc,cn->btn", y, wide(), "up", h + "x" + f, inner, f, "2");
      if (layer == Layer::Gated) {
        std::string gate = product("btc,cn->btn", y, wide(), "gate", h + "x" + f, inner, f, "2");
        gate = define("graph.silu " + gate + " : " + inner);
        up = binary("mul", gate, up, inner);
      } else {
        up = define("graph.gelu " + up + " {form = #graph<gelu_form tanh>} : " + inner);
      }
      y = product("btn,nc->btc", up, inner, "down", f + "x" + h, wide(), h, "2");
    }
    current = binary("add", current, y, wide());
  }

  std::string end() {
    prefix = "";
    std::string h = std::to_string(hidden()), shape = llvm::formatv("{0}x{1}", vocabulary, h),
                logits = activation(std::to_string(vocabulary)),
                labels = llvm::formatv("tensor<{0}x{1}xi64>", batch, sequence);
    current = define("graph.contract \"btc,vc->btv\" " + current + ", " + read(tied ? "wte" : "head", shape) + " : (" +
                     wide() + ", tensor<" + shape + "xf32>) -> " + logits);
    return states + "func.func @loss(%ids: " + labels +
           " {graph.name = \"input_ids\", graph.role = \"tokens\"}, %labels: " + labels +
           " {graph.name = \"labels\", graph.role = \"labels\"}) -> (tensor<f32>, tensor<f32>) {\n" + body +
           "  %sum, %count, %lse = graph.cross_entropy " + current + ", %labels {ignore_index = -100 : i64} : (" +
           logits + ", " + labels +
           llvm::formatv(") -> (tensor<f32>, tensor<f32>, tensor<{0}x{1}xf32>)\n", batch, sequence).str() +
           "  return %sum, %count : tensor<f32>, tensor<f32>\n}\n";
  }

  std::string states, reads, body, prefix, current;
  std::vector<std::string> made;
  size_t number = 0, values = 0;
};

} // namespace dtcc::spmd

#endif // DTCC_TESTS_UNIT_SPMD_TRANSFORMERTEXT_H
