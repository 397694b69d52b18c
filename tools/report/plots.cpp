#include "report/plots.h"

#include "bench/roofline.h"
#include "subject/check.h"

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

namespace convt_jit::tools {
namespace {

std::string escaped(const std::string& text) { return kainjow::mustache::html_escape(text); }

// A logarithmic axis over whole decades' halves.
class LogScale {
public:
    LogScale(double low, double high, double from, double to)
        : low_(std::log10(low)), high_(std::log10(high)), from_(from), to_(to) {}
    [[nodiscard]] double operator()(double value) const {
        return from_ + (std::log10(value) - low_) / (high_ - low_) * (to_ - from_);
    }
    // 1, 10, 100, ... within it.
    [[nodiscard]] std::vector<double> decades() const {
        std::vector<double> all;
        for (double e = std::ceil(low_ - 1e-9); e <= high_ + 1e-9; ++e) all.push_back(std::pow(10, e));
        return all;
    }

private:
    double low_, high_, from_, to_;
};

struct Point {
    const ReportRow* row;
    double intensity, tflops, baseline_tflops;  // operations per byte; 0: no baseline
};

std::vector<Point> points_of(const ReportData& data) {
    std::vector<Point> points;
    for (const ReportRow& row : data.rows) {
        if (!(row.ms > 0) || row.layer.empty()) continue;
        const Layer layer = parse_layer(row.layer);
        if (layer.input.empty()) continue;
        const Shape shape = known_shape(layer);
        const double operations = 2 * products(layer, shape);
        const auto rate = [&](double ms) { return ms > 0 ? operations / ms * 1e-9 : 0; };
        points.push_back({&row, operations / needed_bytes(layer, shape), rate(row.ms), rate(row.baseline_ms)});
    }
    return points;
}

struct Roof {
    std::string precision;
    double tflops;
};

std::vector<Roof> roofs_of(const ReportData& data) {
    const auto rates = measured_rates(data.facts.card);
    if (!rates) return {};
    std::set<std::string> used;
    for (const ReportRow& row : data.rows) used.insert(row.precision);
    std::vector<Roof> roofs;
    for (const auto& [name, rate] :
         {std::pair{"ieee", rates->ieee}, {"tf32", rates->tf32}, {"f16", rates->f16}, {"bf16", rates->bf16}})
        if (used.contains(name) && rate > 0) roofs.push_back({name, rate});
    return roofs;
}

std::string tooltip(const Point& p) {
    std::string text =
        fmt::format("{}, {}: {:.4g} ms, {:.3g} TFLOP/s", p.row->name, p.row->precision, p.row->ms, p.tflops);
    if (p.row->speed_of_light_ms > 0)
        text += fmt::format(", {:.0f} % of the speed of light", 100 * p.row->speed_of_light_ms / p.row->ms);
    if (p.row->baseline_ms > 0) text += fmt::format("; baseline {:.4g} ms", p.row->baseline_ms);
    return escaped(text + "; " + family_of(p.row->plan));
}

std::string frame(const LogScale& x, const LogScale& y, double left, double right, double top, double bottom) {
    std::string svg;
    for (const double v : x.decades())
        svg += fmt::format(
            R"(<line class="grid" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4:g}</text>)",
            x(v), top, bottom, bottom + 18, v);
    for (const double v : y.decades())
        svg += fmt::format(
            R"(<line class="grid" x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:g}</text>)",
            left, y(v), right, left - 6, y(v) + 4, v);
    return svg;
}

}  // namespace

std::string family_class(const std::string& family) {
    constexpr std::array<const char*, 4> kKnown = {"implicit_gemm_sm90", "implicit_gemm", "unrolled", "direct"};
    const auto found = std::find(kKnown.begin(), kKnown.end(), family);
    return fmt::format("f{}", found - kKnown.begin());
}

std::string roofline_plot(const ReportData& data, int width) {
    const std::vector<Point> points = points_of(data);
    if (points.empty()) return {};
    const std::vector<Roof> roofs = roofs_of(data);
    double least_x = 1e30, most_x = 0, least_y = 1e30, most_y = 0;
    for (const Point& p : points) {
        least_x = std::min(least_x, p.intensity);
        most_x = std::max(most_x, p.intensity);
        least_y = std::min({least_y, p.tflops, p.baseline_tflops > 0 ? p.baseline_tflops : p.tflops});
        most_y = std::max({most_y, p.tflops, p.baseline_tflops});
    }
    // The slope is seen above each point, unless the highest roof is lower.
    double highest = 0;
    for (const Roof& roof : roofs) highest = std::max(highest, roof.tflops);
    const double slope = most_x * data.facts.copy_tb_per_s;
    most_y = std::max(most_y, highest > 0 ? std::min(slope, highest) : slope);
    for (const Roof& roof : roofs) most_y = std::max(most_y, roof.tflops);
    const bool narrow = width < 600;
    const double height = narrow ? 360 : 460, left = 44, right = width - 12, top = 14, bottom = height - 44;
    const LogScale x(least_x / 1.6, most_x * 1.6, left, right), y(least_y / 1.6, most_y * 1.6, bottom, top);
    std::string svg =
        fmt::format(R"(<svg viewBox="0 0 {0} {1}" role="img" aria-label="Roofline of {2} layers" class="{3}">)", width,
                    height, points.size(), narrow ? "narrow" : "wide");
    svg += frame(x, y, left, right, top, bottom);
    svg += fmt::format(
        R"svg(<clipPath id="plot{0}"><rect x="{1}" y="{2}" width="{3}" height="{4}"/></clipPath><g clip-path="url(#plot{0})">)svg",
        width, left, top, right - left, bottom - top);
    const double bandwidth = data.facts.copy_tb_per_s;  // TB/s times operations per byte are TFLOP/s
    if (bandwidth > 0) {
        const double end = roofs.empty() ? most_x * 1.6
                                         : std::max_element(
                                               roofs.begin(), roofs.end(),
                                               [](const Roof& a, const Roof& b) {
                                                   return a.tflops < b.tflops;
                                               })->tflops /
                                               bandwidth;
        svg += fmt::format(R"(<line class="roof" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", x(least_x / 1.6),
                           y(least_x / 1.6 * bandwidth), x(end), y(end * bandwidth));
    }
    for (const Roof& roof : roofs) {
        const double begin = bandwidth > 0 ? roof.tflops / bandwidth : least_x / 1.6;
        svg += fmt::format(
            R"(<line class="roof" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/><text class="roof-name" x="{}" y="{:.1f}" text-anchor="end">{} {:.0f} TFLOP/s</text>)",
            x(begin), y(roof.tflops), right, y(roof.tflops), right - 4, y(roof.tflops) + 14, roof.precision,
            roof.tflops);
    }
    for (const Point& p : points)
        if (p.baseline_tflops > 0)
            svg += fmt::format(
                R"(<line class="pair" x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}"/><circle class="baseline" cx="{0:.1f}" cy="{2:.1f}" r="4"/>)",
                x(p.intensity), y(p.tflops), y(p.baseline_tflops));
    for (const Point& p : points)
        svg += fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}</title></circle>)",
                           family_class(family_of(p.row->plan)), x(p.intensity), y(p.tflops), tooltip(p));
    svg += fmt::format(R"(</g><text x="{:.1f}" y="{}" text-anchor="middle">operations per byte</text>)",
                       (left + right) / 2, height - 6);
    svg += fmt::format(R"(<text x="{}" y="{}" class="axis">TFLOP/s</text></svg>)", left + 6, top + 12);
    return svg;
}

