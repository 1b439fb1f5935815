/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_PAIR_IFACE_H
#define FUSELINK_TEST_SIM_UCT_PAIR_IFACE_H

#include "../fabric/queue_pair.h"
#include "rdma_iface.h"

#include <map>

namespace fuselink::sim {

/** As UCX's rc: reliable connections between endpoints, which the NIC keeps. */
class PairIface final : public RdmaIface {
public:
    PairIface(Process &process, Nic &nic) : RdmaIface(process, nic) {}

    unsigned     progress() override;
    void         describe(uct_iface_attr_t &attr) const override;
    ucs_status_t create_ep(const uct_ep_params_t *params,
                           uct_ep_h *ep) override;

    /* The NIC's. */
    void complete(std::shared_ptr<QueuePair> pair,
                  std::shared_ptr<PairWork> work, bool well);
    void has_failed(std::shared_ptr<QueuePair> pair);

protected:
    bool has_more() const override
    {
        return !completions_.empty() || !failed_.empty();
    }

private:
    struct Completion {
        std::shared_ptr<QueuePair> pair;
        std::shared_ptr<PairWork>  work;
        bool                       well;
    };
    std::deque<Completion>                 completions_;
    std::deque<std::shared_ptr<QueuePair>> failed_;
};

class PairEp final : public SimEp {
public:
    explicit PairEp(PairIface &owner) : SimEp(owner), iface_(owner) {}
    ~PairEp() override;

    ucs_status_t create();

    ucs_status_t am_short(uint8_t id, uint64_t header, const void *data,
                          unsigned length) override;
    ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg) override;
    ucs_status_t am_zcopy(uint8_t id, const void *header,
                          unsigned header_length, const uct_iov_t *iov,
                          size_t count, uct_completion_t *comp) override;
    ucs_status_t put_short(const void *data, unsigned length, uint64_t remote,
                           uct_rkey_t rkey) override;
    ssize_t put_bcopy(uct_pack_callback_t pack, void *arg, uint64_t remote,
                      uct_rkey_t rkey) override;
    ucs_status_t put_zcopy(const uct_iov_t *iov, size_t count, uint64_t remote,
                           uct_rkey_t rkey, uct_completion_t *comp) override;
    ucs_status_t get_bcopy(uct_unpack_callback_t unpack, void *arg,
                           size_t length, uint64_t remote, uct_rkey_t rkey,
                           uct_completion_t *comp) override;
    ucs_status_t get_zcopy(const uct_iov_t *iov, size_t count, uint64_t remote,
                           uct_rkey_t rkey, uct_completion_t *comp) override;
    ucs_status_t flush(unsigned flags, uct_completion_t *comp) override;
    ucs_status_t check() override;
    ucs_status_t room() const override;
    ucs_status_t address(uint8_t *out) const override;
    ucs_status_t connect_to(const uint8_t *address) override;

    void completed(const PairWork &work, bool well);

private:
    /** One that is on its way, and who waits for it. */
    struct Open {
        uct_completion_t               *comp = nullptr;
        uct_unpack_callback_t           unpack = nullptr;
        void                           *arg = nullptr;
        std::vector<uct_completion_t *> flushes;
    };

    ucs_status_t post(PairWork work, uct_completion_t *comp,
                      uct_unpack_callback_t unpack = nullptr,
                      void *arg = nullptr);
    bool         put_at_once(const PairWork &work);
    bool         set_key(PairWork &work, uint64_t remote,
                         uct_rkey_t rkey) const;

    PairIface                 &iface_;
    std::shared_ptr<QueuePair> pair_;
    std::map<uint64_t, Open>   open_; /* by tag */
    uint64_t                   last_tag_ = 0;
};

} // namespace fuselink::sim

#endif
