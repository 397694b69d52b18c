#include "cache/temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <utility>

namespace convt_jit {
namespace {

constexpr std::size_t kRandomDigits = 16;
constexpr std::chrono::hours kOrphanAge{1};

std::uint64_t random_number() noexcept {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number)) return number;
    static std::atomic<std::uint64_t> counter{0};  // early boot or an old kernel: unique within the process at least
    return counter.fetch_add(1) ^
           static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Short and plain enough that the whole name fits any file system.
std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    std::string part;
    for (const char c : std::string_view(name.data()).substr(0, 64)) {
        const bool plain =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
        part += plain ? c : '_';
    }
    return part.empty() ? "unknown" : part;
}

}  // namespace

Writer this_writer() { return {host_name(), ::getpid(), fmt::format("{:016x}", random_number())}; }

bool is_local(const Writer& writer) { return writer.host == host_name(); }

bool is_running(pid_t pid) noexcept {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return false;
    std::array<char, 64> path{};
    *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid).out = '\0';
    std::error_code error;
    const auto file = open_at(AT_FDCWD, path.data(), O_RDONLY, 0, error);
    if (error) return true;  // no /proc here: then a number in use is all that is known
    std::array<char, 1024> text{};
    const auto length = ::read(file.get(), text.data(), text.size());
    return length <= 0 || !has_ended({text.data(), static_cast<std::size_t>(length)});
}

bool has_ended(std::string_view stat) noexcept {
    // "PID (NAME) STATE ...", where a name may hold brackets and blanks; the 18th of what follows it counts threads.
    const auto name_end = stat.rfind(')');
    if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return false;
    std::string_view rest = stat.substr(name_end + 2);
    const char state = rest.front();
    for (int field = 1; field < 18; ++field) rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
    return state == 'X' || state == 'x' || (state == 'Z' && rest.starts_with("1 "));
}

std::string to_string(const Writer& writer) { return fmt::format("{}-{}-{}", writer.host, writer.pid, writer.random); }

std::optional<Writer> parse_writer(std::string_view text) {
    // From the right: a host's name may hold hyphens.
    const auto random = text.rfind('-');
    if (random == std::string_view::npos || random == 0) return std::nullopt;
    const auto pid = text.rfind('-', random - 1);
    if (pid == std::string_view::npos || pid == 0) return std::nullopt;
    Writer writer{std::string(text.substr(0, pid)), 0, std::string(text.substr(random + 1))};
    const auto digits = text.substr(pid + 1, random - pid - 1);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), writer.pid);
    if (error != std::errc() || end != digits.end() || writer.pid <= 0) return std::nullopt;
    if (writer.random.size() != kRandomDigits ||
        writer.random.find_first_not_of("0123456789abcdef") != std::string::npos)
        return std::nullopt;
    return writer;
}

std::string temporary_name(const Writer& writer) { return fmt::format(".{}.tmp", to_string(writer)); }

std::optional<Writer> parse_temporary_name(std::string_view name) {
    if (!name.starts_with('.') || !name.ends_with(".tmp") || name.size() < 6) return std::nullopt;
    return parse_writer(name.substr(1, name.size() - 5));
}

bool is_orphan(const TemporaryFacts& facts) noexcept {
    if (facts.locked) return false;
    // Another container may share the host's name but not its process numbers: there the lock alone tells, and it is
    // held until the file has its final name.
    return (facts.local && !facts.running) || facts.age > kOrphanAge;
}

std::size_t sweep_orphans(const FileDescriptor& folder, bool dry_run, std::error_code* failure) {
    std::size_t count = 0;
    for_each_name(folder, [&](const std::string& name) {
        const auto writer = parse_temporary_name(name);
        if (!writer) return;
        std::error_code error;
        const auto file = open_at(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error);
        struct stat status {};
        if (error || status_of(file, status) || !S_ISREG(status.st_mode)) return;
        TemporaryFacts facts;
        facts.local = is_local(*writer);
        facts.running = is_running(writer->pid);
        facts.locked = ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        facts.age = age_of(status);
        if (!is_orphan(facts)) return;
        if (dry_run || ::unlinkat(folder.get(), name.c_str(), 0) == 0)
            ++count;
        else if (failure != nullptr && errno != ENOENT)
            *failure = last_error();
    });
    return count;
}

Publication::Publication(const FileDescriptor& folder, std::string name)
    : folder_(folder), name_(std::move(name)), temporary_(temporary_name(this_writer())) {}

Publication::~Publication() {
    if (begun_) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

std::error_code Publication::begin(mode_t mode) {
    std::error_code error;
    file_ = open_at(folder_.get(), temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, error);
    begun_ = !error;
    if (error) return error;
    // The lock marks the file as ours for sweepers. It belongs to the description that both numbers share, so it
    // outlives the close, whose verdict is wanted before the rename. Where there are no locks, age decides.
    static_cast<void>(::flock(file_.get(), LOCK_EX | LOCK_NB));
    keeps_lock_ = FileDescriptor(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
    return {};
}

std::error_code Publication::write(std::string_view bytes) { return write_whole(file_, bytes); }

std::error_code Publication::commit(Flush flush) {
    // Without it a crash of the machine can leave the name on an empty file (the checksum would catch that, at the
    // price of a compile). Some file systems know no fsync.
    if (flush == Flush::yes && ::fsync(file_.get()) != 0 && errno != EINVAL && errno != ENOSYS && errno != EROFS)
        return last_error();
    if (const auto error = file_.close()) return error;
    if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0) return last_error();
    begun_ = false;
    return {};
}

std::error_code publish(const FileDescriptor& folder, const std::string& name, std::string_view bytes, mode_t mode,
                        std::optional<std::int64_t> stamp, Flush flush) {
    Publication publication(folder, name);
    if (const auto error = publication.begin(0600)) return error;
    if (const auto error = publication.write(bytes)) return error;
    give_to_owner_of(folder, publication.file());
    // Some network file systems refuse it, and 0600 is then good enough.
    static_cast<void>(::fchmod(publication.file().get(), mode));
    if (stamp) static_cast<void>(set_stamp(publication.file(), *stamp));
    return publication.commit(flush);
}

}  // namespace convt_jit
