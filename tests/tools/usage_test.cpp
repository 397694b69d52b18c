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
    expect_usage("walk", "\"walk\" is no subcommand; there are: ");
    expect_usage("run 'c1 o1 in4 k3' --fast", "--fast");
    expect_usage("run 'c1 o1 in4 k3' --backend tpu", "tpu");
    for (const char* seed : {"minus", "-1", "18446744073709551616", "1.5", "0x10", "''"})
        expect_usage(fmt::format("run 'c1 o1 in4 k3' --seed {}", seed), "from 0 to 18446744073709551615");
    expect_usage("bench 'c1 o1 in4 k3' --dtype f64", "f64");
    expect_usage("bench 'c1 o1 in4 k3' --repeats 1", "--repeats");
    expect_usage("bench 'c1 o1 in4 k3' --repeats 99999999999999999999", "--repeats");
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
    write_text(file,
               "# a layer that knows no sizes\n"
               R"({"name": "up", "in_channels": 1, "out_channels": 1, "kernel_size": [3]})"
               "\n");
    expect_usage("run --layers " + file, "convt: " + file + ":2: in is missing");
}

TEST_F(Usage, OptionsThatDoNotGoTogether) {
    expect_usage("run 'c1 o1 in4 k3' 'c1 o1 in5 k3' --dump-source x.cu", "a single layer");
    expect_usage("run 'c1 o1 in4 k3' --json --dump-source -", "standard output");
    expect_usage("run 'c1 o1 in4 k3' --plan 'quickly'", "quickly");
    expect_usage("bench 'c1 o1 in4 k3' --filter c17", "c17");
}

TEST_F(Usage, EmptyIsNotLeftOut) {
    const std::string run = "run 'c1 o1 in4 k3' --backend sim ", bench = "bench 'c1 o1 in4 k3' ";
    for (const char* option : {"--layers", "--plan", "--dump-source"})
        expect_usage(fmt::format("{}{} ''", run, option), fmt::format("{}: is empty", option));
    for (const char* option : {"--layers", "--plan", "--json"})
        expect_usage(fmt::format("{}{} ''", bench, option), fmt::format("{}: is empty", option));
}

TEST_F(Usage, PlansThatCannotBeRead) {
    for (const std::string command : {"run 'c1 o1 in4 k3' --backend sim --plan ", "bench 'c1 o1 in4 k3' --plan "}) {
        expect_usage(command + "quickly", "quickly");
        expect_usage(command + "'direct channels=0'", "plan.channels is 0; allowed: 1 to 4096");
        expect_usage(command + "'direct positions=1x5000x1'", "plan.positions is 5000; allowed: 1 to 4096");
        expect_usage(command + "'direct positions=1x99999999999x1'", "allowed: integers from 0 to 2147483647");
        expect_usage(command + "'reference threads=2048'", "plan.threads is 2048; allowed: 1 to 1024");
    }
}

TEST_F(Usage, WhatCannotBeMeasured) {
    expect_usage("bench 'c1 o1 in4 k3' --plan reference", "reference");
    expect_usage("bench 'c1 o1 in4 k3' --plan ' reference threads=64'", "reference");
    expect_usage("bench 'n0 c1 o1 in4 k3'", "batch is 0");
    expect_usage("autotune 'n0 c1 o1 in4 k3'", "batch is 0");
}

TEST_F(Usage, StreamsThatCannotBeWrittenToEndNothingElse) {
    for (const char* to : {">/dev/null 2>/dev/full", ">/dev/null 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
        SCOPED_TRACE(to);
        EXPECT_EQ(run("run foo", to), 2);
        EXPECT_EQ(run("walk", to), 2);
        EXPECT_EQ(run("run --fast", to), 2);
        EXPECT_EQ(run("run 'c1 o1 in4 k3' --backend sim", to, "CXX=/missing"), 1);
    }
    for (const char* to : {">/dev/full 2>/dev/null", ">&- 2>/dev/null", ">/dev/full 2>&-"})
        for (const char* arguments : {"--help", "--version", "run --help", "run 'n0 c1 o1 in4 k3' --backend sim"}) {
            SCOPED_TRACE(std::string(arguments) + to);
            EXPECT_EQ(run(arguments, to), 1);
        }
}

// What is opened while it runs must not become its standard error.
TEST_F(Usage, AClosedStreamStaysClosed) {
    EXPECT_EQ(run("run 'c1 o1 in4 k3' --backend sim --dump-source " + (directory_ / "a.cu").string(), ">/dev/null 2>&-",
                  "CONVT_JIT_LOG=debug"),
              0);
    EXPECT_EQ(read_file(directory_ / "a.cu").find("[convt_jit]"), std::string::npos);
}

}  // namespace
}  // namespace convt_jit::tools::test
