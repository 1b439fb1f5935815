/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_HOST_FAKE_HOST_H
#define FUSELINK_TEST_UNIT_HOST_FAKE_HOST_H

#include "host/host.h"
#include "registry/relay_registry.h"

#include <cstring>
#include <limits>

/** Processes whose life is what a test says; all of one space. */
class FakeProcesses final : public fuselink::Processes {
public:
    using ProcessId = fuselink::ProcessId;
    using Life      = ProcessId::Life;

    explicit FakeProcesses(uint64_t self) : self_(self) {}

    ProcessId self() override { return ProcessId(self_); }
    Life      life(ProcessId id) override
    {
        return id == self() ? Life::Running : others;
    }
    bool may_run(ProcessId id) override { return life(id) != Life::Gone; }
    bool in_own_space(ProcessId id) override
    {
        return life(id) != Life::Unknown;
    }

    Life others = Life::Running;

private:
    uint64_t self_;
};

/** CPUs of which a test says everything. */
class FakeCpus final : public fuselink::Cpus {
public:
    using CpuSet = fuselink::CpuSet;

    CpuSet   own() override { return bound; }
    CpuSet   allowed() override { return all; }
    CpuSet   with_siblings(const CpuSet &cpus) override
    {
        return cpus | (cpus << siblings_at) | (cpus >> siblings_at);
    }
    CpuSet   near(const CpuSet &cpus) override
    {
        return (cpus & node).any() ? node : ~node;
    }
    double   quota() override { return time; }
    bool     bind(const CpuSet &cpus) override
    {
        bound = cpus;
        return true;
    }
    bool     give_way(int steps) override
    {
        nice = steps;
        return true;
    }
    unsigned launched() override { return processes; }

    CpuSet   bound{0xff}, all{0xff}, node{0xff};
    size_t   siblings_at = CpuSet().size(); /* none are any's */
    double   time        = std::numeric_limits<double>::infinity();
    unsigned processes   = 0;
    int      nice        = 0;
};

/** A process of which a test says everything. What it cannot say there is not:
 *  network(), streams() and shared memory. */
class FakeHost final : public fuselink::Host {
public:
    explicit FakeHost(uint64_t self = 1) : people(self) {}

    fuselink::sched::Nanos now() const override { return time; }
    /* Counts: 1, 2, 3 in 32 bits each. */
    void random(void *bytes, size_t size) override
    {
        ++asked;
        auto *to = static_cast<char *>(bytes);
        for (size_t i = 0; i < size; i += sizeof(last)) {
            ++last;
            memcpy(to + i, &last, std::min(sizeof(last), size - i));
        }
    }
    uint64_t node_signature(std::string_view) override { return 1; }
    uint64_t network_signature() override { return 1; }
    uint64_t job() override { return 1; }
    fuselink::Processes &processes() override { return people; }
    fuselink::Cpus      &cpus() override { return processors; }
    fuselink::Network   &network() override { abort(); }
    fuselink::StreamControl &streams() override { abort(); }
    std::unique_ptr<fuselink::Carrier>
    watch_carrier(std::string &error) override
    {
        error = "none";
        return nullptr;
    }
    std::shared_ptr<fuselink::Board> open_board(std::string &error) override
    {
        error = "none";
        return nullptr;
    }
    std::shared_ptr<fuselink::RelayRegistry>
    open_relay_registry(uint8_t, std::string &error) override
    {
        error = "none";
        return nullptr;
    }
    std::unique_ptr<fuselink::SharedSegment>
    open_segment(uint64_t, size_t, std::string &error) override
    {
        error = "none";
        return nullptr;
    }
    std::unique_ptr<fuselink::SharedSegment> join_segment(uint64_t,
                                                          size_t) override
    {
        return nullptr;
    }
    uint64_t locked_memory_limit() override { return kUnlimited; }
    std::unique_ptr<fuselink::Alarm> make_alarm() const override
    {
        return nullptr;
    }
    std::unique_ptr<fuselink::AtWork> begin_work(fuselink::Background &,
                                                 std::string &error) override
    {
        error = "none";
        return nullptr;
    }

    fuselink::sched::Nanos time = fuselink::sched::Nanos::seconds(100);
    FakeProcesses          people;
    FakeCpus               processors;
    unsigned               asked = 0; /* for random bytes */
    uint32_t               last  = 0;
};

#endif
