#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/error.hpp"

namespace headscope {

/// The file that a path names: itself, or the model file in a folder. @throws DataError if the
/// folder has none.
std::string model_file(const std::string& path);

/// The files that hold a model's tensors: an index `*.index.json` and its shards, else the file
/// itself. @throws DataError on a malformed index, or one of pickles.
std::vector<std::string> model_files(const std::string& file);

/// The files' bytes, added up.
std::uintmax_t total_size(const std::vector<std::string>& files);

/// Whether the name is that of an index, `*.index.json`.
bool is_model_index(const std::string& file);

/// The path of the shard that holds each tensor.
using ShardOfTensor = std::map<std::string, std::string>;
/// Reads an index. @throws DataError if it is malformed, or names a file in another folder.
ShardOfTensor read_model_index(const std::string& path);

/// The refusal of a PyTorch checkpoint, with the line of Python that converts it.
DataError pickle_refusal(const std::string& path);

/// The refusal of a PEFT adapter, with the line of Python that adds it to its model.
DataError adapter_refusal(const std::string& path);

/// The refusal of a file by its first bytes, with the line that converts it: a PyTorch checkpoint,
/// a model of llama.cpp (GGUF) or llm.c, or a file of another kind.
/// @param begin  at least 128 bytes, where the file has them.
DataError content_refusal(const std::string& path, std::string_view begin);

}  // namespace headscope
