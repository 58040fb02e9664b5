#include "run/engine_record.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/pending_file.hpp"
#include "files/read_file.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/processor.hpp"

namespace headscope {
namespace {

using nlohmann::json;

std::string record_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "engines.json").string();
}

json json_of_engines(const Engines& engines) {
  return {{"passes", engine_option(engines.passes)},
          {"differences", engine_option(engines.differences)},
          {"logits", engine_option(engines.logits)},
          {"gradients", engine_option(engines.gradients)},
          {"screening", engine_option(engines.screening)}};
}

Engines engines_of(const json& object) {
  const auto engine = [&](const char* use) {
    return parse_engine(object.at(use).get<std::string>()).value();
  };
  return {engine("passes"), engine("differences"), engine("logits"), engine("gradients"),
          engine("screening")};
}

std::string text_of(const EngineRecord& record) {
  json speeds = json::object();
  for (const auto& [engine, times_float32] : record.speeds)
    speeds[engine_option(engine)] = times_float32;
  const json object = {{"request", record.request},
                       {"processor", record.processor},
                       {"threads", record.n_thread},
                       {"times_float32_speed", speeds},
                       {"engines", json_of_engines(record.engines)}};
  constexpr int indent = 2;
  return object.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

EngineRecord read_record(const std::string& path) {
  try {
    const json object = json::parse(read_file(path));
    EngineRecord record;
    record.request = object.at("request");
    record.processor = object.at("processor");
    record.n_thread = object.at("threads");
    for (const auto& [name, speed] : object.at("times_float32_speed").items()) {
      record.speeds.push_back({parse_engine(name).value(), speed});
    }
    record.engines = engines_of(object.at("engines"));
    return record;
  } catch (const json::exception&) {
    throw DataError(path, "", "expected the engines of a run, got other text");
  } catch (const std::bad_optional_access&) {
    throw DataError(path, "", "names an engine that this version does not have");
  }
}

}  // namespace

std::string engines_text(const Engines& engines) {
  return engine_name(engines.differences) + " for differences, " + engine_name(engines.passes) +
         " for forward passes, " + engine_name(engines.logits) + " for logits, " +
         engine_name(engines.gradients) + " for gradients";
}

std::string engines_json(const Engines& engines) {
  return json_of_engines(engines).dump();
}

Engines engines_from_json(const std::string& text, const std::string& place) {
  try {
    return engines_of(json::parse(text));
  } catch (const std::exception&) {
    throw DataError(place, "", "expected the engines of a run, got other text");
  }
}

std::map<std::string, std::string> engine_request(const Model& model,
                                                  const AnalysisSettings& settings) {
  return {{"model SHA-256", model.sha256},
          {"--precision", settings.precision},
          {"--engine", settings.engine}};
}

EngineRecord choose_engines(const Model& model, const AnalysisSettings& settings) {
  const Precision precision = parse_precision(settings.precision).value();
  EngineRecord record{.request = engine_request(model, settings),
                      .processor = this_processor().name,
                      .n_thread = blas::thread_count()};
  if (const std::optional<Engine> named = parse_engine(settings.engine)) {
    record.engines = forced_engines(precision, *named);
  } else {
    record.speeds = try_engines(model.config);
    record.engines = fastest_engines(precision, record.speeds);
  }
  return record;
}

std::optional<EngineRecord> read_engine_record(const std::string& folder) {
  const std::string path = record_path(folder);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return read_record(path);
}

void write_engine_record(const std::string& folder, const EngineRecord& record) {
  make_folder(folder);
  PendingFile file(record_path(folder));
  file.append(text_of(record));
  file.publish_durably();
}

EngineRecord keep_first_engine_record(const std::string& folder, const EngineRecord& record) {
  make_folder(folder);
  PendingFile file(record_path(folder));
  file.append(text_of(record));
  return file.publish_first() ? record : read_record(file.path());
}

}  // namespace headscope
