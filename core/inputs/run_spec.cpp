// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/run_spec.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "core/inputs/feed_generators.h"
#include "core/inputs/feed_json.h"

namespace lanescope {
namespace {

std::map<std::string, int> ReadBatchAxes(JsonObject* object, const std::map<std::string, FeedSpec>& feeds) {
  std::map<std::string, int> axes;
  const nlohmann::json* json = object->Find("batch_axis");
  if (json == nullptr) return axes;
  JsonObject entries(*json, "batch_axis");
  for (const auto& [name, axis] : json->items()) {
    const auto feed = feeds.find(name);
    if (feed == feeds.end()) entries.Fail(name, "is not a feed");
    if (feed->second.shape.rank() == 0) entries.Fail(name, "is a feed without axes");
    axes[name] = static_cast<int>(entries.Integer(name, 0, feed->second.shape.rank() - 1));
  }
  return axes;
}

// A polynomial needs a numeric feed of its own size whose values don't themselves depend on a feed.
void CheckPolynomials(const std::map<std::string, FeedSpec>& feeds) {
  for (const auto& [name, feed] : feeds) {
    if (feed.generator != "polynomial") continue;
    const auto of = feeds.find(feed.of);
    if (of == feeds.end() || of->second.generator == "polynomial" || of->second.dtype == DataType::kString ||
        of->second.shape.NumElements() != feed.shape.NumElements()) {
      Throw(Code::kInvalidArgument,
            "feed '{}': key 'of' must name a numeric feed of the same size that is no polynomial", name);
    }
  }
}

std::map<std::string, int64_t> ReadTrips(JsonObject* object) {
  std::map<std::string, int64_t> trips;
  const nlohmann::json* json = object->Find("trips");
  if (json == nullptr) return trips;
  JsonObject entries(*json, "trips");
  for (const auto& [name, times] : json->items()) trips[name] = entries.Integer(name, 0, 1 << 19);
  return trips;
}

std::vector<QueueRunnerSpec> ReadQueueRunners(JsonObject* object) {
  std::vector<QueueRunnerSpec> runners;
  const nlohmann::json* json = object->Find("queue_runners");
  if (json == nullptr) return runners;
  if (!json->is_array()) object->Fail("queue_runners", "must be a list");
  for (const nlohmann::json& entry : *json) {
    JsonObject keys(entry, "queue_runners");
    QueueRunnerSpec& runner = runners.emplace_back();
    runner.queue = keys.String("queue");
    runner.enqueue_ops = keys.Strings("enqueue");
    if (runner.enqueue_ops.empty()) keys.Fail("enqueue", "must name an op");
    if (keys.Has("close")) runner.close_op = keys.String("close");
    if (keys.Has("cancel")) runner.cancel_op = keys.String("cancel");
    keys.Finish();
  }
  return runners;
}

}  // namespace

RunSpec ParseRunSpec(std::string_view json, const std::string& directory) {
  const nlohmann::json parsed = ParseJson(json);
  JsonObject object(parsed, "run configuration");
  RunSpec spec;
  spec.init = object.Strings("init");
  spec.fetches = object.Strings("fetches");
  spec.targets = object.Strings("targets");
  if (object.Has("loss")) spec.loss = object.String("loss");
  if (const nlohmann::json* feeds = object.Find("feeds")) {
    const JsonObject entries(*feeds, "feeds");
    for (const auto& [name, feed] : feeds->items()) spec.feeds[name] = FeedFromJson(name, feed, directory);
  }
  CheckPolynomials(spec.feeds);
  spec.batch_axis = ReadBatchAxes(&object, spec.feeds);
  spec.trips = ReadTrips(&object);
  spec.queue_runners = ReadQueueRunners(&object);
  object.Finish();
  return spec;
}

RunSpec ReadRunSpecBeside(const std::string& graph_path) {
  std::filesystem::path path(graph_path);
  path.replace_extension(".run.json");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const std::string text = ReadFile(path.string());
  try {
    return ParseRunSpec(text, path.parent_path().string());
  } catch (const Error& error) {
    Throw(error.code(), "{}: {}", path.string(), error.message());
  }
}

std::string GraphTensorOf(const RunSpec& spec, const std::string& name) {
  const auto found = spec.aliases.find(name);
  return found == spec.aliases.end() ? name : found->second;
}

std::string TitleOf(const RunSpec& spec, const std::string& tensor) {
  const auto found = spec.titles.find(tensor);
  return found == spec.titles.end() ? tensor : found->second;
}

std::vector<std::string> FetchTitles(const RunSpec& spec) {
  std::vector<std::string> titles;
  for (const std::string& fetch : spec.fetches) titles.push_back(TitleOf(spec, fetch));
  return titles;
}

std::map<std::string, Tensor> MakeFeeds(const RunSpec& spec, int64_t step) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, feed] : spec.feeds) {
    if (feed.generator == "polynomial") continue;
    tensors[name] = feed.generator.empty() ? feed.values : GenerateFeed(feed, nullptr, step);
  }
  for (const auto& [name, feed] : spec.feeds) {
    if (feed.generator == "polynomial") tensors[name] = GenerateFeed(feed, &tensors.at(feed.of), step);
  }
  return tensors;
}

}  // namespace lanescope
