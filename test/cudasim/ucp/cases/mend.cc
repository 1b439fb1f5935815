/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Connections break again and again under data of GPUs, and nothing is lost. On
 * hosts with RDMA NICs, too, see test/verbs. */

#include "../gpu_window.h"
#include "cases.h"
#include "harness/pattern.h"
#include "harness/queue_pairs.h"
#include "harness/sockets.h"
#include "stack/link.h"

#include <deque>
#include <memory>

namespace fltest {
namespace {

constexpr unsigned kOps = 4; /* of each kind in each round */
/* On TCP NICs; those of a guest are slow. */
constexpr size_t kLong = 3'000'001, kShort = 400'001;
/* What a connection has carried that is not one for messages. */
constexpr uint64_t kBulk = 1 << 20;

/* One of TCP's connections. Returns how many they were. */
size_t break_sockets(Random &random)
{
    auto sockets = bulk_sockets(kBulk);
    if (sockets.empty()) {
        return 0;
    }
    sockets[random.below(sockets.size())].reset();
    return 1;
}

/* Both sides write to the other's window and read from it. */
class Storm {
public:
    Storm(Session &session, Kind local, Kind remote)
        : me_(session.active()), link_(session, {})
    {
        uint64_t first = 0;
        finish(link_.ep().put(&first, sizeof(first), link_.remote(), 0));
        finish(link_.ep().flush());
        link_.meet();
        for (const auto &[nic, pairs] : queue_pairs()) {
            for_messages_ += pairs;
        }
        size_   = rdma() ? kShort : kLong;
        window_ = std::make_unique<GpuWindow>(link_.context(), remote,
                                              2 * kOps * size_);
        whole_  = std::make_unique<GpuBuffer>(local, kOps * size_);
        back_   = std::make_unique<GpuBuffer>(local, kOps * size_);
        link_.channel().send(window_->describe());
        peer_   = std::make_unique<Remote>(link_.ep().handle(),
                                           link_.channel().receive());
    }

    void run()
    {
        Random   random(me_ + 5);
        unsigned cut = 0;
        for (unsigned round = 0; round < rounds(); ++round) {
            if (rdma()) { /* with all of them: those that broke have rested */
                link_.worker().for_seconds(0.7);
                exchange(2 * round, [] {});
            }
            exchange(2 * round + 1, [&] {
                const uint64_t wait = random.below(60);
                link_.worker().for_seconds(static_cast<double>(wait) / 1000);
                if (!rdma()) {
                    cut += break_sockets(random) != 0;
                } else if (me_ == round % 2) {
                    cut += break_queue_pairs(for_messages_) != 0;
                }
            });
        }
        REQUIRE(cut >= rounds() / 2, "%u connections were cut", cut);
        peer_.reset();
        link_.finish();
    }

private:
    bool     rdma() const { return for_messages_ != 0; }
    unsigned rounds() const { return rdma() ? 4 : 10; }

    void finish(const Request &request)
    {
        link_.worker().finish(request, "operation");
    }

    /* The lower half of a window is written, the upper one read. */
    template <typename Meanwhile>
    void exchange(unsigned round, Meanwhile &&meanwhile)
    {
        const size_t all = kOps * size_;
        whole_->write(seed(round, me_));
        window_->buffer().write(seed(1000 + round, me_));
        link_.meet();
        std::deque<Request> requests;
        for (unsigned i = 0; i < kOps; ++i) {
            requests.push_back(link_.ep().put(whole_->data() + i * size_, size_,
                                              *peer_, i * size_));
            requests.push_back(link_.ep().get(back_->data() + i * size_, size_,
                                              *peer_, (kOps + i) * size_));
        }
        meanwhile();
        link_.worker().finish_all(requests, "operation");
        finish(link_.ep().flush());
        link_.meet();
        require_pattern(window_->buffer().bytes().data(), all,
                        seed(round, 1 - me_), "put");
        require_pattern(back_->bytes().data(), all, seed(1000 + round, 1 - me_),
                        "get", all);
    }
    static uint64_t seed(unsigned round, uint64_t side)
    {
        return mix(2 * round + side);
    }

    uint64_t                   me_;
    Link                       link_;
    size_t                     for_messages_ = 0; /* queue pairs */
    size_t                     size_ = 0;
    std::unique_ptr<GpuWindow> window_;
    std::unique_ptr<GpuBuffer> whole_, back_;
    std::unique_ptr<Remote>    peer_;
};

} // namespace

std::vector<Case> gpu_mend_cases()
{
    std::vector<Case> cases;
    for (auto [local, remote] : {std::pair(Kind::Gpu, Kind::Gpu),
                                 std::pair(Kind::Gpu, Kind::Host),
                                 std::pair(Kind::Host, Kind::Gpu)}) {
        auto both = [=](Session &session) {
            use_gpu(session.active() ? 0 : 1);
            Storm(session, local, remote).run();
        };
        /* UCX's old engine takes a GPU's memory for the host's. */
        Case test{format("mend.%s_%s", name(local), name(remote)), both, both,
                  {{Side::Both, "UCX_PROTO_ENABLE", "y"}}};
        test.log = {{Side::Both, "rail [^ ]+ to [^ ]+ of peer [0-9a-f]+ has failed",
                     1, 100},
                    {Side::Both, "rail .* carries data again", 0, 100},
                    {Side::Both, "UCX +ERROR .*(completion with error|rqpn)", 0,
                     1000}};
        cases.push_back(std::move(test));
    }
    return cases;
}

} // namespace fltest
