/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "scale.h"

#include "../harness/bare_rails.h"
#include "../uct/memory.h"
#include "edge/component.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <sys/resource.h>

namespace fuselink::sim {
namespace {

constexpr uint8_t  kAm     = 1;
constexpr unsigned kNics   = 2;
constexpr unsigned kTalked = 8;         /* peers with which messages are exchanged */
constexpr size_t   kPut    = 32 << 10;  /* bytes */
constexpr size_t   kPuts   = 512;       /* posted together, to few peers several each */
constexpr Instant  kPatience = 20 * kSecond;

/** Real time that is spent in some calls. */
class Stopwatch {
public:
    template <typename Fn> void time(Fn &&fn)
    {
        const auto since = std::chrono::steady_clock::now();
        fn();
        spent_ += std::chrono::steady_clock::now() - since;
    }
    double ns_each(uint64_t times) const
    {
        return std::chrono::duration<double, std::nano>(spent_).count() /
               static_cast<double>(times);
    }

private:
    std::chrono::steady_clock::duration spent_{};
};

/** A process that answers each message. */
class Member {
public:
    Member(Process &process, NodeMemory &node) : rails_(process, node) {}
    ~Member()
    {
        rails_.run();
        for (uct_ep_h ep : eps_) {
            uct_ep_destroy(ep);
        }
        rails_.close_iface();
        if (memh_ != nullptr) {
            uct_md_mem_dereg(rails_.md(), memh_);
        }
    }
    Member(const Member &)            = delete;
    Member &operator=(const Member &) = delete;

    bool open()
    {
        Process &process = rails_.process();
        process.open(process.arena(), process.arena_size());
        /* No deputy: its turns cost as much whatever the number of peers. */
        constexpr BareRails::Setting kSettings[] = {{"PROGRESS", "caller"}};
        if (!rails_.open({{}, kSettings}, nullptr, nullptr) ||
            uct_md_mem_reg(rails_.md(), process.arena(), process.arena_size(),
                           UCT_MD_MEM_ACCESS_ALL, &memh_) != UCS_OK) {
            return false;
        }
        uct_iface_set_am_handler(rails_.iface(), kAm,
                                 [](void *arg, void *, size_t, unsigned) {
                                     ++static_cast<Member *>(arg)->came_;
                                     return UCS_OK;
                                 },
                                 this, 0);
        return true;
    }
    /** Endpoints are numbered in the order of calls. */
    bool meet(const Member &other)
    {
        uct_ep_h ep = rails_.connect(other.rails_.device_address(),
                                     other.rails_.iface_address());
        if (ep != nullptr) {
            eps_.push_back(ep);
        }
        return ep != nullptr;
    }
    bool say(unsigned to)
    {
        rails_.run();
        return uct_ep_am_short(eps_[to], kAm, 0, nullptr, 0) == UCS_OK;
    }
    /** As many as have come and are not answered. */
    void answer()
    {
        while (answered_ != came_ && say(0)) {
            ++answered_;
        }
    }
    unsigned   came() const { return came_; }
    BareRails &rails() { return rails_; }
    uct_ep_h   ep(unsigned to) const { return eps_[to]; }
    uct_mem_h  memh() const { return memh_; }

private:
    BareRails             rails_;
    uct_mem_h             memh_ = nullptr;
    std::vector<uct_ep_h> eps_;
    unsigned              came_ = 0, answered_ = 0;
};

/** One process on a node, the hub, and its peers on another. */
class Star {
public:
    explicit Star(unsigned peers) : world_(1, Profile{})
    {
        World::current = &world_;
        for (unsigned node = 0; node < 2; ++node) {
            world_.add_node(kNics);
            nodes_.push_back(std::make_unique<NodeMemory>(world_));
        }
        hub_ = std::make_unique<Member>(world_.add_process(0, kPut, 0), *nodes_[0]);
        for (unsigned i = 0; i < peers; ++i) {
            members_.push_back(std::make_unique<Member>(
                world_.add_process(1, kPut, 0), *nodes_[1]));
        }
    }
    ~Star()
    {
        hub_.reset();
        members_.clear();
        World::current = nullptr;
    }

    bool     connect();
    bool     measure(Cost &cost);

private:
    void look(Stopwatch &watch, unsigned calls)
    {
        watch.time([&] { hub_->rails().progress(calls); });
    }
    /** Time passes, and all do what there is to do. */
    void step(Instant time, size_t first, size_t count);
    bool exchange(unsigned with, Stopwatch &watch);
    bool put_to_all(double &cost);

