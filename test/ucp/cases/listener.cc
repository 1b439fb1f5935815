/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Clients and servers: endpoints by socket address. UCX's tcp makes the
 * connection by its own sockets, and what it then carries is chosen by UCX_TLS
 * as always. */

#include "../stack/link.h"
#include "cases.h"
#include "harness/nics.h"

#include <arpa/inet.h>
#include <cstring>
#include <deque>
#include <ifaddrs.h>
#include <net/if.h>

namespace fltest {
namespace {

constexpr uint16_t kPort = 7500;

/* The address of this host's first NIC for data. */
sockaddr_in address_of_nic0()
{
    ifaddrs *list;
    REQUIRE(getifaddrs(&list) == 0, "getifaddrs() failed");
    sockaddr_in found{};
    for (ifaddrs *at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
            strcmp(at->ifa_name, "nic0") == 0) {
            memcpy(&found, at->ifa_addr, sizeof(found));
        }
    }
    freeifaddrs(list);
    REQUIRE(found.sin_family == AF_INET, "this host has no nic0");
    found.sin_port = htons(kPort);
    return found;
}

/* A listener and the requests that have come to it. */
class Server {
public:
    Server(Worker &worker, const sockaddr_in &address)
    {
        ucp_listener_params_t params{};
        params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                            UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
        params.sockaddr.addr    = reinterpret_cast<const sockaddr *>(&address);
        params.sockaddr.addrlen = sizeof(address);
        params.conn_handler.cb  = [](ucp_conn_request_h request, void *arg) {
            static_cast<Server *>(arg)->requests.push_back(request);
        };
        params.conn_handler.arg = this;
        REQUIRE_OK(ucp_listener_create(worker.handle(), &params, &listener_));
    }
    ~Server()
    {
        if (!failing()) {
            ucp_listener_destroy(listener_);
        }
    }
    Server(const Server &)            = delete;
    Server &operator=(const Server &) = delete;

    std::deque<ucp_conn_request_h> requests;

private:
    ucp_listener_h listener_;
};

/* Messages of all sizes in both directions, and what the NICs carried. */
void exchange(Worker &worker, Endpoint &ep, bool active)
{
    constexpr size_t kBulk = 4 << 20;

    NicBytes bytes;
    size_t i = 0;
    for (size_t size : {0ul, 8ul, 5000ul, 60000ul, kBulk, kBulk, kBulk}) {
        Buffer out(size), in(size);
        out.write(mix(i) + active);
        Request receive = worker.receive(in, i);
        Request send    = ep.send(out, i);
        worker.finish(receive, "receive");
        worker.finish(send, "send");
        in.require(mix(i) + !active, "message");
        ++i;
    }
    require_shares(bytes.sent(), 0.5, "messages of a client and a server");
}

/* Several clients, one after the other, with one server. */
void connect(Session &session)
{
    constexpr unsigned kClients = 4;

    Channel channel = session.connection();
    Context context({});
    Worker worker(context);
    if (session.active()) {
        sockaddr_in server{};
        Bytes bytes = channel.receive();
        REQUIRE(bytes.size() == sizeof(server), "no address");
        memcpy(&server, bytes.data(), sizeof(server));
        for (unsigned i = 0; i < kClients; ++i) {
            Endpoint ep(worker, reinterpret_cast<sockaddr *>(&server),
                        sizeof(server));
            exchange(worker, ep, true);
            worker.meet(channel, 2 * i + 1);
            ep.close();
            worker.meet(channel, 2 * i + 2);
            REQUIRE(ep.errors() == 0, "the client's endpoint failed: %s",
                    ucs_status_string(ep.error()));
        }
        return;
    }
    sockaddr_in own = address_of_nic0();
    Server server(worker, own);
    Bytes bytes(sizeof(own));
    memcpy(bytes.data(), &own, sizeof(own));
    channel.send(bytes);
    for (unsigned i = 0; i < kClients; ++i) {
        worker.until([&] { return !server.requests.empty(); }, "a client");
        Endpoint ep(worker, server.requests.front());
        server.requests.pop_front();
        exchange(worker, ep, false);
        worker.meet(channel, 2 * i + 1);
        worker.meet(channel, 2 * i + 2);
        ep.close(true);
    }
}

} // namespace

std::vector<Case> listener_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "listener.connect", connect);
    return cases;
}

} // namespace fltest
