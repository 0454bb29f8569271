//===- AdapterForms.h - What the exporter said of adapters ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The key "adapters" of the image's table of tensors (TensorTable.h), which the manifest of the
// export has (docs/export.md): under which names tensors are saved where adapters are merged or
// stand alone, which products are added to which weights, and small files that belong to a form.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_ADAPTERFORMS_H
#define DTCC_RUNTIME_CHECKPOINT_ADAPTERFORMS_H

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dtcc::rt {

/// The term that an adapter adds to a weight: scale times the product of two tensors, or its transpose.
struct LowRankSum {
  std::string up, down;
  double scale = 0;
  bool turned = false;
};

struct SavedForm {
  /// The tensors of the form: names in the file by names in the model.
  std::map<std::string, std::string> names;
  /// Texts of small files by their names.
  std::map<std::string, std::string> files;
};

struct AdapterForms {
  SavedForm merged, alone;
  std::map<std::string, LowRankSum> sums; /* by the name of the weight */
  std::string problem;                    /* why adapters cannot be merged, or empty */
};

/// Throws Error if the text of the program is damaged.
AdapterForms readAdapterForms(const nlohmann::json &described);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_ADAPTERFORMS_H
