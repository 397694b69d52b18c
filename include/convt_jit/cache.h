// Cache: what an operator does with a cache directory. Needs no GPU, no driver and no compiler.
#pragma once

#include "convt_jit/error.h"
#include "convt_jit/export.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convt_jit {

/// A directory, a file or a key that cannot be used as asked. What an engine does with its cache never throws this.
class CONVT_JIT_API CacheError : public Error {
public:
    CacheError(std::string subject, const std::string& reason)
        : Error(subject + ": " + reason), subject_(std::move(subject)) {}
    [[nodiscard]] const std::string& subject() const noexcept { return subject_; }

private:
    std::string subject_;
};

/// What a cubin depends on: the fields of its key.
struct CacheKey {
    std::string source;    ///< digest of the rendered source
    std::string options;   ///< compile options, separated by blanks
    std::string arch;      ///< "sm_90a"
    std::string producer;  ///< "nvrtc 13.0.88"; empty: whichever
    int format = 0;        ///< version of the entry format
};

/// Whose entries a lookup accepts: those of the very compiler that would compile here, of its major version, or any.
enum class ProducerPolicy { exact, same_major, any };

struct CacheEntry {
    std::string key;  ///< 32 hex digits
    std::string path;
    /// False where the header cannot be read (damaged, of another version of this library, or not trusted): all that
    /// follows up to `bytes` is empty then. True says nothing of the cubin: verify() does.
    bool readable = false;
    CacheKey fields;
    std::string library, host, date;               ///< who made it
    std::string layer, family, plan, entry_point;  ///< what it computes
    int registers = 0, spill_bytes = 0;
    std::uint64_t shared_bytes = 0, cubin_bytes = 0;
    std::uint64_t bytes = 0;  ///< of the file
    double last_used = 0;     ///< seconds since 1970, by the cache's clock, to about ten minutes
    bool in_use = false;      ///< by a live process; also where nobody can tell, see CacheStat::holders_unknown
};

/// A folder of the cache that cannot be read: its entries are missing from an answer.
struct CacheSkipped {
    std::string path;  ///< within the directory
    std::string why;
};

struct CacheStat {
    std::size_t entries = 0, in_use = 0;
    std::uint64_t bytes = 0;
    std::uint64_t max_bytes = 0;  ///< the cap of this process's environment; 0: none
    struct PerArch {
        std::string arch;  ///< empty: not readable
        std::size_t entries = 0;
        std::uint64_t bytes = 0;
    };
    std::vector<PerArch> archs;
    std::vector<std::string> producers;
    std::size_t quarantined = 0;
    std::size_t orphans = 0;    ///< temporary files of processes that died
    std::size_t processes = 0;  ///< live ones that use the cache
    /// Why nobody can tell which entries are in use, so that all may be and none is removed. Empty: it is known.
    std::string holders_unknown;
    double oldest_use = 0, newest_use = 0;
    std::vector<CacheSkipped> skipped;
};

enum class CacheFindingKind {
    damaged,       ///< not what was written
    misplaced,     ///< a sound entry under the name of another
    unreadable,    ///< the file system refuses
    untrusted,     ///< somebody else could have written it
    other_format,  ///< sound, and for another version of this library
    unlisted,      ///< producers/ lacks who made sound entries; a repair adds it
    stray          ///< no file of the cache
};
[[nodiscard]] CONVT_JIT_API const char* to_string(CacheFindingKind kind) noexcept;

struct CacheFinding {
    CacheFindingKind kind = CacheFindingKind::damaged;
    std::string path;  ///< within the directory
    std::string why;
    bool mended = false;       ///< moved to quarantine: it will be made anew
    std::string failure = {};  ///< why it was to be mended and could not
};

struct CacheVerification {
    std::size_t sound = 0;
    std::uint64_t bytes = 0;  ///< of the sound ones
    std::size_t orphans = 0;  ///< removed when repairing
    std::vector<CacheFinding> findings;
    /// Whether something that was kept is lost or cannot be read.
    [[nodiscard]] CONVT_JIT_API bool damaged() const noexcept;
    /// How much is not loaded since somebody else could have written it.
    [[nodiscard]] CONVT_JIT_API std::size_t untrusted() const noexcept;
};

struct CacheVerdict {
    std::string key, arch;
    /// "fits", "in use", "holders unknown", "recent", "other arch", "young", "over the cap", "pruned"
    std::string verdict;
    bool evicted = false;  ///< removed (would be, in a dry run)
    std::uint64_t bytes = 0;
    double last_used = 0;
    std::string failure = {};  ///< why it could not be removed; empty where it was, or was not to be
};

struct CacheTrim {
    std::vector<CacheVerdict> verdicts;
    std::size_t evicted = 0, orphans = 0;
    std::uint64_t bytes_before = 0, bytes_after = 0;
    bool busy = false;                 ///< another process trims: nothing was done
    bool no_cache = false;             ///< nothing in the directory is of a cache: nothing was done
    std::string holders_unknown = {};  ///< see CacheStat; what had to go stayed
    std::vector<CacheSkipped> skipped;
};

