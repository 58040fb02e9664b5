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

}  // namespace headscope::fuzz
