#include "autotune/compilers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace convt_jit::tools {

using Clock = std::chrono::steady_clock;

Compilers::Compilers(std::vector<std::string> worker_arguments, std::string layer, std::string arch, std::size_t jobs,
                     std::chrono::seconds patience)
    : layer_(std::move(layer)),
      arch_(std::move(arch)),
      jobs_(std::max<std::size_t>(jobs, 1)),
      patience_(patience),
      arguments_(std::move(worker_arguments)) {
    if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
    thread_ = std::thread([this] { run(); });
}

Compilers::~Compilers() {
    {
        const std::scoped_lock lock(mutex_);
        over_ = true;
    }
    (void)!::write(wake_[1], "", 1);
    thread_.join();
    ::close(wake_[0]);
    ::close(wake_[1]);
}

void Compilers::want(std::vector<std::pair<std::size_t, std::string>> plans) {
    {
        const std::scoped_lock lock(mutex_);
        wanted_.clear();
        for (auto& plan : plans)
            if (!done_.contains(plan.first) && !begun_.contains(plan.first)) wanted_.push_back(std::move(plan));
    }
    (void)!::write(wake_[1], "", 1);
}

std::optional<std::pair<std::size_t, Compilers::Result>> Compilers::take(const std::vector<std::size_t>& any_of,
                                                                         Clock::time_point until) {
    std::unique_lock lock(mutex_);
    std::optional<std::pair<std::size_t, Result>> found;
    change_.wait_until(lock, until, [&] {
        for (const std::size_t candidate : any_of)
            if (const auto done = done_.find(candidate); done != done_.end()) {
                found = *done;
                return true;
            }
        return false;
    });
    return found;
}

void Compilers::note(std::size_t candidate, Result result) {
    begun_.erase(candidate);
    done_[candidate] = std::move(result);
    change_.notify_all();
}

void Compilers::hand_out(Crew& crew) {
    while (!wanted_.empty() && crew.busy() < jobs_) {
        auto [candidate, plan] = std::move(wanted_.front());
        wanted_.pop_front();
        try {
            crew.give(candidate, request_line({Work::compile, layer_, arch_, plan, "", 0, false}));
            begun_[candidate] = {std::move(plan), Clock::now()};
        } catch (const std::system_error& error) {
            if (crew.busy() == 0)
                note(candidate, {false, error.what()});
            else
                wanted_.emplace_front(candidate, std::move(plan));  // no more processes are to be had
            return;
        }
    }
}

void Compilers::run() {
    auto crew = std::make_unique<Crew>(arguments_);
    for (;;) {
        {
            const std::scoped_lock lock(mutex_);
            if (over_) break;
            hand_out(*crew);
        }
        const std::vector<News> all = crew->wait(wake_[0], std::chrono::milliseconds(500));
        char drained[64];
        while (::read(wake_[0], drained, sizeof drained) > 0) {
        }
        const std::scoped_lock lock(mutex_);
        for (const News& news : all) {
            Result result;
            try {
                if (news.line.empty())
                    result.why = fmt::format("its compiler ended: {}",
                                             news.signal != 0 ? ::strsignal(news.signal) : std::to_string(news.code));
                else if (const Measurement m = parse_measurement(nlohmann::json::parse(news.line));
                         m.state == CandidateState::measured)
                    result.compiled = true;
                else
                    result.why = m.why;
            } catch (const std::exception& error) {
                result.why = error.what();
            }
            note(news.task, std::move(result));
        }
        // One that does not come to an end takes all others with it; those begin anew.
        const auto stuck = std::find_if(begun_.begin(), begun_.end(),
                                        [&](const auto& item) { return Clock::now() - item.second.since > patience_; });
        if (stuck != begun_.end()) {
            const std::size_t candidate = stuck->first;
            crew->kill();
            crew = std::make_unique<Crew>(arguments_);
            for (auto& [other, begun] : std::exchange(begun_, {}))
                if (other != candidate) wanted_.emplace_front(other, std::move(begun.plan));
            note(candidate, {false, fmt::format("its compiler hung for {} s", patience_.count())});
        }
    }
    crew->kill();
}

}  // namespace convt_jit::tools