    World                                    world_;
    std::vector<std::unique_ptr<NodeMemory>> nodes_;
    std::unique_ptr<Member>                  hub_;
    std::vector<std::unique_ptr<Member>>     members_;
};

void Star::step(Instant time, size_t first, size_t count)
{
    world_.time().pass(time);
    hub_->rails().progress(64);
    for (size_t i = first; i < first + count; ++i) {
        members_[i]->rails().progress(8);
        members_[i]->answer();
    }
}

/* Some at once, as more would wait for each other's NICs. */
bool Star::connect()
{
    constexpr size_t kAtOnce = 32;
    if (!hub_->open()) {
        return false;
    }
    for (size_t first = 0; first < members_.size(); first += kAtOnce) {
        const size_t count = std::min(kAtOnce, members_.size() - first);
        for (size_t i = first; i < first + count; ++i) {
            if (!members_[i]->open() || !hub_->meet(*members_[i]) ||
                !members_[i]->meet(*hub_)) {
                return false;
            }
        }
        const unsigned want  = hub_->came() + static_cast<unsigned>(count);
        const Instant  until = world_.time().now() + kPatience;
        for (size_t said = 0; said < count || hub_->came() != want;) {
            said += said < count && hub_->say(static_cast<unsigned>(first + said));
            step(100 * kMicrosecond, first, count);
            if (world_.time().now() > until) {
                return false;
            }
        }
    }
    for (unsigned i = 0; i < 100; ++i) { /* what is to be said behind it */
        step(kMillisecond, 0, members_.size());
    }
    return true;
}

bool Star::exchange(unsigned with, Stopwatch &watch)
{
    const unsigned want = hub_->came() + 1;
    bool           said = false;
    watch.time([&] { said = hub_->say(with); });
    for (unsigned n = 0; n < 1000 && said && hub_->came() != want; ++n) {
        world_.time().pass(20 * kMicrosecond);
        members_[with]->rails().progress(8);
        members_[with]->answer();
        world_.time().pass(20 * kMicrosecond);
        look(watch, 8);
    }
    return said && hub_->came() == want;
}

bool Star::put_to_all(double &cost)
{
    struct Open {
        uct_completion_t comp;
        unsigned        *left;
    };
    const size_t      each = std::max<size_t>(1, kPuts / members_.size());
    std::vector<Open> open(members_.size() * each);
    std::vector<uct_rkey_bundle_t> keys(members_.size());
    uct_md_attr_t attr;
    if (uct_md_query(hub_->rails().md(), &attr) != UCS_OK) {
        return false;
    }
    std::vector<uint8_t> packed(attr.rkey_packed_size);
    unsigned  left = 0;
    bool      well = true;
    Stopwatch watch;
    for (unsigned i = 0; i < members_.size() && well; ++i) {
        Member &member = *members_[i];
        well = uct_md_mkey_pack(member.rails().md(), member.memh(),
                                        packed.data()) == UCS_OK &&
               uct_rkey_unpack(registered_component(), packed.data(), &keys[i]) == UCS_OK;
        if (!well) {
            break;
        }
        hub_->rails().run();
        for (size_t k = i * each; k < (i + 1) * each && well; ++k) {
            const uct_iov_t iov{hub_->rails().process().arena(), kPut, hub_->memh(), 0, 1};
            open[k].left = &left;
            open[k].comp = {[](uct_completion_t *comp) {
                                --*reinterpret_cast<Open *>(comp)->left;
                            },
                            1, UCS_OK};
            ucs_status_t status = UCS_ERR_NO_RESOURCE;
            watch.time([&] {
                status = uct_ep_put_zcopy(hub_->ep(i), &iov, 1,
                                          reinterpret_cast<uintptr_t>(
                                              member.rails().process().arena()),
                                          keys[i].rkey, &open[k].comp);
            });
            well  = status == UCS_INPROGRESS;
            left += status == UCS_INPROGRESS;
        }
    }
    const Instant until = world_.time().now() + kPatience;
    while (left != 0 && world_.time().now() < until) {
        world_.time().pass(50 * kMicrosecond);
        for (const auto &member : members_) {
            member->rails().progress(4);
        }
        look(watch, 4);
    }
    for (uct_rkey_bundle_t &key : keys) {
        if (key.rkey == 0) {
            break;
        }
        uct_rkey_release(registered_component(), &key);
    }
    cost = watch.ns_each(open.size()) / 1e3;
    return well && left == 0;
}

bool Star::measure(Cost &cost)
{
    constexpr unsigned kRounds = 200, kCalls = 128, kMessages = 4000, kFences = 2000;
    Stopwatch looks, polls, messages, fences;
    for (unsigned i = 0; i < kRounds; ++i) {
        world_.time().pass(2 * kMillisecond);
        look(looks, kCalls);
        look(polls, kCalls - 1); /* no time has passed: nobody is looked after */
    }
    for (unsigned i = 0; i < kMessages; ++i) {
        if (!exchange(i % std::min<unsigned>(kTalked, static_cast<unsigned>(
                                                          members_.size())),
                      messages)) {
            return false;
        }
    }
    for (unsigned i = 0; i < 20; ++i) {
        step(kMillisecond, 0, members_.size());
    }
    fences.time([&] {
        for (unsigned i = 0; i < kFences; ++i) {
            uct_iface_fence(hub_->rails().iface(), 0);
            uct_iface_flush(hub_->rails().iface(), 0, nullptr);
        }
    });
    cost.look    = looks.ns_each(kRounds) / 1e3;
    cost.poll    = polls.ns_each(uint64_t{kRounds} * (kCalls - 1));
    cost.message = messages.ns_each(kMessages);
    cost.fence   = fences.ns_each(kFences);
    return put_to_all(cost.put);
}

/* A process has some seven. As many as there may be, if that is less. */
void allow_descriptors()
{
    rlimit files{1u << 17, 1u << 17};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

} // namespace

bool measure_scale(unsigned peers, Cost &cost)
{
    static bool registered = false;
    if (!registered) {
        registered = true;
        register_component();
        register_gpu_component();
        allow_descriptors();
    }
    Star star(peers);
    return star.connect() && star.measure(cost);
}

} // namespace fuselink::sim
