#include "autotune/worker.h"

#include "autotune/request.h"
#include "autotune/surface.h"
#include "subject/bandwidth.h"
#include "subject/crew.h"
#include "subject/json_text.h"
#include "subject/trial.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <csignal>
#include <memory>

namespace convt_jit::tools {
namespace {

constexpr const char* kCommand = "autotune-worker";

// A layer on the card, with its incumbent.
class Bench {
public:
    Bench(Engine& engine, const std::string& text, WeightsAre weights, Launching launching)
        : engine_(engine),
          device_(Device::best()),
          layer_(parse_layer(text)),
          weights_(weights),
          trial_(engine, device_, layer_, flush_of(device_), weights, launching) {
        trial_.know_reference();
    }

    [[nodiscard]] Measurement measure(const Request& request) {
        Measurement m;
        m.state = CandidateState::not_launched;
        const Kernel kernel = prepared(request.plan);
        m.weights = weights_text(kernel.info(), weights_);
        m.registers = kernel.info().registers;
        m.spill_bytes = kernel.info().spill_bytes;
        if (request.judged) {
            const Errors errors = trial_.judge(kernel);
            m.rel_l2 = errors.rel_l2;
            const double tolerated = tolerance(layer_);
            if (errors.wrong_nonfinite != 0 || !(errors.rel_l2 <= tolerated)) {
                m.state = CandidateState::wrong;
                m.why = fmt::format("relative L2 error {:.2e}, allowed {:.1e}, {} wrongly non-finite", errors.rel_l2,
                                    tolerated, errors.wrong_nonfinite);
                return m;
            }
        }
        Trial::Timed timed(trial_, kernel);
        if (request.against.empty()) {
            Trial::settle(timed);
            m.ms = Trial::time(timed, request.launches);
        } else {
            meet(request.against);
            Trial::Pairs pairs = Trial::compare(timed, *incumbent_, request.launches);
            m.ms = std::move(pairs.ms);
            m.against_ms = std::move(pairs.against_ms);
        }
        m.state = CandidateState::measured;
        engine_.clear();  // the module goes with the candidate; the incumbent's stays with its handle
        return m;
    }

private:
    [[nodiscard]] Kernel prepared(const std::string& plan) {
        PrepareOptions options;
        options.device = device_;
        options.plan = plan;
        return engine_.prepare(layer_, options);
    }

    void meet(const std::string& plan) {
        if (incumbent_ && incumbent_plan_ == plan) return;
        incumbent_ = std::make_unique<Trial::Timed>(trial_, prepared(plan));
        incumbent_plan_ = plan;
        Trial::settle(*incumbent_);
    }

    Engine& engine_;
    Device device_;
    Layer layer_;
    WeightsAre weights_;
    Trial trial_;
    std::unique_ptr<Trial::Timed> incumbent_;
    std::string incumbent_plan_;
};

class Worker {
public:
    Worker(bool pack_each_time, bool plain_launches, const std::string& surface)
        : weights_(pack_each_time ? WeightsAre::changing : WeightsAre::constant),
          launching_(plain_launches ? Launching::plain : Launching::replayed) {
        if (!surface.empty()) surface_ = std::make_unique<Surface>(surface);
    }

    [[nodiscard]] nlohmann::json answer(const std::string& line) {
        Request request;
        Measurement failed;
        failed.state = CandidateState::not_launched;
        try {
            request = parse_request(line);
            if (request.work == Work::facts) return to_json(surface_ ? surface_->facts() : facts());
            if (request.work == Work::compile) return to_json(surface_ ? surface_->compile(request) : compile(request));
            if (request.work == Work::begin) return to_json(surface_ ? Measurement() : begin(request));
            return to_json(surface_ ? surface_->measure(request) : measure(request));
        } catch (const CompileError& error) {
            failed.state = CandidateState::not_compiled;
            failed.why = error.what();
        } catch (const std::exception& error) {
            if (request.work == Work::compile) failed.state = CandidateState::not_compiled;
            failed.why = error.what();
        }
        return to_json(failed);
    }

private:
    [[nodiscard]] static CardFacts facts() {
        const Device device = Device::best();
        return {device.name(),
                device.arch(),
                device.driver_version(),
                nvrtc_version(),
                copy_bytes_per_second(device) * 1e-12,
                device.multiprocessors()};
    }

    [[nodiscard]] Measurement compile(const Request& request) {
        PrepareOptions options;
        options.plan = request.plan;
        (void)engine_.compile(parse_layer(request.layer), request.arch, options);
        return {};
    }

    [[nodiscard]] Measurement begin(const Request& request) {
        if (!bench_ || layer_ != request.layer) {
            bench_.reset();  // its tensors go before those of the next
            bench_ = std::make_unique<Bench>(engine_, request.layer, weights_, launching_);
            layer_ = request.layer;
        }
        return {};
    }

    [[nodiscard]] Measurement measure(const Request& request) {
        (void)begin(request);
        return bench_->measure(request);
    }

    WeightsAre weights_;
    Launching launching_;
    std::unique_ptr<Surface> surface_;
    Engine engine_;
    std::string layer_;
    std::unique_ptr<Bench> bench_;
};

}  // namespace

std::vector<std::string> tune_worker_arguments(bool pack_each_time, bool plain_launches, const std::string& surface) {
    std::vector<std::string> arguments = {kCommand};
    if (pack_each_time) arguments.emplace_back("--pack-each-time");
    if (plain_launches) arguments.emplace_back("--plain-launches");
    if (!surface.empty()) arguments.insert(arguments.end(), {"--surface", surface});
    return arguments;
}

void add_tune_worker(CLI::App& app, int& status) {
    struct Options {
        bool pack_each_time = false, plain_launches = false;
        std::string surface;
    };
    auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand(kCommand, "")->group("");
    command->add_flag("--pack-each-time", options->pack_each_time);
    command->add_flag("--plain-launches", options->plain_launches);
    command->add_option("--surface", options->surface);
    command->callback([options, &status] {
        // One that hangs would never see that the tuner has gone.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        Worker worker(options->pack_each_time, options->plain_launches, options->surface);
        serve([&](const std::string& line) { return json_text(worker.answer(line), -1); });
        status = 0;
    });
}

}  // namespace convt_jit::tools
