/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "trace_file.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

namespace fuselink {
namespace {

constexpr char kHead[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
constexpr char kFoot[] = "\n]}\n";

} // namespace

TraceFile *TraceFile::open(const std::string &path, std::string &error)
{
    /* Never freed: engines may be closed while the process ends. */
    static std::mutex lock;
    static auto &known = *new std::map<std::string,
                                       std::unique_ptr<TraceFile>>;

    std::lock_guard<std::mutex> guard(lock);
    auto &slot = known[path];
    if (slot == nullptr) {
        std::unique_ptr<TraceFile> file(new TraceFile);
        file->path_ = path;
        file->file_.reset(fopen(path.c_str(), "we"));
        if (file->file_ != nullptr) {
            file->begin();
        }
        if (file->file_ == nullptr || !file->finish()) {
            error = path + ": " + strerror(errno);
            return nullptr;
        }
        slot = std::move(file);
    }
    return slot.get();
}

/* What is written from here on goes over the foot that is there. */
void TraceFile::begin()
{
    if (ftell(file_.get()) == 0) {
        fputs(kHead, file_.get());
    } else {
        fseek(file_.get(), -static_cast<long>(strlen(kFoot)), SEEK_END);
    }
}

void TraceFile::line(const std::string &event)
{
    fputs(empty_ ? "\n" : ",\n", file_.get());
    fwrite(event.data(), 1, event.size(), file_.get());
    empty_ = false;
}

bool TraceFile::finish()
{
    fputs(kFoot, file_.get());
    return fflush(file_.get()) == 0 && ferror(file_.get()) == 0;
}

bool TraceFile::add(const Trace &trace, const TraceNames &names, int64_t now,
                    std::string &error)
{
    std::lock_guard<std::mutex> guard(lock_);
    begin();
    TraceLines(trace, names, engines_++, [this](const std::string &event) {
        line(event);
    }).write(now);
    if (!finish()) {
        error = path_ + ": " + strerror(errno);
        return false;
    }
    return true;
}

} // namespace fuselink
