#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <functional>
#include <random>

#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "headscope/results.hpp"
#include "results/statistics_file.hpp"
#include "support/random_weights.hpp"
#include "support/results_sample.hpp"
#include "support/same_results.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using test::same_bits;

enum class Damage { flip, noise, zeros, ones, swap, cut };

/// Damages one range of the bytes, two if they are swapped.
std::string damaged(std::string bytes, Damage damage, std::mt19937_64& random) {
  const auto place = [&](std::size_t length) {
    // Half of the places are near the end, where the digest is.
    const std::size_t near = std::min<std::size_t>(bytes.size(), 200 + length);
    const std::size_t room = (random() % 2 == 0 ? near : bytes.size()) - length;
    return bytes.size() - length - random() % (room + 1);
  };
  const std::size_t length = 1 + random() % (random() % 2 == 0 ? 8 : bytes.size() / 2);
  const auto fill = [&](char value) { bytes.replace(place(length), length, length, value); };
  switch (damage) {
    case Damage::flip:
      bytes[place(1)] ^= static_cast<char>(1 << random() % 8);
      break;
    case Damage::noise:
      for (std::size_t i = 0, from = place(length); i < length; ++i) {
        bytes[from + i] = static_cast<char>(random());
      }
      break;
    case Damage::zeros:
      fill('\0');
      break;
    case Damage::ones:
      fill('\xff');
      break;
    case Damage::swap: {
      const std::size_t a = place(length), b = place(length);
      const std::string first = bytes.substr(a, length), second = bytes.substr(b, length);
      bytes.replace(a, length, second).replace(b, length, first);
      break;
    }
    case Damage::cut:
      bytes.resize(bytes.size() - length);
      break;
  }
  return bytes;
}

/// While this object exists, the heap is filled with a byte that is no valid pointer.
struct PerturbedHeap {
  PerturbedHeap() { mallopt(M_PERTURB, 165); }
  ~PerturbedHeap() { mallopt(M_PERTURB, 0); }
};

/// Reads damaged copies of a file. Each must be refused, or hold the same as the whole file.
/// @param holds_the_same  reads a copy and compares it with the undamaged file.
/// @return  the number of copies that differ and were read all the same.
int unnoticed_damages(const std::string& path, int n_copy,
                      const std::function<bool(const std::string&)>& holds_the_same) {
  const PerturbedHeap perturbed;
  const std::string whole = test::read_file(path), copy = path + ".copy";
  std::mt19937_64 random(11);
  int n_unnoticed = 0;
  for (int i = 0; i < n_copy; ++i) {
    const std::string bytes = damaged(whole, static_cast<Damage>(i % 6), random);
    test::write_file(copy, bytes);
    try {
      EXPECT_TRUE(holds_the_same(copy)) << "copy " << i;
      if (bytes != whole) ++n_unnoticed;
    } catch (const Error&) {
      continue;
    }
  }
  return n_unnoticed;
}

Model sample_model() {
  ModelConfig config = test::config_of(
      {.n_layer = 2, .n_head = 2, .d_model = 8, .d_mlp = 32, .n_ctx = 4, .d_vocab = 5});
  Model model = random_model(config, 1);
  model.tokenizer_vocab = R"({"a":0,"b":1,"ab":2,"c":3,"<|endoftext|>":4})";
  model.tokenizer_merges = "#version: 0.2\na b\n";
  return model;
}

bool same_model(const Model& a, const Model& b) {
  for (const TensorSpec& spec : tensors_of({})) {
    for (Index layer = 0; layer < (spec.per_layer() ? a.config.n_layer : 1); ++layer) {
      const auto x = tensor_values(a, spec, layer), y = tensor_values(b, spec, layer);
      if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) return false;
    }
  }
  return a.config.n_layer == b.config.n_layer && a.tokenizer_vocab == b.tokenizer_vocab &&
         a.tokenizer_merges == b.tokenizer_merges;
}

TEST(Damage, OfAModelFileIsAnErrorNotAnotherModel) {
  const test::TemporaryDirectory folder;
  const Model whole = sample_model();
  save_model(whole, folder.file("m.h5"));
  const int unnoticed = unnoticed_damages(folder.file("m.h5"), 3000, [&](const std::string& path) {
    return same_model(load_model(path), whole);
  });
  EXPECT_LE(unnoticed, 2);  // a cut may remove the digest alone
}

// Files of other programs have no digest; HDF5 must survive what is in them.
TEST(Damage, OfAModelFileWithoutADigestDoesNotEndTheProgram) {
  const test::TemporaryDirectory folder;
  save_model(sample_model(), folder.file("m.h5"));
  std::string bytes = test::read_file(folder.file("m.h5"));
  test::write_file(folder.file("m.h5"), bytes.substr(0, bytes.rfind("\nheadscope sha256 ")));
  const int unnoticed = unnoticed_damages(folder.file("m.h5"), 3000, [&](const std::string& path) {
    load_model(path);
    return true;
  });
  EXPECT_LT(unnoticed, 2000);  // damaged weights are read, most damaged structures are noticed
}

TEST(Damage, OfAStatisticsFileIsAnErrorNotAnotherNumber) {
  const test::TemporaryDirectory folder;
  std::mt19937_64 random(3);
  std::map<std::string, Statistics> parts;
  DocumentStatistics sums(parts["a"], 0);
  for (const char* name : {"total", "other"}) {
    for (double& value : sums.sum(name, {300}).values) {
      value = static_cast<double>(random() % 1000) / 7;
    }
  }
  sums.end();
  for (std::uint64_t document = 0; document < 5; ++document) {
    for (double& value : DocumentStatistics(parts["b"], document).row("loss", {50}).values) {
      value = static_cast<double>(random() % 1000) / 7;
    }
  }
  const std::map<std::string, std::string> texts{{"model", "sha"}, {"corpus", "another"}};
  save_statistics(texts, parts, folder.file("s.h5"));
  const int unnoticed = unnoticed_damages(folder.file("s.h5"), 3000, [&](const std::string& path) {
    const StatisticsFile read = load_statistics(path);
    bool same = read.texts == texts && read.parts.size() == 2 &&
                read.parts.at("a").sum_names() == parts.at("a").sum_names();
    for (const char* name : {"total", "other"}) {
      same =
          same && same_bits(read.parts.at("a").total(name).values, parts["a"].total(name).values);
    }
    const auto& rows = read.parts.at("b").rows("loss");
    for (const auto& [document, row] : parts.at("b").rows("loss")) {
      same = same && rows.contains(document) && same_bits(rows.at(document).values, row.values);
    }
    return same && rows.size() == 5;
  });
  EXPECT_LE(unnoticed, 2);  // a cut may remove the digest alone
}

TEST(Damage, OfAResultsFileIsAnErrorNotAnotherNumberOrText) {
  const test::TemporaryDirectory folder;
  write_results(test::results_sample(), folder.file("r.h5"));
  const Results whole = read_results(folder.file("r.h5"));
  const int unnoticed = unnoticed_damages(folder.file("r.h5"), 3000, [&](const std::string& path) {
    const Results read = read_results(path);
    return read.attributes == whole.attributes && test::first_difference(read, whole).empty();
  });
  EXPECT_LE(unnoticed, 2);  // a cut may remove the digest alone
}

}  // namespace
}  // namespace headscope
