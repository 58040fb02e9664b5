#pragma once

#include <string>

#include "hdf5_draft.hpp"

/// The bytes of small valid HDF5 files of each kind that is read, and the words they are made of.
namespace headscope::fuzz {

/// One layer of two heads; `keras` names its datasets as Keras does, and leaves out the config.
std::string model_image(bool keras);
DraftWords model_words(bool keras);

std::string results_image();
DraftWords results_words();

std::string statistics_image();
DraftWords statistics_words();

/// Three documents of ids below 20.
std::string token_ids_image();
DraftWords token_ids_words();

}  // namespace headscope::fuzz
