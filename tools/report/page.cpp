#include "report/page.h"

#include "report/embedded.h"
#include "report/parameters.h"
#include "report/plots.h"
#include "subject/message.h"
#include "subject/quantity.h"

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

namespace convt_jit::tools {
namespace {

using kainjow::mustache::data;
using List = data;

constexpr int kWide = 960, kNarrow = 360;
constexpr std::size_t kEffects = 6;

List list() { return data(data::type::list); }

std::optional<double> geometric_mean(const ReportData& report, const std::function<double(const ReportRow&)>& ratio) {
    double sum = 0, count = 0;
    for (const ReportRow& row : report.rows)
        if (const double r = ratio(row); r > 0) {
            sum += std::log(r);
            ++count;
        }
    return count > 0 ? std::optional(std::exp(sum / count)) : std::nullopt;
}

double of_light(const ReportRow& r) { return r.ms > 0 ? r.speed_of_light_ms / r.ms : 0; }
double over_baseline(const ReportRow& r) { return r.ms > 0 ? r.baseline_ms / r.ms : 0; }
double over_default(const ReportRow& r) { return r.ms > 0 ? r.default_ms / r.ms : 0; }

// Of what the bars tell: the most telling comparison that there is.
struct Measure {
    const char* title;
    std::function<double(const ReportRow&)> value;
    bool percent;
};

Measure measure_for(const ReportData& report) {
    const auto any = [&](const auto& value) {
        return std::any_of(report.rows.begin(), report.rows.end(), [&](const ReportRow& r) { return value(r) > 0; });
    };
    if (any(over_baseline)) return {"Times faster than the baseline", over_baseline, false};
    if (any(over_default)) return {"Times faster than the default plan", over_default, false};
    return {"Share of the speed of light", of_light, true};
}

std::string label(const ReportRow& row, bool with_precision) {
    return with_precision ? fmt::format("{} {}", row.name, row.precision) : row.name;
}

List bars(const ReportData& report, const Measure& measure, bool with_precision) {
    std::vector<const ReportRow*> rows;
    double most = measure.percent ? 1 : 0;
    for (const ReportRow& row : report.rows)
        if (measure.value(row) > 0) {
            rows.push_back(&row);
            most = std::max(most, measure.value(row));
        }
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const ReportRow* a, const ReportRow* b) { return measure.value(*a) > measure.value(*b); });
    List result = list();
    for (const ReportRow* row : rows) {
        const double value = measure.value(*row);
        data bar;
        bar.set("name", label(*row, with_precision));
        bar.set("width", fmt::format("{:.2f}", 100 * value / most));
        bar.set("one", fmt::format("{:.2f}", 100 / most));
        bar.set("value", measure.percent ? fmt::format("{:.0f} %", 100 * value) : fmt::format("{:.2f}", value));
        bar.set("class", family_class(family_of(row->plan)));
        result << bar;
    }
    return result;
}

std::string why(const ReportRow& row) {
    const auto measured = std::count_if(row.candidates.begin(), row.candidates.end(),
                                        [](const ReportCandidate& c) { return c.ms > 0 && c.failure.empty(); });
    std::string text = fmt::format("The fastest of {} candidates that were measured and are right", measured);
    if (row.not_reached > 0) text += fmt::format(" ({} more were not reached)", row.not_reached);
    if (row.default_ms > 0 && row.plan == row.default_plan)
        text += "; the default choice, which nothing beat by more than the noise";
    else if (row.default_ms > 0)
        text += fmt::format("; {:.2f} times as fast as the default plan ({:.4g} ms)", row.default_ms / row.ms,
                            row.default_ms);
    if (row.runner_up_ms > 0)
        text += fmt::format("; the runner-up ({}) takes {:+.1f} %", family_of(row.runner_up),
                            100 * (row.runner_up_ms / row.ms - 1));
    return text + ".";
}

List effects(const ReportRow& row) {
    List result = list();
    std::size_t count = 0;
    for (const ParameterEffect& effect : parameter_effects(row.plan, row.candidates)) {
        if (count++ == kEffects) break;
        data item;
        item.set("key", effect.key);
        item.set("value", effect.value);
        item.set("explained", fmt::format("{:.0f}", 100 * effect.explained));
        item.set("other", effect.best_other.empty() ? std::string()
                                                    : fmt::format("{}: {:+.1f} %", effect.best_other,
                                                                  100 * (effect.best_other_ms / row.ms - 1)));
        result << item;
    }
    return result;
}

List failures(const ReportRow& row) {
    List result = list();
    for (const ReportCandidate& c : row.candidates) {
        if (c.failure.empty()) continue;
        data item;
        item.set("state", c.state);
        item.set("plan", c.plan);
        item.set("why", shown_in_line(c.failure.substr(0, 300)));
        result << item;
    }
    return result;
}

// An empty text would open a section as any other does.
void set_some(data& item, const char* key, bool some, const std::string& text) {
    if (some)
        item.set(key, text);
    else
        item.set(key, false);
}

