#include "onnx/model_file.h"

#include "convt_jit/error.h"
#include "onnx/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>

namespace convt_jit::onnx_import {
namespace {

namespace pb = ::google::protobuf;

constexpr std::uint64_t kLargestFile = std::numeric_limits<std::int32_t>::max();  // protobuf's own limit
constexpr std::int64_t kLeastMemory = 64 << 20;
constexpr std::int64_t kPerByte = 12;  // a small node takes about ten times its bytes in the file
constexpr int kDeepest = 100;          // messages within messages; a subgraph is three of them

// Two bytes of a hostile file can become a message of a hundred. What is left to the model that this thread reads:
// protobuf asks for memory by a plain function.
thread_local std::int64_t memory_left = 0;

class OverBudget : public std::bad_alloc {};

void* allocate_block(std::size_t bytes) {
    if (static_cast<std::int64_t>(bytes) > memory_left) throw OverBudget();
    void* const block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    memory_left -= static_cast<std::int64_t>(bytes);
    return block;
}

void free_block(void* block, std::size_t) { std::free(block); }

pb::ArenaOptions arena_options() {
    pb::ArenaOptions options;
    options.block_alloc = allocate_block;
    options.block_dealloc = free_block;
    return options;
}

class DescriptorStream : public pb::io::CopyingInputStream {
public:
    explicit DescriptorStream(int file) : file_(file) {}
    int Read(void* buffer, int size) override {
        for (;;) {
            const ssize_t got = ::read(file_, buffer, static_cast<std::size_t>(size));
            if (got < 0 && errno == EINTR) continue;
            return static_cast<int>(got);
        }
    }

private:
    int file_;
};

void check_size(const std::string& path, std::uint64_t size) {
    if (size == 0) throw LayerError(path, "empty", "an ONNX model");
    if (size > kLargestFile)
        throw LayerError(path, fmt::format("{} bytes long", size),
                         fmt::format("an ONNX model of up to {} bytes, larger weights beside it", kLargestFile));
}

}  // namespace

ModelFile::ModelFile(std::string path, std::uint64_t size) : path_(std::move(path)), model_(nullptr) {
    memory_left = kLeastMemory + kPerByte * static_cast<std::int64_t>(size);
    arena_ = std::make_unique<pb::Arena>(arena_options());
    model_ = pb::Arena::CreateMessage<::onnx::ModelProto>(arena_.get());
}

void ModelFile::fill(pb::io::ZeroCopyInputStream& stream, std::uint64_t size) {
    pb::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(static_cast<int>(kLargestFile));
    coded.SetRecursionLimit(kDeepest);
    bool right = false;
    try {
        right = model_->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
    } catch (const OverBudget&) {
        throw LayerError(path_,
                         fmt::format("{} bytes that become more than {} in memory", size,
                                     kLeastMemory + kPerByte * static_cast<std::int64_t>(size)),
                         "an ONNX model");
    }
    if (!right) throw LayerError(path_, "no protobuf message of a model, or cut off", "an ONNX model");
    if (!model_->has_graph()) throw LayerError(path_, "a protobuf message without a graph", "an ONNX model");
}

ModelFile ModelFile::read(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open())
        throw LayerError(path, "not readable: " + std::generic_category().message(errno), "an ONNX model");
    struct stat about {};
    if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
        throw LayerError(path, "no regular file", "an ONNX model");
    const auto size = static_cast<std::uint64_t>(about.st_size);
    check_size(path, size);
    ModelFile model(path, size);
    DescriptorStream bytes(file.get());
    pb::io::CopyingInputStreamAdaptor stream(&bytes);
    model.fill(stream, size);
    return model;
}

ModelFile ModelFile::parse(const void* bytes, std::size_t size, const std::string& name) {
    check_size(name, size);
    ModelFile model(name, size);
    pb::io::ArrayInputStream stream(bytes, static_cast<int>(size));
    model.fill(stream, size);
    return model;
}

std::string ModelFile::folder() const {
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    return folder.empty() ? "." : folder;
}

}  // namespace convt_jit::onnx_import
