#pragma once

#include <map>
#include <optional>
#include <string>

#include "headscope/analysis.hpp"

namespace headscope {

/// The engines of a run and the trial that chose them, in the file `engines.json` of its folder.
/// Shards and resumed runs take the engines from there, so that all multiply alike.
struct EngineRecord {
  /// What they were chosen for: SHA-256 of the model, precision, the option --engine.
  std::map<std::string, std::string> request = {};
  std::string processor = {};  ///< that the trial ran on
  int n_thread = 0;            ///< of the trial
  EngineSpeeds speeds = {};    ///< measured; empty if the engine was named
  Engines engines = {};
};

/// `int16 for differences, float32 for forward passes, int16 for logits, float32 for gradients`.
std::string engines_text(const Engines& engines);

/// Engines as JSON, by use. @throws DataError naming `place` if the text is not of that form.
std::string engines_json(const Engines& engines);
Engines engines_from_json(const std::string& json, const std::string& place);

/// EngineRecord::request of a run on a model.
std::map<std::string, std::string> engine_request(const Model& model,
                                                  const AnalysisSettings& settings);
/// Chooses the engines of a run on a model: by a trial, or the one named.
/// @throws OptionError if the engine named does not keep the precision.
EngineRecord choose_engines(const Model& model, const AnalysisSettings& settings);

/// The record of a run's folder; none if there is no such file.
/// @throws DataError if it is no record.
std::optional<EngineRecord> read_engine_record(const std::string& folder);

/// Writes the record into a run's folder, replacing an earlier one.
void write_engine_record(const std::string& folder, const EngineRecord& record);
/// Writes the record unless the folder has one. @return the folder's record: the same for all
/// processes that call this at once.
EngineRecord keep_first_engine_record(const std::string& folder, const EngineRecord& record);

}  // namespace headscope
