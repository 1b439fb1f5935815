/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NETLINK_CARRIER_H
#define FUSELINK_HOST_NETLINK_CARRIER_H

#include "carrier.h"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

struct ifaddrmsg;
struct ifinfomsg;
struct nlmsghdr;

namespace fuselink {

/** By a socket to which the kernel of this network namespace sends what changes. If
 *  it has sent more than the socket has room for, all is asked for anew. */
class NetlinkCarrier final : public Carrier {
public:
    /** nullptr if there can be none; `error` says why, for a log line. */
    static std::unique_ptr<NetlinkCarrier> open(std::string &error);
    ~NetlinkCarrier() override;
    NetlinkCarrier(const NetlinkCarrier &)            = delete;
    NetlinkCarrier &operator=(const NetlinkCarrier &) = delete;

    bool look(sched::Nanos now) override;
    bool carries(int ifindex) const override;
    int  holder(uint8_t                        family,
                const std::array<uint8_t, 16> &address) const override;
    bool has(int ifindex, uint8_t family,
             const std::array<uint8_t, 16> &address) const override;
    std::vector<int>    ready() const override;
    std::optional<bool> port_carries(const std::string &port) const override;
    int  event_fd() const override { return fd_; }

private:
    using Address = std::pair<uint8_t, std::array<uint8_t, 16>>;

    struct Link {
        bool              runs = false;
        std::set<Address> addresses;

        bool operator==(const Link &) const = default;
    };
    /* What is being asked for: links, then addresses. */
    enum class Asking : uint8_t { Nothing, Links, Addresses };

    explicit NetlinkCarrier(int fd) : fd_(fd) {}

    bool read_all();
    bool ask(Asking what);
    void ask_all();
    void hear(const void *data, size_t length);
    void hear_link(const nlmsghdr &message);
    void hear_address(const nlmsghdr &message);
    void answered(bool well);
    void give_up();

    const int            fd_;
    std::map<int, Link>  links_;
    std::map<int, Link>  before_; /* that all was asked for anew */
    Asking               asking_ = Asking::Nothing;
    uint32_t             question_ = 0; /* the last one's number */
    bool                 lost_ = false;
    bool                 changed_ = false;
    sched::Nanos         next_;
};

} // namespace fuselink

#endif
