// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/core/base/expect_error.h"
#include "tests/sims/sample_costs.h"

namespace lanescope::sims {
namespace {

using ::testing::HasSubstr;

TEST(CostTable, ComesBackAsItWasWritten) {
  const std::string text = CostTableToJson(SampleTable());
  const CostTable table = ParseCostTable(text);
  EXPECT_EQ(CostTableToJson(table), text);
  const Delays delays = DelaysOf(table.effects);
  EXPECT_EQ(delays.handoff(QueueClass::kCopy, QueueClass::kCompute), 5);
  EXPECT_EQ(delays.handoff(QueueClass::kMessage, QueueClass::kCopy), 17);
  EXPECT_EQ(delays.signal_ns, 19);
  EXPECT_EQ(delays.message_overhead_ns, 20);
  EXPECT_EQ(delays.message_byte_ns, 0.25);
  EXPECT_EQ(delays.gap(DeviceKind::kVirtual, QueueClass::kCopy), 2);
  EXPECT_EQ(delays.gap(DeviceKind::kCuda, QueueClass::kStream), 5);
  EXPECT_EQ(table.effects.Get<Issue>().times.single_ns, 21);
  EXPECT_EQ(table.effects.Get<Issue>().times.segment_ns, 22);
  EXPECT_EQ(table.effects.Get<Issue>().times.recorded_ns, 23);
  EXPECT_EQ(table.effects.Get<Issue>().times.feed_byte_ns, 0.5);
  EXPECT_EQ(table.effects.Get<StreamHandOff>().between_ns, 24);
  EXPECT_EQ(table.effects.Get<StreamHandOff>().to_host_ns, 25);
  EXPECT_EQ(table.effects.Get<FrontEnd>().look_ns, 26);
  EXPECT_EQ(delays.wake_ns[0][1], 11);
  EXPECT_DOUBLE_EQ(InterferenceOf(table.effects).gpu.slowdown[2][1], 1.7);
  EXPECT_EQ(table.copies[0].max_bytes, 100'000);
  EXPECT_EQ(table.effects.Get<CacheTransfers>().curve.Ns(128), 13);
}

// Law: cache transfers are read under the name of before, too, and not under both.
TEST(CostTable, ReadsCacheTransfersUnderTheirNameOfBefore) {
  const std::string text = CostTableToJson(SampleTable());
  nlohmann::json file = nlohmann::json::parse(text);
  file["fetches"] = file.at("cache_transfers");
  EXPECT_THAT(ErrorOf([&] { ParseCostTable(file.dump()); }), HasSubstr("fetches"));
  file.erase("cache_transfers");
  EXPECT_EQ(CostTableToJson(ParseCostTable(file.dump())), text);
}

// Laws: other hosts come back as they were written; a file of one host says nothing of others.
TEST(CostTable, KeepsOtherComputers) {
  CostTable written = SampleTable();
  EXPECT_EQ(CostTableToJson(written).find("other_hosts"), std::string::npos);
  EXPECT_TRUE(ParseCostTable(CostTableToJson(written)).effects.Get<Cores>().others.empty());
  auto cores = written.effects.Get<Cores>();
  cores.others = {{{"/job:w/task:1", "/job:w/task:3"}, 8, {0.5, 1.25}}, {{"/job:w/task:2"}, 1, {}}};
  written.effects.Put(cores);
  const std::string text = CostTableToJson(written);
  const CostTable table = ParseCostTable(text);
  EXPECT_EQ(CostTableToJson(table), text);
  const std::vector<OtherComputer> others = table.effects.Get<Cores>().others;
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].tasks, cores.others[0].tasks);
  EXPECT_EQ(others[0].cores, 8);
  EXPECT_EQ(others[0].speed.compute, 0.5);
  EXPECT_EQ(others[0].speed.memory, 1.25);
  EXPECT_EQ(others[1].speed.compute, 1);
}

// Law: other hosts are read under the name of before, too, and not under both.
TEST(CostTable, ReadsOtherHostsUnderTheirNameOfBefore) {
  CostTable written = SampleTable();
  auto cores = written.effects.Get<Cores>();
  cores.others = {{{"/job:w/task:1"}, 8, {0.5, 1.25}}};
  written.effects.Put(cores);
  const std::string text = CostTableToJson(written);
  nlohmann::json file = nlohmann::json::parse(text);
  nlohmann::json& part = file.at("interference");
  part["other_computers"] = part.at("other_hosts");
  EXPECT_THAT(ErrorOf([&] { ParseCostTable(file.dump()); }), HasSubstr("other_computers"));
  part.erase("other_hosts");
  EXPECT_EQ(CostTableToJson(ParseCostTable(file.dump())), text);
}

nlohmann::json List(std::initializer_list<nlohmann::json> items) {
  nlohmann::json list = nlohmann::json::array();
  for (const nlohmann::json& item : items) list.push_back(item);
  return list;
}

TEST(CostTable, RefusesComputersThatCannotBe) {
  const nlohmann::json good = nlohmann::json::parse(CostTableToJson(SampleTable()));
  const auto error = [&](const nlohmann::json& computers) {
    nlohmann::json file = good;
    file["interference"]["other_hosts"] = computers;
    return ErrorOf([&] { ParseCostTable(file.dump()); });
  };
  const auto computer = [](const char* key, const nlohmann::json& value) {
    nlohmann::json made = {{"tasks", List({"a"})}, {"cores", 1}, {"compute_speed", 1}, {"memory_speed", 1}};
    made[key] = value;
    return made;
  };
  const nlohmann::json a = computer("cores", 1), b = computer("tasks", List({"b"}));
  EXPECT_EQ(error(List({a, b})), "");
  EXPECT_THAT(error(List({a, b, a})), HasSubstr("names task 'a' twice"));
  EXPECT_THAT(error(List({computer("tasks", List({"b", "a", "b"}))})), HasSubstr("names task 'b' twice"));
  EXPECT_THAT(error(List({computer("tasks", List({}))})), HasSubstr("'tasks' must name a task"));
  EXPECT_THAT(error(List({computer("tasks", List({1}))})), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error(List({computer("cores", 0)})), HasSubstr("'cores' must be an integer from 1"));
  EXPECT_THAT(error(List({computer("compute_speed", 0)})), HasSubstr("'compute_speed' must lie between"));
  EXPECT_THAT(error(List({computer("memory_speed", 1001)})), HasSubstr("'memory_speed' must lie between"));
  EXPECT_THAT(error(List({computer("speed", 1)})), HasSubstr("speed"));
  EXPECT_THAT(error(a), HasSubstr("must be a list"));
  EXPECT_THAT(error(List({1})), HasSubstr("other_hosts[0] must be a JSON object"));
  nlohmann::json many = List({});
  for (size_t i = 0; i <= 1024; ++i) many.push_back(computer("tasks", List({std::to_string(i)})));
  EXPECT_THAT(error(many), HasSubstr("more than 1024 tasks"));
  many.erase(0);
  EXPECT_EQ(error(many), "");
}

TEST(CostTable, RefusesHostileFiles) {
  const std::string good = CostTableToJson(SampleTable());
  const auto refused = [](const std::string& text) {
    try {
      ParseCostTable(text);
    } catch (const Error& error) {
      return error.code() == Code::kInvalidArgument;
    }
    return false;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("[]"));
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused(std::string(100'000, '[')));
  EXPECT_TRUE(refused(good.substr(0, good.size() / 2)));
  EXPECT_TRUE(refused(with("lanescope-cost", "something")));
  EXPECT_TRUE(refused(with("\"version\": 1", "\"version\": 2")));
  EXPECT_TRUE(refused(with("\"ns\": 110", "\"ns\": -110")));
  EXPECT_TRUE(refused(with("\"ns\": 110", "\"ns\": 1e300")));
  EXPECT_TRUE(refused(with("\"ns\": 110", "\"ns\": \"110\"")));
  EXPECT_TRUE(refused(with("\"count\": 20", "\"count\": 0")));
  EXPECT_TRUE(refused(with("\"factor\": 1.5", "\"factor\": 1e999")));
  EXPECT_TRUE(refused(with("\"src\": \"modelled\"", "\"src\": \"abacus\"")));
  EXPECT_TRUE(refused(with("\"memory\": 1.7", "\"memory\": 0")));
  EXPECT_TRUE(refused(with("\"launches\": [", "\"launches\": 3, \"x\": [")));
  EXPECT_TRUE(refused(with("\"step_start_ns\"", "\"step_begin_ns\"")));
  // A change of any byte gives nothing but an Error.
  for (size_t i = 0; i + 2 < good.size(); i += 7) {
    std::string broken = good;
    broken[i] = static_cast<char>(broken[i] ^ 0x15);
    try {
      ParseCostTable(broken);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace lanescope::sims
