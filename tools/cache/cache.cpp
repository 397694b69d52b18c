#include "cache/cache.h"

#include "cache/care.h"
#include "cache/explain.h"
#include "cache/listing.h"
#include "cache/place.h"
#include "cache/transfer.h"
#include "subject/answer.h"
#include "subject/argument.h"
#include "subject/message.h"

#include <functional>
#include <memory>

namespace convt_jit::tools {
namespace {

// One subcommand: what it takes besides --cache and --json, and what it does.
template <class Options>
struct Command {
    const char* name;
    const char* description;
    std::function<void(CLI::App&, Options&)> declare;
    std::function<int(const Place&, const Options&)> carry_out;

    void add_to(CLI::App& cache, int& status) const {
        struct All {
            Place place;
            Options options;
        };
        const auto all = std::make_shared<All>();
        CLI::App* const command = cache.add_subcommand(name, description);
        declare(*command, all->options);
        all->place.add_to(*command);
        command->callback([all, &status, run = carry_out] {
            status = answered(all->place.json, [&] { return run(all->place, all->options); });
            finish_output();
        });
    }
};

struct Nothing {};

struct Verify {
    bool repair = false;
};

struct Transfer {
    std::string file;
    std::vector<std::string> archs;
};

void add_archs(CLI::App& command, std::vector<std::string>& archs, const char* description) {
    // What follows the one value is no arch: it may be the file.
    command.add_option("--arch", archs, description)->type_name("A,B")->allow_extra_args(false);
}

}  // namespace

void add_cache(CLI::App& app, int& status) {
    CLI::App* const cache = app.add_subcommand("cache", "Look at the disk cache and look after it");
    cache->require_subcommand(1);

    Command<Nothing>{"ls", "List the entries, most recently used first", [](CLI::App&, Nothing&) {},
                     [](const Place& place, const Nothing&) { return ls(place); }}
        .add_to(*cache, status);
    Command<ShowOptions>{
        "show", "Tell all about one entry",
        [](CLI::App& command, ShowOptions& o) {
            command.add_option("KEY", o.key, "its key, or what alone begins so")->required()->check(not_empty());
            command.add_option("--cubin", o.cubin, "write its machine code there, for cuobjdump (-: standard output)")
                ->type_name("FILE")
                ->check(not_empty());
        },
        show}
        .add_to(*cache, status);
    Command<Nothing>{"stat", "Count entries, bytes and users", [](CLI::App&, Nothing&) {},
                     [](const Place& place, const Nothing&) { return stat(place); }}
        .add_to(*cache, status);
    Command<Verify>{"verify", "Read every byte of every entry; exit code 1 where something is damaged or not trusted",
                    [](CLI::App& command, Verify& o) {
                        command.add_flag("--repair", o.repair, "move what is damaged to quarantine, remove orphans");
                    },
                    [](const Place& place, const Verify& o) { return verify(place, o.repair); }}
        .add_to(*cache, status);
    Command<TrimOptions>{"trim", "Remove the least recently used entries",
                         [](CLI::App& command, TrimOptions& o) {
                             command
                                 .add_option("--max-bytes", o.max_bytes,
                                             "until that much is left (512M, 2G); default: "
                                             "$CONVT_JIT_CACHE_MAX_BYTES")
                                 ->type_name("N")
                                 ->check(not_empty());
                             command.add_flag("--dry-run", o.dry_run, "remove nothing, tell what would go");
                         },
                         trim}
        .add_to(*cache, status);
    Command<PruneOptions>{"prune", "Remove entries by arch, by age, or those that are both",
                          [](CLI::App& command, PruneOptions& o) {
                              add_archs(command, o.archs, "those of these archs");
                              command.add_option("--older-than", o.older_than, "those not used for so long (30d, 12h)")
                                  ->type_name("AGE")
                                  ->check(not_empty());
                              command.add_flag("--dry-run", o.dry_run, "remove nothing, tell what would go");
                          },
                          prune}
        .add_to(*cache, status);
    Command<Transfer>{"export", "Write the entries to one file, a plain tar",
                      [](CLI::App& command, Transfer& o) {
                          command.add_option("FILE", o.file, "the file to write")->required()->check(not_empty());
                          add_archs(command, o.archs, "only entries of these archs");
                      },
                      [](const Place& place, const Transfer& o) { return export_to(place, o.file, o.archs); }}
        .add_to(*cache, status);
    Command<Transfer>{"import", "Take in the entries of an exported file, all or none",
                      [](CLI::App& command, Transfer& o) {
                          command.add_option("FILE", o.file, "the file to read")->required()->check(not_empty());
                      },
                      [](const Place& place, const Transfer& o) { return import_from(place, o.file); }}
        .add_to(*cache, status);
    Command<ExplainOptions>{
        "explain", "Tell what a layer's key is made of, and why a lookup misses (exit code 1)",
        [](CLI::App& command, ExplainOptions& o) {
            command.add_option("LAYER", o.layer, "a layer string, one quoted argument")->required()->check(not_empty());
            command.add_option("--arch", o.arch, "for which arch")->required()->type_name("A");
            command.add_option("--plan", o.plan, "a plan instead of the default choice")->check(not_empty());
            command.add_flag("--exact-nonfinite", o.exact_nonfinite, "as it is prepared with that option");
        },
        explain}
        .add_to(*cache, status);
}

}  // namespace convt_jit::tools
