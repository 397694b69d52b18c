#include "warmup/fill.h"

#include "cache/lookup.h"
#include "subject/crew.h"
#include "warmup/bar.h"
#include "warmup/budget.h"
#include "warmup/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <system_error>

namespace convt_jit::tools {
namespace {

constexpr auto kGlance = std::chrono::milliseconds(250);

std::string how_it_died(const News& news) {
    if (news.signal == SIGKILL) return "the compiler's process was killed, as it is where memory is short";
    if (news.signal != 0) return fmt::format("the compiler's process died of {}", ::strsignal(news.signal));
    return fmt::format("the compiler's process ended with exit code {}", news.code);
}

class Filler {
public:
    Filler(const std::vector<Job>& jobs, const FillOptions& options, Interruption& interruption, Notices& notices)
        : jobs_(jobs),
          options_(options),
          interruption_(interruption),
          notices_(notices),
          machine_(this_machine()),
          bar_("warmup:"),
          crew_(worker_arguments(options.prepare)) {
        filling_.results.resize(jobs.size());
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (jobs[i].wanted)
                queue_.push_back(i);
            else
                settle(i, {State::failed, "", jobs[i].failure, {}});
        }
    }

    Filling run() {
        while (true) {
            // Who waits for another process's kernel stops; a signal for this process alone has not reached the others.
            if (interruption_.count() > 0 && !told_) crew_.tell(SIGTERM);
            told_ = told_ || interruption_.count() > 0;
            stopping_ = stopping_ || told_;
            // Twice: whoever asks will not wait for the running ones either.
            if (interruption_.count() > 1) crew_.kill();
            if (!stopping_) hand_out();
            if (crew_.busy() == 0) break;
            for (const News& news : crew_.wait(interruption_.descriptor(), kGlance)) take(news);
            show();
        }
        return std::move(filling_);
    }

private:
    void hand_out() {
        const int fitting = jobs_allowed(machine_, options_.most_jobs, filling_.peak_bytes);
        const auto allowed = static_cast<std::size_t>(std::max(std::min(fitting, ceiling_), 1));
        crew_.shrink(allowed);
        while (!queue_.empty() && crew_.busy() < allowed) {
            const std::size_t job = queue_.front();
            try {
                crew_.give(job, request_line(jobs_[job].targets.front()));
            } catch (const std::system_error&) {
                // No more processes are to be had: those that there are must do.
                if (crew_.busy() == 0) throw;
                ceiling_ = static_cast<int>(crew_.busy());
                break;
            }
            queue_.pop_front();
        }
        filling_.jobs = std::max(filling_.jobs, static_cast<int>(crew_.busy()));
    }

    void take(const News& news) {
        if (!news.line.empty()) {
            Reply reply;
            try {
                reply = parse_reply(news.line);
            } catch (const Error& error) {
                reply.result = {State::failed, "", error.what(), {}};
            }
            filling_.peak_bytes = std::max(filling_.peak_bytes, reply.peak_bytes);
            stopping_ = stopping_ || reply.in_vain;
            for (const std::string& warning : reply.warnings) notices_.tell(warning);
            settle(news.task, std::move(reply.result));
            return;
        }
        if (interruption_.count() > 1) return;  // killed by us: it is left
        const AfterLoss after = after_loss(++losses_[news.task], news.signal);
        if (after.fewer_jobs) ceiling_ = std::max(static_cast<int>(crew_.busy()), 1);
        if (after.again)
            queue_.push_back(news.task);
        else
            settle(news.task, {State::failed, "", how_it_died(news), {}});
    }

    void settle(std::size_t job, JobResult result) {
        advance_.compiled += result.state == State::compiled ? 1 : 0;
        advance_.hits += result.state == State::found ? 1 : 0;
        advance_.failed += result.state == State::failed ? 1 : 0;
        filling_.results[job] = std::move(result);
    }

    void show() {
        advance_.total = jobs_.size();
        advance_.jobs = static_cast<int>(crew_.busy());
        advance_.stopping = stopping_;
        bar_.show(advance_);
    }

    const std::vector<Job>& jobs_;
    const FillOptions& options_;
    Interruption& interruption_;
    Notices& notices_;
    const Machine machine_;  // before the first compiler took its part
    Filling filling_;
    std::deque<std::size_t> queue_;
    std::map<std::size_t, int> losses_;
    int ceiling_ = INT32_MAX;
    bool stopping_ = false, told_ = false;
    Advance advance_;
    Bar bar_;
    Crew crew_;
};

}  // namespace

Filling fill(const std::vector<Job>& jobs, const FillOptions& options, Interruption& interruption, Notices& notices) {
    return Filler(jobs, options, interruption, notices).run();
}

std::vector<JobResult> check(const std::vector<Job>& jobs) {
    const auto directories = cache_directories();
    std::vector<JobResult> results;
    for (const Job& job : jobs) {
        if (!job.wanted) {
            results.push_back({State::failed, "", job.failure, {}});
            continue;
        }
        Lookup lookup = look_up(directories, *job.wanted);
        const CacheExplanation& found = lookup.explanation;
        if (found.hit)
            results.push_back(
                {State::found, found.hit->key, "", std::move(lookup.reasons), lookup.directory, found.hit->bytes});
        else
            results.push_back({State::missing, found.key, "not in the cache", std::move(lookup.reasons)});
    }
    return results;
}

std::vector<CacheEntry> entries_in(const std::vector<std::string>& directories) {
    std::vector<CacheEntry> all;
    for (const std::string& directory : directories) {
        const Cache cache(directory);
        if (!cache.exists()) continue;
        try {
            for (CacheEntry& entry : cache.list()) all.push_back(std::move(entry));
        } catch (const CacheError&) {
            continue;  // one that cannot be read serves nothing
        }
    }
    return all;
}

void mark_lost(std::vector<JobResult>& results, const std::vector<CacheEntry>& entries, const std::string& why) {
    std::set<std::string> held;
    for (const CacheEntry& entry : entries) held.insert(entry.key);
    for (JobResult& result : results)
        if ((result.state == State::compiled || result.state == State::found) && !held.contains(result.key))
            result = {State::failed, result.key, why, {}};
}

}  // namespace convt_jit::tools
