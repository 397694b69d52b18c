#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "random_layer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace convt_jit {
namespace {

Layer read(const std::string& line) { return parse_layer_json(line).layer; }

// A line that is valid but for what `more` adds.
std::string line_with(const std::string& more) {
    return R"({"in_channels": 4, "out_channels": 6, "kernel_size": [3, 5])" + (more.empty() ? "" : ", " + more) + "}";
}

std::string refusal(const std::string& line) {
    try {
        (void)parse_layer_json(line);
    } catch (const LayerError& error) {
        EXPECT_FALSE(error.value().empty());
        EXPECT_FALSE(error.allowed().empty());
        return error.field();
    }
    return "";
}

TEST(LayersFile, ReadsPyTorchsNames) {
    const NamedLayer named = parse_layer_json(
        R"({"name": "up1", "in_channels": 32, "out_channels": 64, "kernel_size": [3, 5], "stride": [2, 3],
            "padding": [1, 2], "output_padding": 0, "dilation": [2, 1], "groups": 4, "bias": true,
            "dtype": "torch.float32", "input": [16, 32, 128, 256]})");
    EXPECT_EQ(named.name, "up1");
    EXPECT_EQ(to_string(named.layer), "n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias f32");
}

TEST(LayersFile, ReadsWhatPyTorchDoesNotHave) {
    EXPECT_EQ(to_string(read(line_with(R"("padding": 1, "padding_end": [0, 2], "layout": "nhwc", "precision": "tf32",
                                         "epilogue": "relu affine clamp0:6")"))),
              "c4 o6 k3x5 p1:0x2 tf32 nhwc affine relu clamp0:6");
}

TEST(LayersFile, FillsTheSameDefaultsAsTheLayerString) {
    EXPECT_EQ(read(line_with("")), parse_layer("c4 o6 k3x5"));
    EXPECT_EQ(read(line_with(R"("name": null, "input": null, "epilogue": null, "stride": null)")),
              parse_layer("c4 o6 k3x5"));
    EXPECT_EQ(read(line_with(R"("epilogue": "")")), parse_layer("c4 o6 k3x5"));
}

TEST(LayersFile, ReadsEachNameOfADtype) {
    for (const char* name : {"f16", "float16", "half", "torch.float16", "torch.half"})
        EXPECT_EQ(read(line_with(std::string(R"("dtype": ")") + name + '"')).dtype, DType::f16) << name;
    for (const char* name : {"bf16", "bfloat16", "torch.bfloat16"})
        EXPECT_EQ(read(line_with(std::string(R"("dtype": ")") + name + '"')).dtype, DType::bf16) << name;
    for (const char* name : {"f32", "float32", "float", "torch.float32"})
        EXPECT_EQ(read(line_with(std::string(R"("dtype": ")") + name + '"')).dtype, DType::f32) << name;
}

TEST(LayersFile, TakesTheNumberOfAxesFromAnyListOrTheInput) {
    const std::string scalars = R"({"in_channels": 4, "out_channels": 6, "kernel_size": 3)";
    EXPECT_EQ(read(scalars + R"(, "input": [1, 4, 8, 8]})").kernel, (Dims{3, 3}));
    EXPECT_EQ(read(scalars + R"(, "input": [null, 4, null, null, null]})").kernel, (Dims{3, 3, 3}));
    EXPECT_EQ(read(scalars + R"(, "stride": [2]})").kernel, (Dims{3}));
    EXPECT_EQ(refusal(scalars + "}"), "kernel_size");  // 3 or 3x3?
}

TEST(LayersFile, KeepsBatchWithoutInputAndInputWithoutBatch) {
    const Layer batch = read(line_with(R"("input": [7, 4, null, null])"));
    EXPECT_EQ(batch, parse_layer("n7 c4 o6 k3x5"));
    EXPECT_EQ(read(to_json({"", batch})), batch);
    const Layer input = read(line_with(R"("input": [null, 4, 8, 9])"));
    EXPECT_EQ(input, parse_layer("c4 o6 in8x9 k3x5"));
    EXPECT_EQ(read(to_json({"", input})), input);
    EXPECT_EQ(read(line_with(R"("input": [null, 4, null, null])")), parse_layer("c4 o6 k3x5"));
}

TEST(LayersFile, MeansTheSameAsTheLayerString) {
    constexpr std::uint64_t seed = 78;
    RandomLayers random(seed);
    for (int i = 0; i < 3000; ++i) {
        Layer layer = random.draw();
        if (random.chance(30)) layer.batch.reset();
        if (random.chance(30)) layer.input = {};
        const std::string name = random.chance(50) ? "" : "layer \"\u00e9\"\n" + std::to_string(i);
        const std::string line = to_json({name, layer});
        SCOPED_TRACE("seed " + std::to_string(seed) + " layer " + std::to_string(i) + ": " + line);
        ASSERT_EQ(line.find('\n'), std::string::npos);
        const NamedLayer again = parse_layer_json(line);
        ASSERT_EQ(again.layer, layer);
        ASSERT_EQ(again.name, name);
        ASSERT_EQ(to_json(again), line);
        ASSERT_EQ(parse_layer(to_string(again.layer)), layer);
    }
}

TEST(LayersFile, PrintsOneOrderOfKeys) {
    EXPECT_EQ(to_json({"up", parse_layer("n1 c4 o6 in8x9 k3x5 p1:2 bias f16 nhwc relu")}),
              R"({"name":"up","in_channels":4,"out_channels":6,"kernel_size":[3,5],"stride":[1,1],"padding":[1,1],)"
              R"("padding_end":[2,2],"output_padding":[0,0],"dilation":[1,1],"groups":1,"bias":true,"dtype":"f16",)"
              R"("layout":"nhwc","epilogue":"relu","input":[1,4,8,9]})");
    EXPECT_THROW((void)to_json({"\xff", parse_layer("c1 o1 k1")}), LayerError);
}

TEST(LayersFile, NamesTheKeyOfWhatItCannotTake) {
    EXPECT_EQ(refusal(line_with("")), "");
    EXPECT_EQ(refusal(line_with(R"("kernel": 3)")), "kernel");
    EXPECT_EQ(refusal(line_with(R"("stride": 2, "stride": 3)")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": 2.0)")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": "2")")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": true)")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": [2, 2.5])")), "stride[1]");
    EXPECT_EQ(refusal(line_with(R"("stride": [2, null])")), "stride[1]");
    EXPECT_EQ(refusal(line_with(R"("stride": [])")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": [1, 1, 1])")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": [1, 1, 1, 1])")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": {"h": 1})")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": [0, 1])")), "stride[0]");
    EXPECT_EQ(refusal(line_with(R"("stride": 9223372036854775808)")), "stride");
    EXPECT_EQ(refusal(line_with(R"("stride": 99999999999999999999999)")), "stride");
    EXPECT_EQ(refusal(line_with(R"("groups": 1e2)")), "groups");
    EXPECT_EQ(refusal(line_with(R"("groups": 3)")), "groups");
    EXPECT_EQ(refusal(line_with(R"("bias": 1)")), "bias");
    EXPECT_EQ(refusal(line_with(R"("dtype": "f64")")), "dtype");
    EXPECT_EQ(refusal(line_with(R"("dtype": 32)")), "dtype");
    EXPECT_EQ(refusal(line_with(R"("precision": "fast")")), "precision");
    EXPECT_EQ(refusal(line_with(R"("precision": "tf32", "dtype": "f16")")), "precision");
    EXPECT_EQ(refusal(line_with(R"("layout": "NCHW")")), "layout");
    EXPECT_EQ(refusal(line_with(R"("epilogue": "relu foo")")), "epilogue");
    EXPECT_EQ(refusal(line_with(R"("epilogue": "relu silu")")), "epilogue");
    EXPECT_EQ(refusal(line_with(R"("epilogue": ["relu"])")), "epilogue");
    EXPECT_EQ(refusal(line_with(R"("epilogue": "clamp1:0")")), "epilogue.clamp");
    EXPECT_EQ(refusal(line_with(R"("name": 3)")), "name");
    EXPECT_EQ(refusal(line_with(R"("input": [1, 4, 8])")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": [4, 8])")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": [1, 4, 8, 8, 8, 8])")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": [1, 5, 8, 8])")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": [1, null, 8, 8])")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": [1, 4, 8, null])")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": 8)")), "input");
    EXPECT_EQ(refusal(line_with(R"("input": [1, 4, 0, 8])")), "input[0]");
    EXPECT_EQ(refusal(line_with(R"("input": [-1, 4, 8, 8])")), "batch");
    EXPECT_EQ(refusal(line_with(R"("input": [1.5, 4, 8, 8])")), "batch");
    EXPECT_EQ(refusal(R"({"out_channels": 6, "kernel_size": [3]})"), "in_channels");
    EXPECT_EQ(refusal(R"({"in_channels": 4, "kernel_size": [3]})"), "out_channels");
    EXPECT_EQ(refusal(R"({"in_channels": 4, "out_channels": 6})"), "kernel_size");
}

