#include "onnx/model_file.h"

#include "imported.h"
#include "onnx/external_data.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace convt_jit::onnx_import {
namespace {

using ::testing::HasSubstr;

class Files : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "convt_model_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::filesystem::create_directories((directory_ / name).parent_path());
        std::ofstream(directory_ / name, std::ios::binary) << bytes;
        return (directory_ / name).string();
    }
    static std::string error_of_file(const std::string& path) {
        try {
            (void)Model(path, {});
        } catch (const LayerError& error) {
            return error.what();
        }
        return "no error";
    }
    std::filesystem::path directory_;
};

using ModelFiles = Files;
using ExternalFiles = Files;

TEST_F(ModelFiles, AreRead) {
    const std::string path = write("m.onnx", one_node({1, 3, 5, 5}, {3, 4, 2, 2}).SerializeAsString());
    const Model model(path, {});
    ASSERT_EQ(model.imported().layers.size(), 1U);
    EXPECT_EQ(model.imported().layers[0].named.where, path + ": node \"up\" (ConvTranspose)");
    EXPECT_EQ(model.weights(model.imported().layers[0]).w->size(), 48U);
}

// Wherever it is cut off it is a clear error, or, where the rest is a message by chance, less of a model.
TEST_F(ModelFiles, CutOffAnywhere) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 2, 2});
    set(node_named(model, "up"), "strides", std::vector<std::int64_t>{2, 2});
    const std::string bytes = model.SerializeAsString();
    int refused = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const std::string error = error_of_file(write("m.onnx", bytes.substr(0, size)));
        refused += error != "no error";
        if (error != "no error") {
            EXPECT_THAT(error, HasSubstr("m.onnx is "));
            EXPECT_THAT(error, HasSubstr("allowed: an ONNX model"));
        }
    }
    EXPECT_GT(refused, static_cast<int>(bytes.size()) - 20);
}

TEST_F(ModelFiles, WhatIsNoModel) {
    EXPECT_THAT(error_of_file((directory_ / "none.onnx").string()), HasSubstr("not readable: No such file"));
    EXPECT_THAT(error_of_file(directory_.string()), HasSubstr("no regular file"));
    EXPECT_THAT(error_of_file("/dev/null"), HasSubstr("no regular file"));
    EXPECT_THAT(error_of_file(write("empty.onnx", "")), HasSubstr("empty"));
    EXPECT_THAT(error_of_file(write("text.onnx", "{\"in_channels\": 3}\n")), HasSubstr("no protobuf message"));
    EXPECT_THAT(error_of_file(write("ir.onnx", "\x08\x07")), HasSubstr("without a graph"));
}

TEST_F(ModelFiles, LargerThanProtobufCanRead) {
    const std::string path = write("large.onnx", "x");
    std::filesystem::resize_file(path, std::uint64_t{1} << 31);  // takes no room on the disk
    EXPECT_THAT(error_of_file(path), HasSubstr("2147483648 bytes long; allowed: an ONNX model of up to 2147483647"));
}

// Two bytes in the file become a message of over a hundred in memory.
TEST_F(ModelFiles, ThatBecomeTooMuchInMemory) {
    std::string graph;
    for (int i = 0; i < 4000000; ++i) graph += std::string("\x0a\x00", 2);  // an empty node
    std::string bytes = "\x3a";
    for (std::size_t size = graph.size(); size != 0; size >>= 7)
        bytes += static_cast<char>((size & 0x7f) | (size >> 7 != 0 ? 0x80 : 0));
    EXPECT_THAT(error_of_file(write("bomb.onnx", bytes + graph)), HasSubstr("in memory; allowed: an ONNX model"));
}

TEST_F(ModelFiles, GraphsWithinGraphsEnd) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 2, 2});
    GraphProto* graph = model.mutable_graph();
    for (int depth = 0; depth < 200; ++depth)
        graph = add_attribute(add_node(*graph, "If", {"c"}, {}), "then_branch", AttributeProto::GRAPH).mutable_g();
    EXPECT_THAT(error_of_file(write("deep.onnx", model.SerializeAsString())), HasSubstr("no protobuf message"));
}

TEST_F(ExternalFiles, StayBelowTheFolder) {
    for (const char* wrong : {"", "/etc/passwd", "../w", "a/../../w", "a/..", "..", "folder/"})
        EXPECT_THROW(check_location(wrong), LayerError) << wrong;
    try {
        check_location(std::string("a\0b", 3));
        FAIL() << "accepted";
    } catch (const LayerError& error) {
        EXPECT_NE(std::string(error.what()).find("\"a\\0b\"; allowed: a file"), std::string::npos) << error.what();
    }
    for (const char* right : {"w", "a/w", "./w", "a..b", "...", "a//w"})
        EXPECT_NO_THROW(check_location(right)) << right;
}

TEST_F(ExternalFiles, AreReadAsFarAsTheyGo) {
    (void)write("m/w.bin", "0123456789");
    (void)write("m/sub/w.bin", "abc");
    const ExternalData data((directory_ / "m").string());
    EXPECT_EQ(data.read("w.bin", 2, 3), "234");
    EXPECT_EQ(data.read("w.bin", 10, 0), "");
    EXPECT_EQ(data.read("sub/w.bin", 0, 3), "abc");
    EXPECT_EQ(data.trouble("w.bin", 0, 10), "");
    EXPECT_THAT(data.trouble("w.bin", 0, 11), HasSubstr("(offset 0, length 11) is 10 bytes long"));
    EXPECT_THAT(data.trouble("w.bin", 18446744073709551615ULL, 2), HasSubstr("10 bytes long"));
    EXPECT_THAT(data.trouble("w.bin", 1, 18446744073709551615ULL), HasSubstr("10 bytes long"));
    EXPECT_THAT(data.trouble("gone", 0, 1), HasSubstr("No such file"));
    EXPECT_THAT(data.trouble("sub", 0, 1), HasSubstr("no file"));
    EXPECT_THROW((void)data.read("gone", 0, 1), LayerError);
}

TEST_F(ExternalFiles, LinksDoNotLeadOut) {
    (void)write("secret", "secret");
    (void)write("m/w.bin", "inside");
    const auto folder = directory_ / "m";
    std::filesystem::create_symlink("../secret", folder / "relative");
    std::filesystem::create_symlink(directory_ / "secret", folder / "absolute");
    std::filesystem::create_directory_symlink("..", folder / "up");
    const ExternalData data(folder.string());
    for (const char* name : {"relative", "absolute", "up/secret"}) {
        EXPECT_THAT(data.trouble(name, 0, 6), HasSubstr("a link that leaves the model's folder")) << name;
        EXPECT_THROW((void)data.read(name, 0, 6), LayerError) << name;
    }
}

TEST_F(ExternalFiles, PipesDoNotHang) {
    std::filesystem::create_directories(directory_ / "m");
    ASSERT_EQ(mkfifo((directory_ / "m" / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(ExternalData((directory_ / "m").string()).trouble("pipe", 0, 1), HasSubstr("no file"));
    EXPECT_THAT(error_of_file((directory_ / "m" / "pipe").string()), HasSubstr("no regular file"));
}

}  // namespace
}  // namespace convt_jit::onnx_import
