// Process: a started actor, its output, and its end.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convt_jit::fault {

using Variables = std::vector<std::pair<std::string, std::string>>;

class Process {
public:
    explicit Process(const std::vector<std::string>& words, const Variables& variables = {}) {
        int out[2], err[2];
        if (::pipe(out) != 0 || ::pipe(err) != 0) throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("no process");
        if (pid_ == 0) {
            for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
            ::dup2(out[1], 1), ::dup2(err[1], 2);
            for (const int end : {out[0], out[1], err[0], err[1]}) ::close(end);
            std::vector<char*> arguments;
            for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
            arguments.push_back(nullptr);
            ::execv(arguments[0], arguments.data());
            ::_exit(127);
        }
        ::close(out[1]), ::close(err[1]);
        out_ = out[0], err_ = err[0];
    }
    Process(Process&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)),
          out_(std::exchange(other.out_, -1)),
          err_(std::exchange(other.err_, -1)) {}
    Process& operator=(Process&&) = delete;
    ~Process() {
        if (pid_ > 0) kill(SIGKILL), wait();
        if (out_ >= 0) ::close(out_), ::close(err_);
    }

    void kill(int signal) const { ::kill(pid_, signal); }
    // Exit code; -1 where a signal ended it.
    int wait() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    // What it has written until its end, to be read once.
    [[nodiscard]] std::string output() const { return read_all(out_); }
    [[nodiscard]] std::string errors() const { return read_all(err_); }
    // Blocks until it has written something.
    [[nodiscard]] std::string some_output() const {
        char bytes[4096];
        const auto count = ::read(out_, bytes, sizeof bytes);
        return {bytes, static_cast<std::size_t>(count > 0 ? count : 0)};
    }

private:
    static std::string read_all(int file) {
        std::string text;
        char bytes[4096];
        for (ssize_t count = 0; (count = ::read(file, bytes, sizeof bytes)) > 0;)
            text.append(bytes, static_cast<std::size_t>(count));
        return text;
    }

    pid_t pid_ = -1;
    int out_ = -1, err_ = -1;
};

}  // namespace convt_jit::fault