TEST(LayersFile, RefusesWhatIsNoJsonObject) {
    for (const char* line :
         {"", "{", "[1, 2]", "3", "null", "{} {}", "\xff\xfe",
          R"({"name": ")"
          "\xc3"
          R"("})",
          "{'a': 1}", R"({"in_channels": 1e999})", R"({"in_channels": NaN})", R"({"name": "\ud800"})"})
        EXPECT_EQ(refusal(line), "JSON") << line;
    EXPECT_EQ(refusal(std::string(200000, '[')), "JSON");
    EXPECT_EQ(refusal(R"({"input": )" + std::string(100000, '[') + std::string(100000, ']') + "}"), "in_channels");
}

TEST(LayersFile, ANulEndsNothing) {
    const std::string good = line_with("");
    const auto column = [&](std::string line, std::size_t at) -> std::string {
        line.insert(at, 1, '\0');
        try {
            (void)parse_layer_json(line);
        } catch (const LayerError& error) {
            return error.value();
        }
        return "accepted";
    };
    EXPECT_EQ(column(good, good.size()), "broken at column " + std::to_string(good.size() + 1));
    EXPECT_EQ(column(good + " garbage", good.size()), "broken at column " + std::to_string(good.size() + 1));
    EXPECT_EQ(column(good, 0), "broken at column 1");
    EXPECT_EQ(column(good, 4), "broken at column 5");
}