data layer(const ReportRow& row, bool with_precision) {
    data item;
    item.set("name", label(row, with_precision));
    item.set("layer", row.layer);
    item.set("error", shown(row.error));
    item.set("failed", !row.error.empty());
    item.set("measured", row.ms > 0);
    if (!(row.ms > 0)) return item;
    item.set("ms", fmt::format("{:.4g}", row.ms));
    set_some(item, "spread", row.spread > 0, fmt::format("{:.1f} %", 100 * row.spread));
    set_some(item, "light", of_light(row) > 0, fmt::format("{:.0f} %", 100 * of_light(row)));
    set_some(item, "light_ms", row.speed_of_light_ms > 0, fmt::format("{:.4g}", row.speed_of_light_ms));
    set_some(item, "baseline_ms", row.baseline_ms > 0, fmt::format("{:.4g}", row.baseline_ms));
    set_some(item, "over_baseline", row.baseline_ms > 0, fmt::format("{:.2f}", over_baseline(row)));
    set_some(item, "over_default", row.default_ms > 0, fmt::format("{:.2f}", over_default(row)));
    item.set("family", family_of(row.plan));
    item.set("class", family_class(family_of(row.plan)));
    item.set("plan", row.plan);
    const bool tuned = !row.candidates.empty();
    item.set("tuned", tuned);
    if (!tuned) return item;
    item.set("why", why(row));
    item.set("wide", candidates_plot(row, kWide));
    item.set("narrow", candidates_plot(row, kNarrow));
    List differences = list();
    for (const Change& change : changes(row.default_plan, row.plan)) {
        data difference;
        difference.set("key", change.key);
        difference.set("from", change.from);
        difference.set("to", change.to);
        differences << difference;
    }
    item.set("differs", !differences.is_empty_list());
    item.set("differences", differences);
    List e = effects(row);
    item.set("mattered", !e.is_empty_list());
    item.set("effects", e);
    List f = failures(row);
    item.set("faults", !f.is_empty_list());
    item.set("failures", f);
    return item;
}

List families(const ReportData& report) {
    std::map<std::string, std::string> used;  // by class, so that their order is always the same
    for (const ReportRow& row : report.rows) {
        if (row.ms > 0) used[family_class(family_of(row.plan))] = family_of(row.plan);
        for (const ReportCandidate& c : row.candidates)
            if (c.ms > 0) used[family_class(family_of(c.plan))] = family_of(c.plan);
    }
    List result = list();
    for (const auto& [colour, name] : used) {
        data item;
        item.set("class", colour);
        item.set("name", name);
        result << item;
    }
    return result;
}

List facts(const ReportFacts& f) {
    List result = list();
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{"GPU", f.card},
          {"CUDA driver", f.driver},
          {"NVRTC", f.toolkit},
          {"copy bandwidth", f.copy_tb_per_s > 0 ? fmt::format("{:.2f} TB/s", f.copy_tb_per_s) : ""},
          {"commit", f.commit},
          {"command", f.command}}) {
        if (value.empty()) continue;
        data item;
        item.set("name", name);
        item.set("value", shown_in_line(value));
        result << item;
    }
    return result;
}

List means(const ReportData& report) {
    List result = list();
    const auto add = [&](const char* name, const std::optional<double>& value, const std::string& text) {
        if (!value) return;
        data item;
        item.set("name", name);
        item.set("value", text);
        result << item;
    };
    const auto light = geometric_mean(report, of_light), baseline = geometric_mean(report, over_baseline),
               standard = geometric_mean(report, over_default);
    add("of the speed of light", light, fmt::format("{:.0f} %", 100 * light.value_or(0)));
    add("times faster than the baseline", baseline, fmt::format("{:.2f}", baseline.value_or(0)));
    add("times faster than the default plans", standard, fmt::format("{:.2f}", standard.value_or(0)));
    return result;
}

}  // namespace

std::string report_page(const ReportData& report) {
    const bool with_precision = std::any_of(report.rows.begin(), report.rows.end(), [&](const ReportRow& row) {
        return row.precision != report.rows.front().precision;
    });
    const Measure measure = measure_for(report);
    data page;
    page.set("card", report.facts.card);
    page.set("count", counted(report.rows.size(), "layer", "layers"));
    const List known = means(report);
    page.set("any_means", !known.is_empty_list());
    page.set("means", known);
    page.set("families", families(report));
    const bool baseline =
        std::any_of(report.rows.begin(), report.rows.end(), [](const ReportRow& row) { return row.baseline_ms > 0; });
    page.set("baseline", baseline);
    const bool any_tuned = std::any_of(report.rows.begin(), report.rows.end(),
                                       [](const ReportRow& row) { return !row.candidates.empty(); });
    page.set("any_tuned", any_tuned);
    const std::string roofline = roofline_plot(report, kWide);
    page.set("any_roofline", !roofline.empty());
    page.set("wide_roofline", roofline);
    page.set("narrow_roofline", roofline_plot(report, kNarrow));
    page.set("bars_title", measure.title);
    const List drawn = bars(report, measure, with_precision);
    page.set("any_bars", !drawn.is_empty_list());
    page.set("bars", drawn);
    List layers = list();
    for (const ReportRow& row : report.rows) layers << layer(row, with_precision);
    page.set("layers", layers);
    page.set("facts", facts(report.facts));
    kainjow::mustache::mustache text{std::string(kReportPage)};
    return text.render(page);
}

}  // namespace convt_jit::tools
