#include "subject/crew.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <system_error>
#include <utility>

namespace convt_jit::tools {
namespace {

// Whatever is at that path by now, this is the program that runs.
constexpr const char* kSelf = "/proc/self/exe";

struct Actions {
    posix_spawn_file_actions_t value{};
    Actions() { posix_spawn_file_actions_init(&value); }
    ~Actions() { posix_spawn_file_actions_destroy(&value); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;
};

}  // namespace

Crew::~Crew() {
    for (Worker& worker : workers_) ::shutdown(worker.socket, SHUT_WR);
    for (Worker& worker : workers_) part(worker);
}

std::size_t Crew::busy() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.task.has_value(); }));
}

Crew::Worker Crew::start() const {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot start a process");
    Actions actions;
    posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDOUT_FILENO);
    std::string name = "convt";
    std::vector<char*> arguments = {name.data()};
    auto copies = arguments_;
    for (std::string& copy : copies) arguments.push_back(copy.data());
    arguments.push_back(nullptr);
    Worker worker;
    worker.socket = ends[0];
    // Blocked signals stay blocked in it, see Interruption.
    const int error = ::posix_spawn(&worker.process, kSelf, &actions.value, nullptr, arguments.data(), environ);
    ::close(ends[1]);
    if (error != 0) {
        ::close(ends[0]);
        throw std::system_error(error, std::generic_category(), "cannot start a process");
    }
    return worker;
}

void Crew::give(std::size_t task, const std::string& line) {
    auto idle = std::find_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return !worker.task; });
    if (idle == workers_.end()) idle = workers_.insert(idle, start());
    idle->task = task;
    // One that has died in the meantime is noticed at the next wait. Lines are short and answered one by one: they fit
    // into the socket's buffer as a whole.
    (void)::send(idle->socket, line.data(), line.size(), MSG_NOSIGNAL);
}

bool Crew::receive(Worker& worker) {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::recv(worker.socket, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    worker.received.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
}

int Crew::part(Worker& worker) {
    if (worker.socket >= 0) ::close(std::exchange(worker.socket, -1));
    int status = 0;
    while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

std::vector<News> Crew::wait(int other, std::chrono::milliseconds timeout) {
    std::vector<pollfd> polled = {{other, POLLIN, 0}};
    for (const Worker& worker : workers_) polled.push_back({worker.socket, POLLIN, 0});
    std::vector<News> news;
    if (::poll(polled.data(), polled.size(), static_cast<int>(timeout.count())) <= 0) return news;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        Worker& worker = workers_[i];
        if (polled[i + 1].revents == 0) continue;
        if (!receive(worker)) {
            const int status = part(worker);
            if (worker.task)
                news.push_back({*worker.task, "", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                WIFEXITED(status) ? WEXITSTATUS(status) : 0});
        } else if (const auto end = worker.received.find('\n'); end != std::string::npos && worker.task) {
            news.push_back({*worker.task, worker.received.substr(0, end), 0, 0});
            worker.task.reset();
            worker.received.clear();
        }
    }
    std::erase_if(workers_, [](const Worker& worker) { return worker.socket < 0; });
    return news;
}

void Crew::shrink(std::size_t count) {
    for (auto worker = workers_.begin(); worker != workers_.end() && workers_.size() > count;) {
        if (worker->task) {
            ++worker;
            continue;
        }
        part(*worker);
        worker = workers_.erase(worker);
    }
}

void Crew::tell(int signal) {
    for (const Worker& worker : workers_) ::kill(worker.process, signal);
}

void Crew::kill() { tell(SIGKILL); }

void serve(const std::function<std::string(const std::string&)>& answer) {
    for (std::string line; std::getline(std::cin, line);) {
        fmt::print("{}\n", answer(line));
        if (std::fflush(stdout) != 0) break;
    }
}

}  // namespace convt_jit::tools
