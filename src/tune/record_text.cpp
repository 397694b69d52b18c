#include "tune/record_text.h"

#include "layer/fingerprint.h"
#include "log/printable.h"
#include "tune/fields.h"
#include "tune/shape_class.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace convt_jit {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kDeepest = 16;  // ours has seven levels
constexpr double kMostMilliseconds = 1e9;
constexpr std::int64_t kMostProcessors = 1 << 20, kMostMegahertz = 1 << 20, kMostSize = std::int64_t{1} << 60;

json parse_document(std::string_view text, const std::string& name) try {
    // A document that was made to be deep would exhaust the stack of whoever copies it.
    const auto not_deep = [](int depth, json::parse_event_t, json&) {
        if (depth > kDeepest) throw LayerError("nesting", "deeper", fmt::format("{} levels", kDeepest));
        return true;
    };
    return json::parse(text, not_deep);
} catch (const json::exception& error) {
    throw DamagedRecords(name, fmt::format("it is no JSON, or was cut: {}", printable(error.what(), 200)));
} catch (const LayerError& error) {
    throw DamagedRecords(name, error.what());
}

GpuModel read_gpu(Fields& fields) {
    GpuModel gpu;
    gpu.name = fields.text("name", Presence::required);
    gpu.multiprocessors = static_cast<int>(fields.integer("multiprocessors", 1, kMostProcessors, Presence::required));
    gpu.arch = fields.text("arch", Presence::required);
    return gpu;
}

std::string canonical_layer(const std::string& text) {
    const char* const allowed = "a canonical layer string without n and in";
    try {
        if (fingerprint(parse_layer(text)) == text) return text;
    } catch (const LayerError& error) {
        throw LayerError("layer", printable(text), fmt::format("{} ({})", allowed, error.what()));
    }
    throw LayerError("layer", printable(text), allowed);
}

TuningRecord read_key(Fields& fields, const GpuModel& gpu) {
    TuningRecord record;
    record.gpu = gpu;
    record.layer = canonical_layer(fields.text("layer", Presence::required));
    record.shape_class = fields.text("class", Presence::required);
    record.plan_version = static_cast<int>(fields.integer("plan_version", 1, INT32_MAX, Presence::required));
    return record;
}

TuningEvidence read_evidence(Fields& fields) {
    TuningEvidence e;
    e.plan = fields.text("plan", Presence::required);
    e.ms = fields.number("ms", kMostMilliseconds, Presence::required);
    if (e.ms == 0) throw LayerError("ms", "0", "numbers above 0");
    e.spread = fields.number("spread", kMostMilliseconds);
    e.runner_up_plan = fields.text("runner_up_plan");
    e.runner_up_ms = fields.number("runner_up_ms", kMostMilliseconds);
    e.default_plan = fields.text("default_plan");
    e.default_ms = fields.number("default_ms", kMostMilliseconds);
    e.speed_of_light_ms = fields.number("speed_of_light_ms", kMostMilliseconds);
    const std::string weights = fields.text("weights", Presence::required);
    if (weights != "constant" && weights != "changing")
        throw LayerError("weights", printable(weights), "constant, changing");
    e.weights = weights == "constant" ? MeasuredWeights::constant : MeasuredWeights::changing;
    e.batch = fields.integer("batch", 0, kMostSize, Presence::required);
    e.input = fields.sizes("input", kMostSize);
    e.candidates = fields.integer("candidates", 0, kMostSize);
    e.driver = fields.text("driver");
    e.toolkit = fields.text("toolkit");
    e.clock_mhz = static_cast<int>(fields.integer("clock_mhz", 0, kMostMegahertz));
    e.memory_clock_mhz = static_cast<int>(fields.integer("memory_clock_mhz", 0, kMostMegahertz));
    e.date = fields.text("date");
    e.library = fields.text("library");
    e.extra = fields.rest();
    return e;
}

