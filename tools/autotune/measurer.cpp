#include "autotune/measurer.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

namespace convt_jit::tools {
namespace {

// A context, tensors and the reference take their time.
constexpr auto kToBegin = std::chrono::seconds(120);

constexpr int kNoAnswer = -1;  // in the place of an exit code

std::string how_it_ended(const News& news) {
    if (news.signal != 0) return fmt::format("its process was ended by a signal: {}", ::strsignal(news.signal));
    if (news.code == kNoAnswer) return "its process did not answer";
    return fmt::format("its process ended with code {}", news.code);
}

}  // namespace

Measurer::~Measurer() { dismiss(); }

void Measurer::dismiss() {
    if (crew_) crew_->kill();  // it has nothing to finish, and may hang
    crew_.reset();
    layer_.clear();
}

News Measurer::ask(const Request& request, std::chrono::milliseconds patience) {
    if (crew_ == nullptr) crew_ = std::make_unique<Crew>(arguments_);
    crew_->give(0, request_line(request));
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return {0, "", 0, kNoAnswer};
        for (News& news : crew_->wait(-1, left)) return std::move(news);
    }
}

CardFacts Measurer::facts() {
    const News news = ask({}, kToBegin);
    if (news.line.empty()) throw Error("the measuring process: " + how_it_ended(news));
    try {
        return parse_facts(nlohmann::json::parse(news.line));
    } catch (const nlohmann::json::exception&) {
        throw Error("the measuring process said: " + news.line);
    }
}

void Measurer::begin(const std::string& layer) {
    if (layer_ == layer) return;
    const News news = ask({Work::begin, layer, "", "", "", 0, false}, kToBegin);
    Measurement m;
    try {
        if (news.line.empty()) throw Error(how_it_ended(news));
        m = parse_measurement(nlohmann::json::parse(news.line));
        if (m.state != CandidateState::measured) throw Error(m.why);
    } catch (const std::exception& error) {
        dismiss();
        throw Error(std::string("the layer's tensors and reference: ") + error.what());
    }
    layer_ = layer;
}

Measurement Measurer::measure(const Request& request) {
    begin(request.layer);
    const News news = ask(request, patience_);
    Measurement m;
    if (!news.line.empty()) {
        try {
            m = parse_measurement(nlohmann::json::parse(news.line));
            if (!is_sound(request, m)) throw Error("no measurement");
        } catch (const std::exception&) {
            m = {};
            m.state = CandidateState::not_launched;
            m.why = "its process said: " + news.line;
        }
        // An error of a launch may have broken the process's context for all that follow.
        if (m.state == CandidateState::not_launched) dismiss();
        return m;
    }
    const bool hung = news.code == kNoAnswer;
    m.state = hung ? CandidateState::hung : CandidateState::not_launched;
    m.why = hung ? fmt::format("no answer within {:.1f} s; its process was killed",
                               std::chrono::duration<double>(patience_).count())
                 : how_it_ended(news);
    dismiss();
    return m;
}

}  // namespace convt_jit::tools