struct CacheTransfer {
    std::size_t entries = 0;  ///< written or kept
    std::size_t skipped = 0;  ///< there already (import); damaged, not trusted or of another format (export)
    std::uint64_t bytes = 0;
    std::vector<CacheSkipped> left_out = {};  ///< those that an export skipped, each with the reason
};

/// What a lookup wants. The last three help to tell why a source differs; they may be empty.
struct CacheWanted {
    CacheKey fields;
    std::string layer, plan, library;
};

struct CacheDifference {
    std::string field, wanted, nearest;
};

/// An entry that is there and that a lookup does not use all the same.
struct CacheUnused {
    std::string path;    ///< within the directory
    std::string reason;  ///< "damaged", "unreadable", "untrusted" or "other producer"
    std::string why;
};

/// Which of two entries tells more about a miss: the one of whose layer fewer fields differ, then the one with fewer
/// differences in all, then with fewer in its plan, then the one used more recently.
[[nodiscard]] CONVT_JIT_API bool is_nearer(const CacheWanted& wanted, const CacheEntry& a, const CacheEntry& b);

struct CacheExplanation {
    std::string key;                         ///< empty where the producer is not known
    std::optional<CacheEntry> hit;           ///< what a lookup would use
    std::optional<CacheEntry> nearest;       ///< on a miss: the entry that comes nearest, see is_nearer
    std::vector<CacheDifference> differing;  ///< fields of the key, and what tells why the source differs
    std::vector<CacheUnused> unused;         ///< what would have been a hit
};

/// The directories that an engine asks, in its order: the user's, then those of $CONVT_JIT_CACHE_PATH.
[[nodiscard]] CONVT_JIT_API std::vector<std::string> cache_directories();

/// Whether a directory looks like a cache, whoever's: it holds an entry, or several of a cache's own files. What is no
/// entry has no place in it.
[[nodiscard]] CONVT_JIT_API bool looks_like_cache(const std::string& directory);

/// The cap that an engine keeps the first of them under: $CONVT_JIT_CACHE_MAX_BYTES; 0: none.
[[nodiscard]] CONVT_JIT_API std::uint64_t cache_max_bytes();
/// As that variable takes it: "1073741824", "512K", "64m", "1G", "2T", powers of 1024. Nothing where it is no size.
[[nodiscard]] CONVT_JIT_API std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

/// One cache directory. Every call looks anew. Methods throw CacheError.
class CONVT_JIT_API Cache {
public:
    /// Unset: the directory that an engine would use.
    explicit Cache(std::optional<std::string> directory = std::nullopt);
    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
    [[nodiscard]] bool exists() const noexcept;

    /// Why an engine could keep nothing here; empty where it can. Makes the directory where there is none.
    [[nodiscard]] std::string trouble() const;

    /// All entries, most recently used first. Folders that cannot be read are told in `skipped`, else warned about.
    [[nodiscard]] std::vector<CacheEntry> list(std::vector<CacheSkipped>* skipped = nullptr) const;
    /// The entry of a key, or of the only key that begins so.
    [[nodiscard]] CacheEntry show(const std::string& key) const;
    /// Its machine code, checked: an ELF image for cuobjdump or nvdisasm.
    [[nodiscard]] std::string cubin(const std::string& key) const;
    [[nodiscard]] CacheStat stat() const;

    /// Reads every byte of every entry. With `repair`, moves the bad ones to quarantine, removes orphans and counts
    /// anew.
    CacheVerification verify(bool repair = false) const;
    /// Removes the least recently used until `max_bytes` are left ($CONVT_JIT_CACHE_MAX_BYTES where unset).
    CacheTrim trim(std::optional<std::uint64_t> max_bytes = std::nullopt, bool dry_run = false) const;
    /// Removes what is of one of those archs (all where empty) and was not used for so many seconds. An arch means what
    /// Engine::compile makes for it: "sm_90a" the entries of sm_90a, and those of sm_90, which have no use for the
    /// suffix.
    CacheTrim prune(const std::vector<std::string>& archs, double older_than_seconds, bool dry_run = false) const;

    /// Writes a plain tar, whole or not at all, in the place of a regular file or where a link to one leads: the
    /// entries (of those archs, as above; all where empty), then a manifest with digests. Writes nothing where there is
    /// no such entry. Throws, and writes nothing, where a folder of the cache cannot be read.
    CacheTransfer export_to(const std::string& file, const std::vector<std::string>& archs = {}) const;
    /// Checks the whole file against its manifest first, and keeps all of its entries or, where anything is wrong,
    /// none.
    CacheTransfer import_from(const std::string& file) const;

    /// Whether a lookup would hit in this directory, and in what the nearest entry differs if not.
    [[nodiscard]] CacheExplanation explain(const CacheWanted& wanted) const;

private:
    std::string directory_;
};

}  // namespace convt_jit