TEST(LayersFile, SurvivesAnyChangeOfALine) {
    const std::string line = to_json({"up", parse_layer("n1 c4 o6 in8x9 k3x5 p1:2 bias f16 nhwc relu")});
    std::mt19937_64 random(5);
    for (int i = 0; i < 5000; ++i) {
        std::string changed = line;
        for (std::uint64_t n = 1 + random() % 3; n > 0; --n)
            changed[random() % changed.size()] = static_cast<char>(random());
        try {
            const NamedLayer named = parse_layer_json(changed);
            ASSERT_EQ(parse_layer(to_string(named.layer)), named.layer) << changed;
        } catch (const LayerError&) {
        }
    }
}

class LayersFileOnDisk : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(directory_); }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    [[nodiscard]] std::string write(const std::string& text) const {
        const std::string path = (directory_ / "layers.jsonl").string();
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    static std::string message(const std::string& path) {
        try {
            (void)read_layers_file(path);
        } catch (const LayerError& error) {
            return error.what();
        }
        return "";
    }

    const std::filesystem::path directory_ =
        std::filesystem::path(testing::TempDir()) / ("layers_file_" + std::to_string(std::random_device{}()));
};

TEST_F(LayersFileOnDisk, SkipsEmptyLinesAndComments) {
    const auto layers = read_layers_file(write("# two layers\r\n\n  \t\n" + line_with(R"("name": "a")") +
                                               "\r\n   # one more\n" + line_with(R"("name": "b")")));
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_EQ(layers[0].name, "a");
    EXPECT_EQ(layers[1].name, "b");
    EXPECT_TRUE(layers[1].where.ends_with("layers.jsonl:6")) << layers[1].where;
    EXPECT_TRUE(read_layers_file(write("")).empty());
}

TEST_F(LayersFileOnDisk, NamesPathAndLine) {
    const std::string path = write(line_with("") + "\n\n" + line_with(R"("stride": 0)") + "\n");
    EXPECT_EQ(message(path).rfind(path + ":3: stride[0] is 0", 0), 0U) << message(path);
    EXPECT_NE(message(write("{}\n")).find(":1: in_channels is missing"), std::string::npos);
}

TEST_F(LayersFileOnDisk, NamesAPathThatCannotBeRead) {
    const std::string missing = (directory_ / "none.jsonl").string();
    EXPECT_NE(message(missing).find(missing + " is not readable (No such file"), std::string::npos) << message(missing);
    EXPECT_NE(message(directory_.string()).find(directory_.string() + " is not readable"), std::string::npos);
}

}  // namespace
}  // namespace convt_jit
