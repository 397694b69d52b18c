// Actor: a process that writes tuning records.
//   tune_actor add FILE FIRST COUNT   -> adds records of COUNT layers, one update each, prints its name after each
//   tune_actor add FILE FIRST 0       -> until it is killed
#include "convt_jit/engine.h"
#include "unit/tune/sample.h"

#include <cstdio>
#include <string>

using namespace convt_jit;

int main(int count, char** arguments) try {
    if (count != 5) return 2;
    const std::string file = arguments[2];
    const int first = std::stoi(arguments[3]), number = std::stoi(arguments[4]);
    for (int i = first; number == 0 || i < first + number; ++i) {
        TuningRecord record = sample::record("");
        record.layer = sample::numbered_layer(i);
        (void)update_records(file, {record});
        std::printf("%s\n", record.layer.c_str());
        std::fflush(stdout);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
