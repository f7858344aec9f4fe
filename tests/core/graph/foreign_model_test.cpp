// SPDX-License-Identifier: Apache-2.0
// Files of other programs where a graph is wanted: one sentence says what each is, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using std::string_literals::operator""s;

std::string LittleEndian(uint64_t number, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  return bytes;
}

// An archive of empty files, without what only unpacking needs.
std::string Zip(const std::vector<std::string>& names) {
  std::string files, directory;
  for (const std::string& name : names) {
    files +=
        "PK\x03\x04" + std::string(22, '\0') + LittleEndian(name.size(), 2) + std::string(2, '\0') + name;
    directory +=
        "PK\x01\x02" + std::string(24, '\0') + LittleEndian(name.size(), 2) + std::string(16, '\0') + name;
  }
  return files + directory + "PK\x05\x06" + std::string(18, '\0');
}

class ForeignModelTest : public testing::Test {
 protected:
  ForeignModelTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("lanescope_foreign_"s + test->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~ForeignModelTest() override { std::filesystem::remove_all(folder_); }

  std::string ErrorAbout(const std::string& bytes, const std::string& name = "model") {
    const std::string path = (folder_ / name).string();
    WriteFile(path, bytes);
    const std::string error = ErrorOf([&] { ReadGraph(path); });
    EXPECT_THAT(error, AllOf(HasSubstr("InvalidArgument: "), HasSubstr(path), Not(HasSubstr("\n"))));
    return error;
  }

  std::filesystem::path folder_;
};

TEST_F(ForeignModelTest, ArchivesAreToldByTheNamesInThem) {
  EXPECT_THAT(ErrorAbout(Zip({"metadata.json", "config.json", "model.weights.h5"})),
              AllOf(HasSubstr("is a model of Keras"), HasSubstr("model.export(FOLDER)"),
                    HasSubstr("tf.saved_model.save")));
  EXPECT_THAT(ErrorAbout(Zip({"p/archive_format", "p/models/model.json"})),
              AllOf(HasSubstr("is a program of torch.export"), HasSubstr("lanescope.torch.export")));
  EXPECT_THAT(ErrorAbout(Zip({"s/data.pkl", "s/code/__torch__/m.py"})),
              HasSubstr("is a TorchScript archive"));
  EXPECT_THAT(ErrorAbout(Zip({"w/data.pkl", "w/byteorder", "w/data/0"})),
              AllOf(HasSubstr("was written by torch.save"), HasSubstr("lanescope.torch.export")));
  EXPECT_THAT(ErrorAbout(Zip({"m/saved_model.pb"})), HasSubstr("unpack it and give its folder"));
  EXPECT_THAT(ErrorAbout(Zip({"a.txt"})), HasSubstr("is a ZIP archive"));
}

TEST_F(ForeignModelTest, OthersAreToldByHowTheyBegin) {
  EXPECT_THAT(ErrorAbout("\x89HDF\r\n\x1a\n" + std::string(88, '\0')),
              AllOf(HasSubstr("is an HDF5 file"), HasSubstr("model.export(FOLDER)")));
  EXPECT_THAT(ErrorAbout("\x1c\0\0\0TFL3\x14\0"s), HasSubstr("is a model of TensorFlow Lite"));
  EXPECT_THAT(ErrorAbout("\x80\x02\x8a\x0al\xfc\x9c"), HasSubstr("is a pickle"));
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_THAT(ErrorAbout(LittleEndian(header.size(), 8) + header + std::string(4, '\0')),
              AllOf(HasSubstr("holds weights alone"), HasSubstr("lanescope.torch.export")));
  EXPECT_THAT(ErrorAbout("GGUF\x03\0\0\0"s),
              AllOf(HasSubstr("holds weights alone (GGUF)"), HasSubstr("lanescope.torch.export")));
  // A file that is cut off, too.
  EXPECT_THAT(ErrorAbout("", "w.safetensors"), HasSubstr("holds weights alone (safetensors)"));
  EXPECT_THAT(ErrorAbout("", "w.gguf"), HasSubstr("holds weights alone (GGUF)"));
}

TEST_F(ForeignModelTest, AFileOfASavedModelNamesItsFolder) {
  EXPECT_THAT(ErrorAbout("\x08\x01\x12\x00"s, "saved_model.pb"),
              HasSubstr("is one file of a SavedModel; give its folder, '" + folder_.string() + "'"));
  EXPECT_THAT(ErrorAbout("\x12\x00"s, "saved_model.pb"), HasSubstr("give its folder"));
}

// Archives that are cut off anywhere, and headers larger than their files.
TEST_F(ForeignModelTest, DamagedFilesAreRefusedToo) {
  const std::string zip = Zip({"w/data.pkl"});
  for (size_t size = 0; size < zip.size(); ++size) {
    const std::string path = (folder_ / "cut").string();
    WriteFile(path, zip.substr(0, size));
    const std::string error = ErrorOf([&] { ReadGraph(path); });
    if (size < 4) continue;
    EXPECT_THAT(error, HasSubstr("InvalidArgument")) << size;
  }
  EXPECT_THAT(ErrorAbout("\xff\xff\xff\xff\xff\xff\xff\xff{\""), HasSubstr("no GraphDef"));
}

// A GraphDef of no bytes is one.
TEST_F(ForeignModelTest, AFileWithoutNodesHoldsNoGraph) {
  EXPECT_THAT(ErrorAbout("", "g.pb"), HasSubstr("the file is empty"));
  EXPECT_THAT(ErrorAbout("", "g.pbtxt"), HasSubstr("the file is empty"));
  EXPECT_THAT(ErrorAbout("# nothing\n", "g.pbtxt"), HasSubstr("the graph has no nodes"));
}

// A node whose name begins as a model of TensorFlow Lite is marked: the graph is read.
TEST_F(ForeignModelTest, AGraphIsAGraph) {
  const std::string path = (folder_ / "saved_model.pb").string();
  WriteFile(path, GraphToBinary(ParseGraphText("node { name: 'TFL3' op: 'NoOp' }")));
  EXPECT_EQ(ReadGraph(path).num_nodes(), 1u);
}

}  // namespace
}  // namespace lanescope
