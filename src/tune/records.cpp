// TuningRecords: the records of all places together, and what they say about a layer.
#include "layer/fingerprint.h"
#include "log/log.h"
#include "plan/plan.h"
#include "tune/places.h"
#include "tune/record_file.h"
#include "tune/record_set.h"
#include "tune/shipped.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace convt_jit {
namespace {

Arch arch_of(const TuningRecord& record) {
    return record.gpu.arch == "sim" ? simulated_arch(record.evidence.front().plan) : parse_arch(record.gpu.arch);
}

// As the engine chooses a plan that it was asked for, but that sizes alone decide how wide its offsets are. Throws
// LayerError, UnsupportedError.
std::string plan_for(const PlacedRecord& placed, const Layer& layer) {
    const Arch arch = arch_of(placed.record);
    Plan plan = parse_plan(placed.record.evidence.front().plan, layer, arch);
    if (std::holds_alternative<ReferenceTile>(plan.tile))
        throw UnsupportedError("the reference family writes another type");
    plan.index64 = false;
    return to_string(choose(layer, arch, {to_string(plan), false}));
}

// The first that fits.
std::optional<TuningChoice> first_of(const std::vector<const PlacedRecord*>& records, const Layer& layer) {
    for (const PlacedRecord* placed : records) try {
            return TuningChoice{plan_for(*placed, layer), placed->record, placed->source};
        } catch (const Error& error) {
            log::warning_once(fmt::format("the tuning record of \"{}\" for {} ({}) is not used: {}",
                                          placed->record.layer, placed->record.gpu.name, placed->source, error.what()));
        }
    return std::nullopt;
}

}  // namespace

struct TuningRecords::Impl {
    RecordSet records;
    std::size_t places = 0;

    void add_text(RecordText text, const std::string& source) {
        for (const TuningSkipped& skipped : text.skipped)
            log::warning_once(fmt::format("tuning records: {}: {}; it is not used", skipped.where, skipped.why));
        const std::size_t all = text.records.size();
        if (const std::size_t left_out = records.add(std::move(text.records), source, places); left_out > 0)
            log::warning_once(
                fmt::format("tuning records: {} of {} in {} are of another version of plans and are not "
                            "used; `convt autotune` makes new ones",
                            left_out, all, source));
    }

    // A place is a file or a directory; it need not be there.
    void add_place(const std::string& path) {
        const auto told = [&](const auto& work) {
            try {
                work();
            } catch (const std::exception& error) {
                log::warning_once(fmt::format("tuning records are not used: {}", error.what()));
            }
        };
        told([&] {
            for (const std::string& file : record_files(path))
                told([&] { add_text(load_records(file, Belief::trusted_only), file); });
        });
        ++places;
    }

    void add_shipped() {
        for (const auto& [name, text] : shipped_records()) add_text(parse_records(text, std::string(name)), "shipped");
        ++places;
    }

    // The answer of one model's own records.
    [[nodiscard]] std::optional<TuningChoice> of(const GpuModel& gpu, const Layer& layer) const {
        return first_of(records.ranked(fingerprint(layer), gpu, class_of(layer)), layer);
    }
};

TuningRecords::TuningRecords() : impl_(std::make_shared<Impl>()) {}

TuningRecords::TuningRecords(const std::vector<std::string>& paths) {
    auto impl = std::make_shared<Impl>();
    for (const std::string& path : paths) impl->add_place(path);
    impl_ = std::move(impl);
}

TuningRecords TuningRecords::standard() {
    TuningRecords records;
    const RecordPlaces places = record_places();
    if (places.off) return records;
    auto impl = std::make_shared<Impl>();
    if (places.user) impl->add_place(*places.user);
    for (const std::string& path : places.system) impl->add_place(path);
    impl->add_shipped();
    records.impl_ = std::move(impl);
    return records;
}

bool TuningRecords::empty() const noexcept { return impl_->records.empty(); }

std::optional<TuningChoice> TuningRecords::find(const Layer& layer, const GpuModel& gpu) const try {
    if (empty()) return std::nullopt;
    if (auto own = impl_->of(gpu, layer)) return own;
    // The other models' own answers, so that what is warmed for an arch serves a model that nobody has tuned.
    for (const GpuModel& model : impl_->records.models(fingerprint(layer), gpu))
        if (!(model == gpu))
            if (auto other = impl_->of(model, layer)) return other;
    return std::nullopt;
} catch (const Error&) {
    return std::nullopt;  // a layer or an arch that is not valid: the default choice says what is wrong
}

std::vector<std::string> TuningRecords::plans(const Layer& layer, const std::string& arch) const {
    const Arch target = parse_arch(arch);
    const GpuModel any{"", 0, to_string(Arch{target.number, 0})};
    std::vector<std::string> plans;
    const auto add = [&](std::string plan) {
        if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(std::move(plan));
    };
    const std::string name = fingerprint(layer);
    for (const GpuModel& model : impl_->records.models(name, any)) {
        if (auto own = impl_->of(model, layer)) add(std::move(own->plan));
        if (!layer.input.empty()) continue;
        for (const PlacedRecord* record : impl_->records.all(name, model))
            if (auto of_class = first_of({record}, layer)) add(std::move(of_class->plan));
    }
    if (plans.empty() || layer.input.empty()) {
        std::string standard = to_string(choose(layer, target));
        plans.erase(std::remove(plans.begin(), plans.end(), standard), plans.end());
        plans.insert(plans.begin(), std::move(standard));
    }
    return plans;
}

}  // namespace convt_jit
