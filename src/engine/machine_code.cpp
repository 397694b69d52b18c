#include "engine/machine_code.h"

#include "cache/lookup.h"
#include "convt_jit/error.h"
#include "engine/compiler.h"
#include "engine/miss.h"
#include "engine/stopwatch.h"
#include "layer/fingerprint.h"
#include "log/log.h"
#include "plan/geometry.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <utility>

namespace convt_jit {
namespace {

KeyFields key_fields(const Source& source, const Arch& arch) {
    KeyFields key;
    key.source_digest = digest(source.text);
    key.options = fmt::format("{}", fmt::join(compile_options(arch), " "));
    key.arch = to_string(arch);
    return key;
}

CacheWanted to_wanted(const Request& request, const KeyFields& key) {
    return {{key.source_digest, key.options, key.arch, key.producer, key.format},
            fingerprint(request.layer),
            to_string(request.plan),
            version()};
}

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = {};
    return gethostname(name, HOST_NAME_MAX) == 0 ? name : "";
}

Provenance provenance(const Request& request, const Source& source) {
    Provenance from;
    from.library = version();
    from.host = host_name();
    from.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    from.layer = fingerprint(request.layer);
    from.family = family_name(request.plan);
    from.plan = to_string(request.plan);
    from.entry_point = source.entry;
    from.shared_bytes = shared_bytes_per_block(request.layer, request.plan);
    return from;
}

}  // namespace

CacheWanted wanted(const Request& request, const std::string& producer) {
    KeyFields key = key_fields(render(request.layer, request.plan, request.arch), request.arch);
    key.producer = producer;
    return to_wanted(request, key);
}

MachineCode::MachineCode(const Request& request, const Stores& stores, KernelInfo& info)
    : request_(request), stores_(stores), info_(info) {
    const Stopwatch watch;
    source_ = render(request.layer, request.plan, request.arch);
    fields_ = key_fields(source_, request.arch);
    info_.render_ms = watch.milliseconds();
}

std::shared_ptr<const Entry> MachineCode::look() {
    fields_.producer = wanted_producer(stores_.settings);
    const auto found_in = [&](Store& store, Origin origin) {
        auto entry = convt_jit::find(store, fields_, stores_.settings.producer);
        if (entry == nullptr) return entry;
        info_.origin = origin;
        info_.key = digest(entry->key);
        log::debug("{} for {}: found in {}", info_.key, info_.arch, store.describe());
        return entry;
    };
    if (auto entry = found_in(*stores_.memory, Origin::memory)) return entry;
    return found_in(*stores_.disk, Origin::disk);
}

std::shared_ptr<const Entry> MachineCode::find() {
    auto entry = look();
    if (entry != nullptr && info_.origin == Origin::disk) stores_.memory->put(info_.key, entry);
    return entry;
}

std::shared_ptr<const Entry> MachineCode::make(const Check& check) {
    try {
        fields_.producer = producer_of(open_compiler(stores_.settings).version());
    } catch (const CompileError& error) {
        throw_not_cached(error.what());
    }
    info_.key = digest(fields_);
    info_.origin = Origin::disk;  // unless it is compiled here
    auto entry = make_once(*stores_.disk, info_.key, [&] { return compile(check); });
    stores_.memory->put(info_.key, entry);
    return entry;
}

void MachineCode::replace(const Check& check) {
    fields_.producer = producer_of(open_compiler(stores_.settings).version());
    info_.key = digest(fields_);
    auto entry = std::make_shared<const Entry>(compile(check));
    stores_.disk->put(info_.key, *entry);
    stores_.memory->put(info_.key, std::move(entry));
}

Entry MachineCode::compile(const Check& check) {
    const Stopwatch watch;
    Entry entry{fields_, provenance(request_, source_), Nvrtc::instance().compile(source_, request_.arch).bytes};
    info_.compile_ms = watch.milliseconds();
    info_.origin = Origin::compiler;
    log::info("compiled \"{}\" for {} in {:.0f} ms", info_.layer, info_.arch, info_.compile_ms);
    if (check) check(entry);
    entry.provenance.registers = info_.registers;
    entry.provenance.spill_bytes = info_.spill_bytes;
    return entry;
}

void MachineCode::throw_not_cached(const std::string& why) const {
    Miss miss;
    miss.layer = request_.asked_layer;
    miss.arch = request_.asked_arch;
    miss.plan = request_.asked_plan;
    miss.exact_nonfinite = request_.asked_exact;
    miss.caches = stores_.disk->describe();
    miss.wanted = to_wanted(request_, fields_);
    miss.nearest = nearest_in(directories(stores_.settings), miss.wanted);
    miss.why_no_compiler = why;
    CompileError::Details details;
    details.arch = fields_.arch;
    details.options = fields_.options;
    details.constants = source_.constants;
    throw CompileError(describe(miss), std::move(details));
}

}  // namespace convt_jit
