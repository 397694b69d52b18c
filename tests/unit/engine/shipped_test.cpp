// What the library ships in cache/ serves, every record of it.
#include "tune/shipped.h"

#include "convt_jit/engine.h"
#include "convt_jit/tuning.h"
#include "tune/record_text.h"

#include <gtest/gtest.h>

namespace convt_jit {
namespace {

TEST(Shipped, EveryRecordIsOfThisVersionAndItsPlanFitsItsLayer) {
    for (const auto& [name, text] : shipped_records()) {
        const RecordText file = parse_records(text, std::string(name));
        for (const TuningSkipped& skipped : file.skipped) ADD_FAILURE() << skipped.where << ": " << skipped.why;
        EXPECT_FALSE(file.records.empty()) << name;
        for (const TuningRecord& record : file.records) {
            EXPECT_EQ(record.plan_version, plan_version()) << name << ": " << record.layer;
            for (const TuningEvidence& evidence : record.evidence) {
                // With the sizes that it was measured at.
                Layer layer = parse_layer(record.layer);
                layer.batch = evidence.batch;
                layer.input = evidence.input;
                EXPECT_EQ(shape_class(layer), record.shape_class) << name << ": " << record.layer;
                PrepareOptions options;
                options.plan = evidence.plan;
                EXPECT_NO_THROW((void)Engine::render(layer, record.gpu.arch, options))
                    << name << ": " << record.layer << ": " << evidence.plan;
            }
        }
    }
}

}  // namespace
}  // namespace convt_jit
