// Tuning records and the engine: what is warmed for an arch is what a device of it asks for.
#include "convt_jit/convt_jit.h"
#include "unit/cache/sample.h"
#include "unit/driver/fake.h"

#include <algorithm>

namespace convt_jit {
namespace {

// Two plans that are nobody's default choice.
constexpr const char* kOwn = "direct channels=2 unroll=1";
constexpr const char* kOther = "direct channels=1 unroll=1";

class RecordsOnDevice : public test::FakeDriver {
protected:
    TuningRecord record(const std::string& layer, const std::string& plan, const GpuModel& gpu) const {
        Layer parsed = parse_layer(layer);
        TuningRecord record{gpu, "", shape_class(parsed), plan_version(), {}};
        parsed.batch.reset();
        parsed.input = {};
        record.layer = to_string(parsed);
        TuningEvidence evidence;
        evidence.plan = plan;
        evidence.ms = 1;
        record.evidence = {evidence};
        return record;
    }
    [[nodiscard]] EngineOptions options() const {
        EngineOptions options;
        options.cache_dir = directory_;
        options.records = {records_};
        return options;
    }
    // As `convt warmup` does.
    void warm(const Layer& layer) const {
        Engine engine(options());
        for (const std::string& plan : TuningRecords({records_}).plans(layer, "sm_90a"))
            (void)engine.compile(layer, "sm_90a", {std::nullopt, plan, false, Policy::wait});
    }

    sample::Scratch scratch_;
    std::string directory_ = scratch_ / "cache", records_ = scratch_ / "records.json";
    sample::Variable own_{"CONVT_JIT_CACHE_DIR", directory_};
    const std::string text_ = "n1 c4 o8 in20x20 k3x3 s2x2";
    Layer layer_ = parse_layer(text_);
    PrepareOptions on_device_{Device::cuda(0), "", false, Policy::wait};
    GpuModel fake_model_ = gpu_model(Device::cuda(0));
};

TEST_F(RecordsOnDevice, TuningAndWarmingAgree) {
    (void)update_records(records_,
                         {record(text_, kOwn, fake_model_), record(text_, kOther, {"Another", 100, "sm_90"})});
    warm(layer_);
    EXPECT_EQ(Cache(directory_).list().size(), 2u) << "of both models";
    const Kernel kernel = Engine(options()).prepare(layer_, on_device_);
    EXPECT_EQ(kernel.info().origin, Origin::disk) << "nothing is compiled";
    EXPECT_EQ(kernel.info().plan_origin, PlanOrigin::record);
    EXPECT_NE(kernel.info().plan.find("channels=2"), std::string::npos) << kernel.info().plan;
    PrepareOptions asked = on_device_;
    asked.plan = kernel.info().plan;
    const CacheWanted wanted = Engine::wanted(layer_, "sm_90", asked);
    const auto entries = Cache(directory_).list();
    EXPECT_TRUE(std::any_of(entries.begin(), entries.end(), [&](const CacheEntry& entry) {
        return entry.key == kernel.info().key && entry.fields.source == wanted.fields.source &&
               entry.fields.arch == wanted.fields.arch && entry.fields.options == wanted.fields.options;
    }));
}

TEST_F(RecordsOnDevice, AModelThatNobodyTunedIsWarmToo) {
    (void)update_records(records_, {record(text_, kOther, {"Another", 100, "sm_90"})});
    warm(layer_);
    const Kernel kernel = Engine(options()).prepare(layer_, on_device_);
    EXPECT_EQ(kernel.info().origin, Origin::disk);
    EXPECT_EQ(kernel.info().plan_origin, PlanOrigin::record);
}

TEST_F(RecordsOnDevice, ALayerWithoutSizesIsWarmForThemAll) {
    (void)update_records(records_, {record(text_, kOwn, fake_model_), record("c4 o8 k3x3 s2x2", kOther, fake_model_)});
    warm(parse_layer("c4 o8 k3x3 s2x2"));
    for (const char* text : {"n1 c4 o8 in20x20 k3x3 s2x2", "n1 c4 o8 in19x20 k3x3 s2x2", "c4 o8 k3x3 s2x2"})
        EXPECT_EQ(Engine(options()).prepare(parse_layer(text), on_device_).info().origin, Origin::disk) << text;
}

TEST_F(RecordsOnDevice, WhoChoseThePlan) {
    (void)update_records(records_, {record(text_, kOwn, fake_model_)});
    Engine engine(options());
    const auto by = [&](Engine& from, const PrepareOptions& how) {
        return std::string(to_string(from.prepare(layer_, how).info().plan_origin));
    };
    const std::string recorded = engine.prepare(layer_, on_device_).info().plan;
    EXPECT_EQ(by(engine, on_device_), "record");
    PrepareOptions how = on_device_;
    how.plan = recorded;
    EXPECT_EQ(by(engine, how), "asked") << "the same kernel, for another reason";
    EXPECT_EQ(by(engine, on_device_), "record");
    how = on_device_;
    how.exact_nonfinite = true;
    EXPECT_EQ(by(engine, how), "default") << "no records";
    EngineOptions none = options();
    none.records = std::vector<std::string>{};
    Engine without(none);
    EXPECT_EQ(by(without, on_device_), "default");
    const Kernel pending = Engine(none).prepare(layer_, on_device_, Policy::no_wait);
    EXPECT_TRUE(pending.info().plan_origin == PlanOrigin::generic || !pending.pending());
}

TEST_F(RecordsOnDevice, AnEngineReadsItsRecordsOnce) {
    (void)update_records(records_, {record(text_, kOwn, fake_model_)});
    Engine engine(options());
    const std::string plan = engine.prepare(layer_, on_device_).info().plan;
    std::filesystem::remove(records_);
    engine.clear();
    EXPECT_EQ(engine.prepare(layer_, on_device_).info().plan, plan);
    EXPECT_NE(Engine(options()).prepare(layer_, on_device_).info().plan, plan);
}

}  // namespace
}  // namespace convt_jit