std::string candidates_plot(const ReportRow& row, int width) {
    double slowest = row.ms;
    for (const ReportCandidate& c : row.candidates)
        if (c.failure.empty()) slowest = std::max(slowest, c.ms);
    if (!(row.ms > 0) || slowest <= row.ms) return {};
    const double left = 14, right = width - 14, axis = 92;
    constexpr double kMark = 7;
    const LogScale x(row.ms / 1.02, slowest * 1.02, left, right);
    std::string svg =
        fmt::format(R"(<svg viewBox="0 0 {} 118" role="img" aria-label="Times of the candidates" class="{}">)", width,
                    width < 600 ? "narrow" : "wide");
    svg += fmt::format(R"(<line class="grid" x1="{0}" y1="{1}" x2="{2}" y2="{1}"/>)", left, axis, right);
    double end_of_last = -1e9;
    for (const double multiple : {1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
        if (row.ms * multiple > slowest * 1.02) break;
        const double at = x(row.ms * multiple);
        if (at < end_of_last + 46) continue;
        end_of_last = at;
        svg += fmt::format(
            R"(<line class="grid" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/><text x="{0:.1f}" y="{3}" text-anchor="{4}">{5}</text>)",
            at, axis, axis + 4, axis + 19, at < 40 ? "start" : "middle",
            multiple == 1 ? fmt::format("{:.4g} ms", row.ms) : fmt::format("{:g}x", multiple));
        if (multiple == 1) end_of_last += 40;
    }
    // A column of marks for each few pixels.
    std::vector<int> stacked(static_cast<std::size_t>(width / kMark) + 2, 0);
    for (const ReportCandidate& c : row.candidates) {
        if (!(c.ms > 0) || !c.failure.empty()) continue;  // the page lists what failed
        const auto column = static_cast<std::size_t>(x(c.ms) / kMark);
        const int level = std::min(stacked[column]++, 11);
        const bool winner = c.plan == row.plan, standard = c.plan == row.default_plan;
        const double cx = (static_cast<double>(column) + 0.5) * kMark, cy = axis - 5 - level * kMark;
        svg += fmt::format(R"(<circle class="{}{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>)",
                           family_class(family_of(c.plan)),
                           winner     ? " winner"
                           : standard ? " standard"
                                      : "",
                           cx, cy, winner || standard ? 4.5 : 3,
                           escaped(fmt::format("{:.4g} ms, {}{}: {}", c.ms, c.state,
                                               winner     ? ", the winner"
                                               : standard ? ", the default"
                                                          : "",
                                               c.plan)));
    }
    return svg + "</svg>";
}

}  // namespace convt_jit::tools
