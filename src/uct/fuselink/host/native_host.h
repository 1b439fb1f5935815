/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NATIVE_HOST_H
#define FUSELINK_HOST_NATIVE_HOST_H

#include "host.h"

namespace fuselink {

/** A process that is one, as the kernel has it. */
class NativeHost final : public Host {
public:
    /** The one of this program. */
    static NativeHost &of_process();

    sched::Nanos now() const override;
    void         random(void *bytes, size_t size) override;
    uint64_t     node_signature(std::string_view lanes) override;
    uint64_t     network_signature() override;
    uint64_t     job() override;
    Processes   &processes() override;
    Cpus        &cpus() override;
    Network     &network() override;
    StreamControl &streams() override;
    std::unique_ptr<Carrier> watch_carrier(std::string &error) override;
    std::shared_ptr<Board>     open_board(std::string &error) override;
    std::shared_ptr<RelayRegistry> open_relay_registry(uint8_t      kind,
                                               std::string &error) override;
    std::unique_ptr<SharedSegment> open_segment(uint64_t magic, size_t size,
                                                std::string &error) override;
    std::unique_ptr<SharedSegment> join_segment(uint64_t magic,
                                                size_t   size) override;
    uint64_t locked_memory_limit() override;
    std::unique_ptr<Alarm> make_alarm() const override;
    std::unique_ptr<AtWork> begin_work(Background  &work,
                                       std::string &error) override;

private:
    NativeHost() = default;
};

} // namespace fuselink

#endif
