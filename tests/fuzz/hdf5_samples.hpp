#pragma once

#include <string>

#include "hdf5_draft.hpp"

/// Small valid HDF5 files of each kind that Headscope reads, and the words to edit them with.
namespace headscope::fuzz {

/// A model of one layer with two heads; `keras` gives Keras's dataset names and no config.
std::string model_image(bool keras);
DraftWords model_words(bool keras);

std::string results_image();
DraftWords results_words();

std::string statistics_image();
DraftWords statistics_words();

/// Three documents with token ids below 20.
std::string token_ids_image();
DraftWords token_ids_words();

/// A file of a kind and the words to edit it with.
struct Hdf5Sample {
  std::string image;
  DraftWords words;
};

/// Path of a copy of the sample, edited as the bytes say, until the next call.
const std::string& edited_file(const Hdf5Sample& sample, Bytes& bytes);

}  // namespace headscope::fuzz
