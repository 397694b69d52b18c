#include "program.h"

#include <gmock/gmock.h>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Usage : public ProgramTest {
protected:
    void expect_usage(const std::string& arguments, const std::string& message) const {
        SCOPED_TRACE(arguments);
        const Outcome outcome = convt(arguments);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_THAT(outcome.err, HasSubstr(message));
        EXPECT_THAT(outcome.out, IsEmpty());
    }
};

TEST_F(Usage, HelpAndVersionAreSuccesses) {
    const Outcome help = convt("--help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("run"));
    EXPECT_THAT(help.out, HasSubstr("bench"));
    EXPECT_EQ(convt("run --help").code, 0);
    const Outcome version = convt("--version");
    EXPECT_EQ(version.code, 0);
    EXPECT_THAT(version.out, HasSubstr("NVRTC"));
}

TEST_F(Usage, UnknownCommandsAndOptions) {
    expect_usage("", "subcommand");
    expect_usage("walk", "subcommand");
    expect_usage("run 'c1 o1 in4 k3' --fast", "--fast");
    expect_usage("run 'c1 o1 in4 k3' --backend tpu", "tpu");
    expect_usage("run 'c1 o1 in4 k3' --seed minus", "minus");
    expect_usage("bench 'c1 o1 in4 k3' --dtype f64", "f64");
    expect_usage("bench 'c1 o1 in4 k3' --repeats 1", "--repeats");
}

TEST_F(Usage, LayersThatCannotBeRead) {
    expect_usage("run", "--layers");
    expect_usage("run 'c1 o1 in4 k3y5'", "column 11");
    expect_usage("run 'c3 o4 in4 k3 g2'", "groups");
    expect_usage("run 'c1 o1 k3'", "input sizes");
    expect_usage("run 'c1 o1 in2 k1 p1'", "out");
    expect_usage("run n1 c2 o2 in4 k3", "quote it");
}

TEST_F(Usage, LayersFilesThatCannotBeRead) {
    const std::string file = (directory_ / "layers.jsonl").string();
    expect_usage("run --layers " + file, file);
    write_text(file, "# nothing\n\n");
    expect_usage("run --layers " + file, "at least one layer");
    write_text(file, R"({"in_channels": 1, "out_channels": 1, "kernel_size": [3], "input": [1, 1, 4]})"
                     "\n{\"in_channels\": 1,\n");
    expect_usage("run --layers " + file, file + ":2");
}

TEST_F(Usage, OptionsThatDoNotGoTogether) {
    expect_usage("run 'c1 o1 in4 k3' 'c1 o1 in5 k3' --dump-source x.cu", "a single layer");
    expect_usage("run 'c1 o1 in4 k3' --json --dump-source -", "standard output");
    expect_usage("run 'c1 o1 in4 k3' --plan 'quickly'", "quickly");
    expect_usage("bench 'c1 o1 in4 k3' --filter c17", "c17");
}

}  // namespace
}  // namespace convt_jit::tools::test
