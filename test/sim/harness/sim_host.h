/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_SIM_HOST_H
#define FUSELINK_TEST_SIM_HARNESS_SIM_HOST_H

#include "../fabric/world.h"
#include "../uct/stream_control.h"
#include "host/host.h"
#include "registry/relay_registry.h"
#include "sim_cpus.h"

#include <map>

namespace fuselink::sim {

class SimHost;

/** Processes of a node, as whoever runs just now sees them. */
class NodeProcesses final : public Processes {
public:
    explicit NodeProcesses(World &world) : world_(world) {}

    ProcessId       self() override;
    ProcessId::Life life(ProcessId id) override;
    bool            may_run(ProcessId id) override;
    bool            in_own_space(ProcessId) override { return true; }

private:
    World &world_;
};

/** Work beside a program, in rounds that step_works() has it do. */
class SimWork final : public AtWork {
public:
    SimWork(Background &work, SimHost &host);
    ~SimWork() override;

    Background &work() { return work_; }

private:
    Background &work_;
    SimHost    &host_;
};

/** What the processes of a node share. */
struct NodeMemory {
    explicit NodeMemory(World &world)
        : processes(world), board(Board::make_private(processes)),
          registry(RelayRegistry::make_private(processes))
    {
    }

    /** Memory that several may map, by name. */
    std::map<uint64_t, std::weak_ptr<void>> segments;
    NodeProcesses              processes;
    std::shared_ptr<Board>     board;
    std::shared_ptr<RelayRegistry> registry;
};

/** What a simulated process has from its machine. */
class SimHost final : public Host, public Network {
public:
    SimHost(Process &process, NodeMemory &memory);

    /* Host */
    sched::Nanos now() const override;
    void         random(void *bytes, size_t size) override;
    uint64_t     node_signature(std::string_view lanes) override;
    uint64_t     network_signature() override;
    uint64_t     job() override { return 1 + process_.job; }
    Processes   &processes() override { return memory_.processes; }
    Cpus        &cpus() override { return cpus_; }
    Network     &network() override { return *this; }
    StreamControl &streams() override { return streams_; }
    std::unique_ptr<Carrier> watch_carrier(std::string &error) override;
    std::shared_ptr<Board> open_board(std::string &error) override;
    std::shared_ptr<RelayRegistry> open_relay_registry(uint8_t      kind,
                                               std::string &error) override;
    std::unique_ptr<SharedSegment> open_segment(uint64_t magic, size_t size,
                                                std::string &error) override;
    std::unique_ptr<SharedSegment> join_segment(uint64_t magic,
                                                size_t   size) override;
    uint64_t locked_memory_limit() override { return kUnlimited; }
    std::unique_ptr<Alarm> make_alarm() const override;
    std::unique_ptr<AtWork> begin_work(Background  &work,
                                       std::string &error) override;

    /** A round of what works beside the program. True if something was done. */
    bool step_works();
    /** Somebody calls the program, which is called by its own calls alone, and not within
     *  such a round. */
    void called_back() const;
    void begin_round(SimWork &work) { works_.push_back(&work); }
    void end_round(SimWork &work) { std::erase(works_, &work); }
    Process &process() const { return process_; }

    /* Network */
    std::vector<net::InterfaceAddress> interface_addresses() override;
    int  route_ifindex(uint8_t                        family,
                       const std::array<uint8_t, 16> &address) override;
    void introduce(int                            ifindex,
                   const std::array<uint8_t, 16> &ipv4) override;
    bool is_loopback(int) override { return false; }
    bool is_inner_bridge(const std::string &) override { return false; }
    std::vector<std::string> rdma_netdevs(const std::string &port) override;
    std::vector<std::string> active_rdma_ports() override;
    Topology::Place place(const std::string &device) override;
    int             numa_node(const std::string &) override { return 0; }

private:
    Process    &process_;
    NodeMemory &memory_;
    Random      secrets_;
    SimStreamControl streams_;
    SimCpus     cpus_;
    std::vector<SimWork *> works_;
    bool                   working_ = false;
};

/** Whose memory domain is being opened. */
extern SimHost *opening_host;

} // namespace fuselink::sim

#endif
