#include "hdf5_samples.hpp"

#include "base/text.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "headscope/results.hpp"
#include "results/statistics_file.hpp"
#include "support/random_weights.hpp"
#include "support/results_sample.hpp"

namespace headscope::fuzz {
namespace {

const std::vector<std::string> texts{"gelu_new",
                                     "relu",
                                     "gpt2",
                                     "",
                                     "{\"0\":[0]}",
                                     "{\"0\":[0,1]}",
                                     "{\"1\":[0]}",
                                     "[[[",
                                     "DIMENSION_SCALE",
                                     "layer",
                                     "head",
                                     "pruning",
                                     "control/pruning",
                                     "claims",
                                     "loss_increase",
                                     "two\nlines",
                                     "\xff\xfe",
                                     "\x1b[31m",
                                     "headscope results 3",
                                     "headscope statistics 3"};

std::string image_of(const auto& write) {
  const OutputPath output;
  write(output.path());
  const std::string image = read_file(output.path());
  // Without its SHA-256 a file is still read, and edits are not refused as damage.
  return image.substr(0, image.rfind("\nheadscope sha256 "));
}

ModelConfig small_config() {
  return test::config_of(
      {.n_layer = 1, .n_head = 2, .d_model = 4, .d_mlp = 6, .n_ctx = 3, .d_vocab = 5});
}

std::string stored_name(const TensorSpec& spec, bool keras) {
  if (!keras) return spec.name_in(0);
  std::string name = spec.keras_name();
  replace_all(name, "{i}", "0");
  return "transformer/tfgp_t2lm_head_model/transformer/" + name;
}

void write_tensor(hid_t file, const std::string& name, const Shape& shape,
                  std::span<const float> values) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const hdf5::Handle space(
      H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  const hdf5::Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const hdf5::Handle dataset(
      H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

}  // namespace

// Written without chunks, as by Keras and h5py; small files make fast runs.
std::string model_image(bool keras) {
  return image_of([&](const std::string& path) {
    const ModelConfig config = small_config();
    const Model model = random_model(config, 1);
    const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                            H5Fclose);
    for (const TensorSpec& spec : tensors_of({})) {
      if (spec.presence == Presence::optional) continue;
      Shape shape = spec.shape(config);
      if (keras && shape.size() == 1 && spec.name.ends_with(".bias"))
        shape.insert(shape.begin(), 1);
      write_tensor(file, stored_name(spec, keras), shape, tensor_values(model, spec));
    }
    if (keras) return;
    const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const hdf5::Handle heads(
        H5Acreate2(file, "n_head", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const std::int64_t two = 2;
    H5Awrite(heads, H5T_NATIVE_INT64, &two);
  });
}

DraftWords model_words(bool keras) {
  DraftWords words;
  for (const TensorSpec& spec : tensors_of({})) {
    if (keras && spec.presence == Presence::optional) continue;
    words.objects.push_back(stored_name(spec, keras));
    if (spec.per_layer() && !keras) words.objects.push_back(spec.name_in(1));
  }
  for (const char* const name :
       {"h.0.attn.bias", "transformer.wte.weight", "h.00.ln_1.weight", "tokenizer/vocab",
        "tokenizer/merges", "tokenizer/added_tokens", "tokens", "offsets"}) {
    words.objects.emplace_back(name);
  }
  words.attributes = {"n_layer",
                      "n_head",
                      "n_embd",
                      "n_inner",
                      "n_positions",
                      "vocab_size",
                      "layer_norm_epsilon",
                      "activation_function",
                      "tie_word_embeddings",
                      "pruned_heads",
                      "model_type",
                      "scale_attn_weights"};
  words.texts = texts;
  return words;
}

std::string results_image() {
  return image_of([](const std::string& path) { write_results(test::results_sample(), path); });
}

DraftWords results_words() {
  DraftWords words;
  for (const char* const name : {"pruning",
                                 "control/pruning",
                                 "claims",
                                 "control",
                                 "pruning/loss_increase",
                                 "pruning/loss_increase_ci_low",
                                 "pruning/documents",
                                 "pruning/primary",
                                 "pruning/example",
                                 "pruning/layer",
                                 "pruning/head",
                                 "pruning/ablation",
                                 "pruning/type",
                                 "pruning/fraction",
                                 "pruning/saving",
                                 "pruning/loss_baseline",
                                 "control/pruning/cosine_all",
                                 "claims/number",
                                 "claims/verdict",
                                 "claims/statement",
                                 "claims/effect",
                                 "claims/group",
                                 "claims/evidence",
                                 "claims/effect_name",
                                 "claims/claim",
                                 "claims/ci_low"}) {
    words.objects.emplace_back(name);
  }
  words.attributes = {"format",
                      "groups",
                      "title",
                      "summary",
                      "variables",
                      "long_name",
                      "units",
                      "references",
                      "flag_values",
                      "flag_meanings",
                      "CLASS",
                      "NAME",
                      "ancillary_variables",
                      "resampling",
                      "DIMENSION_LIST",
                      "REFERENCE_LIST",
                      "seed",
                      "_Netcdf4Dimid"};
  words.texts = texts;
  return words;
}

std::string statistics_image() {
  return image_of([](const std::string& path) {
    Statistics statistics;
    for (const std::uint64_t document : {0, 1, 5}) {
      DocumentStatistics part(statistics, document);
      part.sum("total", {2, 3}).values[1] += 0.5;
      part.sum("a/b.c%", {}).values[0] += 7;
      part.row("loss", {2}).values[0] = static_cast<double>(document);
      part.record("cases", {document}).values.assign(document, 1);
      part.texts("id") = {"d", std::to_string(document)};
      part.end();
    }
    save_statistics({{"model", "m"}, {"documents", "0..3"}}, {{"part", statistics}}, path);
  });
}

DraftWords statistics_words() {
  const std::string part = "parts/part/";
  return {{"texts", "parts", "parts/part", part + "sums", part + "rows", part + "documents",
           part + "sums/total", part + "sums/a%2fb%2ec%25", part + "rows/loss",
           part + "documents/loss", part + "sums/%", part + "rows/new", part + "documents/new",
           part + "records/cases/5", part + "records/cases/6", part + "texts/id/1",
           part + "text_lengths/id/1", part + "text_lengths/id/2"},
          {"format", "name"},
          texts};
}

std::string token_ids_image() {
  return image_of([](const std::string& path) {
    hdf5::OutputFile file(path);
    const std::vector<std::int64_t> tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    const std::vector<std::int64_t> offsets{0, 5, 6, 12};
    file.write("tokens", {tokens.size()}, std::span<const std::int64_t>(tokens));
    file.write("offsets", {offsets.size()}, std::span<const std::int64_t>(offsets));
    file.publish();
  });
}

DraftWords token_ids_words() {
  return {{"tokens", "offsets", "tokens/a"}, {"name"}, texts};
}

const std::string& edited_file(const Hdf5Sample& sample, Bytes& bytes) {
  Hdf5Draft draft(sample.image, sample.words);
  draft.edit(bytes);
  return file_with(draft.image());
}

}  // namespace headscope::fuzz