ordered_json to_object(const TuningEvidence& e) {
    ordered_json object = {{"plan", e.plan},
                           {"ms", e.ms},
                           {"spread", e.spread},
                           {"runner_up_plan", e.runner_up_plan},
                           {"runner_up_ms", e.runner_up_ms},
                           {"default_plan", e.default_plan},
                           {"default_ms", e.default_ms},
                           {"speed_of_light_ms", e.speed_of_light_ms},
                           {"weights", to_string(e.weights)},
                           {"batch", e.batch},
                           {"input", std::vector<std::int64_t>(e.input.begin(), e.input.end())},
                           {"candidates", e.candidates},
                           {"driver", e.driver},
                           {"toolkit", e.toolkit},
                           {"clock_mhz", e.clock_mhz},
                           {"memory_clock_mhz", e.memory_clock_mhz},
                           {"date", e.date},
                           {"library", e.library}};
    const ordered_json extra = ordered_json::parse(e.extra.empty() ? "{}" : e.extra, nullptr, false);
    if (extra.is_object())
        for (const auto& [key, value] : extra.items())
            if (!object.contains(key)) object[key] = value;
    return object;
}

// Reads what it can, and tells of the rest.
class Reader {
public:
    explicit Reader(std::string name) : name_(std::move(name)) {}

    RecordText read(json document) {
        try {
            Fields fields(document);
            const std::int64_t format = fields.integer("format", 1, INT32_MAX, Presence::required);
            if (format > kRecordsFormat)
                throw TuningError(name_, fmt::format("it is of format {}, of a newer version of this library; this one "
                                                     "reads format {}",
                                                     format, kRecordsFormat));
            each(fields.list("gpus"), "gpus", [&](json& item, const std::string& at) { read_gpu_records(item, at); });
        } catch (const LayerError& error) {
            throw DamagedRecords(name_, error.what());
        }
        return {merge_records(records_, {}), std::move(skipped_)};
    }

private:
    void read_gpu_records(json& item, const std::string& at) {
        Fields fields(item);
        const GpuModel gpu = read_gpu(fields);
        each(fields.list("records"), at + ".records", [&](json& record, const std::string& at_record) {
            Fields own(record);
            TuningRecord read = read_key(own, gpu);
            each(own.list("evidence"), at_record + ".evidence", [&](json& evidence, const std::string&) {
                Fields fields_of_evidence(evidence);
                read.evidence.push_back(read_evidence(fields_of_evidence));
            });
            if (!read.evidence.empty()) records_.push_back(std::move(read));
        });
    }

    // One that is wrong does not spoil the others.
    template <class Read>
    void each(json list, const std::string& what, const Read& read) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string at = fmt::format("{}[{}]", what, i);
            try {
                read(list[i], at);
            } catch (const LayerError& error) {
                skipped_.push_back({fmt::format("{}: {}", name_, at), error.what()});
            }
        }
    }

    std::string name_;
    std::vector<TuningRecord> records_;
    std::vector<TuningSkipped> skipped_;
};

}  // namespace

RecordText parse_records(std::string_view text, const std::string& name) {
    return Reader(name).read(parse_document(text, name));
}

std::string to_json(const std::vector<TuningRecord>& records) {
    ordered_json gpus = ordered_json::array();
    const GpuModel* last = nullptr;
    const std::vector<TuningRecord> sorted = merge_records(records, {});  // those of one GPU side by side
    for (const TuningRecord& record : sorted) {
        if (last == nullptr || !(*last == record.gpu))
            gpus.push_back({{"name", record.gpu.name},
                            {"multiprocessors", record.gpu.multiprocessors},
                            {"arch", record.gpu.arch},
                            {"records", ordered_json::array()}});
        last = &record.gpu;
        ordered_json evidence = ordered_json::array();
        for (const TuningEvidence& e : record.evidence) evidence.push_back(to_object(e));
        gpus.back()["records"].push_back({{"layer", record.layer},
                                          {"class", record.shape_class},
                                          {"plan_version", record.plan_version},
                                          {"evidence", std::move(evidence)}});
    }
    const ordered_json document = {{"format", kRecordsFormat}, {"gpus", std::move(gpus)}};
    return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace convt_jit
