// Crew: worker processes of this very program, a line in and a line out for each task.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit::tools {

// A worker has answered, or died over its task.
struct News {
    std::size_t task = 0;
    std::string line;  // empty: it died
    int signal = 0;    // that ended it; 0: it ended by itself
    int code = 0;      // its exit code then
};

// What a worker does all its life: a line from stdin, its answer (which has no line break) to stdout, until either
// ends.
void serve(const std::function<std::string(const std::string& line)>& answer);

class Crew {
public:
    explicit Crew(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
    // Those who work finish first.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    [[nodiscard]] std::size_t busy() const noexcept;
    // To one who is idle, or to a new one. Throws std::system_error where none can be started.
    void give(std::size_t task, const std::string& line);
    // Until there is news, `other` becomes readable, or the time is over.
    [[nodiscard]] std::vector<News> wait(int other, std::chrono::milliseconds timeout);
    // Sends idle ones home while there are more than so many in all.
    void shrink(std::size_t count);
    // Lets them know: a signal that they hold back until they are done.
    void tell(int signal);
    // Ends all at once, whatever they do.
    void kill();

private:
    struct Worker {
        pid_t process = -1;
        int socket = -1;
        std::optional<std::size_t> task;
        std::string received;
    };

    [[nodiscard]] Worker start() const;
    // The line that is complete, if any; false where the worker has gone.
    static bool receive(Worker& worker);
    // Closes and waits for its end; returns its status as waitpid tells it.
    static int part(Worker& worker);

    std::vector<std::string> arguments_;
    std::vector<Worker> workers_;
};

}  // namespace convt_jit::tools
