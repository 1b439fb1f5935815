/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sim_host.h"

#include "../fabric/bell.h"
#include "../fabric/carrier.h"
#include "../uct/stream_iface.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace fuselink {

/* In place of the library's own: see host/host.h. */
Host &host_of_new_md()
{
    return *sim::opening_host;
}

namespace sim {

SimHost *opening_host = nullptr;

namespace {

/* Instants are well after 0, which stands for "never". */
constexpr Instant kBoot = 1000 * kSecond;

/* Between rounds of work that waits for its end. */
constexpr Instant kRound = 100 * kMicrosecond;

constexpr size_t kPage = 4096;

} // namespace

SimHost::SimHost(Process &process, NodeMemory &memory)
    : process_(process), memory_(memory),
      secrets_(process.world().seed(), 5000 + process.index())
{
}

sched::Nanos SimHost::now() const
{
    return sched::Nanos(kBoot + process_.world().time().now());
}

void SimHost::random(void *bytes, size_t size)
{
    auto *at = static_cast<uint8_t *>(bytes);
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        const uint64_t word = secrets_.next();
        memcpy(at + i, &word, std::min(sizeof(word), size - i));
    }
}

uint64_t SimHost::node_signature(std::string_view)
{
    return 0x1000 + process_.node();
}

uint64_t SimHost::network_signature()
{
    return (0x9e3779b97f4a7c15u * (process_.node() + 1));
}

std::unique_ptr<Carrier> SimHost::watch_carrier(std::string &)
{
    return std::make_unique<SimCarrier>(process_.world(), process_.node());
}

std::shared_ptr<Board> SimHost::open_board(std::string &)
{
    return memory_.board;
}

std::shared_ptr<RelayRegistry> SimHost::open_relay_registry(uint8_t, std::string &)
{
    return memory_.registry;
}

std::unique_ptr<SharedSegment>
SimHost::open_segment(uint64_t magic, size_t size, std::string &error)
{
    std::shared_ptr<void> memory(aligned_alloc(kPage,
                                               (size + kPage - 1) & ~(kPage - 1)),
                                 free);
    if (memory == nullptr) {
        error = "no memory";
        return nullptr;
    }
    memset(memory.get(), 0, size);
    new (memory.get()) SharedSegment::Header{magic};
    memory_.segments[magic] = memory;
    return SharedSegment::within(std::move(memory), size);
}

std::unique_ptr<SharedSegment> SimHost::join_segment(uint64_t magic,
                                                     size_t   size)
{
    auto it     = memory_.segments.find(magic);
    auto memory = it != memory_.segments.end() ? it->second.lock() : nullptr;
    return memory != nullptr ? SharedSegment::within(std::move(memory), size) :
                               nullptr;
}

namespace {

/** Rings by the simulated clock. */
class SimAlarm final : public Alarm {
public:
    explicit SimAlarm(World &world) : world_(world) {}

    int  fd() const override { return clapper_->bell.fd(); }
    void set(sched::Nanos time) override
    {
        clapper_->bell.hush();
        const unsigned turn = ++clapper_->turn;
        if (time == sched::Nanos()) {
            return;
        }
        world_.time().after(time.count(), [weak = std::weak_ptr(clapper_), turn] {
            const auto clapper = weak.lock();
            if (clapper && clapper->turn == turn) {
                clapper->bell.ring();
            }
        });
    }

private:
    struct Clapper { /* what was set may come after the alarm's end */
        Bell     bell;
        unsigned turn = 0; /* of settings */
    };

    World                   &world_;
    std::shared_ptr<Clapper> clapper_ = std::make_shared<Clapper>();
};

} // namespace

std::unique_ptr<Alarm> SimHost::make_alarm() const
{
    return std::make_unique<SimAlarm>(process_.world());
}

std::unique_ptr<AtWork> SimHost::begin_work(Background &work, std::string &)
{
    return std::make_unique<SimWork>(work, *this);
}

bool SimHost::step_works()
{
    bool did = false;
    working_ = true;
    for (size_t i = 0; i < works_.size(); ++i) {
        if (!works_[i]->work().over()) {
            did |= works_[i]->work().step();
        }
    }
    working_ = false;
    return did;
}

void SimHost::called_back() const
{
    if (working_) {
        process_.world().journal().violate(
            "process " + std::to_string(process_.index()) +
            " is called back while it computes");
    }
}

SimWork::SimWork(Background &work, SimHost &host) : work_(work), host_(host)
{
    work_.begin();
    host_.begin_round(*this);
}

/* As the thread is joined. Nobody else runs meanwhile, here, which may be long. */
SimWork::~SimWork()
{
    World        &world = host_.process().world();
    const Instant begun = world.time().now();
    host_.end_round(*this);
    work_.stop();
    while (!work_.over()) {
        if (!work_.step()) {
            world.time().pass(kRound);
        }
    }
    work_.end();
    if (world.time().now() - begun > world.profile().patience / 16) {
        world.stalled = world.lanes_may_fail = true;
    }
}

ProcessId NodeProcesses::self()
{
    return ProcessId(world_.running + 1);
}

ProcessId::Life NodeProcesses::life(ProcessId id)
{
    auto &all = world_.processes();
    return id.word() - 1 < all.size() && all[id.word() - 1]->alive ?
               ProcessId::Life::Running : ProcessId::Life::Gone;
}

bool NodeProcesses::may_run(ProcessId id)
{
    return life(id) == ProcessId::Life::Running;
}

std::vector<net::InterfaceAddress> SimHost::interface_addresses()
{
    std::vector<net::InterfaceAddress> all;
    if (!process_.world().profile().ip) {
        return all;
    }
    for (const Nic &nic : process_.world().nics(process_.node())) {
        net::InterfaceAddress one;
        uint8_t               ip[4];
        ip_of(nic, ip);
        one.device  = nic.ip_device;
        one.ifindex = static_cast<int>(nic.index) + 1;
        one.family  = 4;
        std::copy(std::begin(ip), std::end(ip), one.address.begin());
        std::fill_n(one.netmask.begin(), 3, uint8_t{255});
        all.push_back(one);
    }
    return all;
}

int SimHost::route_ifindex(uint8_t family,
                           const std::array<uint8_t, 16> &address)
{
    const auto &nics = process_.world().nics(process_.node());
    return family == 4 && address[1] < nics.size() ? address[1] + 1 : 0;
}

void SimHost::introduce(int ifindex, const std::array<uint8_t, 16> &)
{
    World      &world = process_.world();
    const auto &nics  = world.nics(process_.node());
    world.introduce(nics.at(static_cast<size_t>(ifindex) - 1));
}

std::vector<std::string> SimHost::rdma_netdevs(const std::string &port)
{
    for (const Nic &nic : process_.world().nics(process_.node())) {
        if (nic.rdma_device == port && nic.index % 2 == 0) {
            return {nic.ip_device}; /* the others are apart */
        }
    }
    return {};
}

std::vector<std::string> SimHost::active_rdma_ports()
{
    std::vector<std::string> ports;
    if (process_.world().profile().rdma) {
        for (const Nic &nic : process_.world().nics(process_.node())) {
            ports.push_back(nic.rdma_device);
        }
    }
    return ports;
}

Topology::Place SimHost::place(const std::string &)
{
    return Topology::Place::Near;
}

} // namespace sim
} // namespace fuselink
