/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Which transports UCX takes when it may take all of them. */

#include "../stack/link.h"
#include "cases.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <regex>
#include <set>
#include <sstream>

namespace fltest {
namespace {

/* The transport and device of each lane that is in use, "tcp/eth0". */
std::set<std::string> lanes_of(ucp_ep_h ep)
{
    char *text  = nullptr;
    size_t size = 0;
    FILE *file  = open_memstream(&text, &size);
    REQUIRE(file != nullptr, "open_memstream() failed");
    ucp_ep_print_info(ep, file);
    fclose(file);
    std::istringstream lines(text);
    std::set<std::string> lanes;
    std::regex lane("lane\\[[0-9]+\\]: +[0-9]+:([^ ]+) ");
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_search(line, match, lane)) {
            std::string name = match[1];
            lanes.insert(name.substr(0, name.rfind('.')));
        }
    }
    REQUIRE(!lanes.empty(), "no lanes in: %.600s", text);
    free(text);
    return lanes;
}

std::string joined(const std::set<std::string> &words)
{
    std::string text;
    for (const std::string &word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/* Data of all kinds goes over the lanes that were chosen. */
void exchange(Link &link, bool active)
{
    Worker &worker = link.worker();
    for (size_t size : {8ul, 9000ul, 3000000ul}) {
        Buffer out(size), in(size);
        out.write(size + active);
        Request receive = worker.receive(in, size);
        Request send    = link.ep().send(out, size);
        worker.finish(receive, "receive");
        worker.finish(send, "send");
        in.require(size + !active, "message");
    }
    Buffer put(1 << 20), get(1 << 20);
    put.write(5 + active);
    Request request = link.ep().put(put.data(), put.size(), link.remote(), 0);
    worker.finish(link.ep().flush(), "flush");
    worker.finish(request, "put");
    worker.finish(link.ep().get(get.data(), get.size(), link.remote(), 0),
                  "get");
    get.require(5 + active, "get");
}

/* Between nodes fuselink carries everything: the NICs that it uses are not
 * used beside it. */
void between_nodes(Session &session)
{
    Link link(session, {});
    exchange(link, session.active());
    std::set<std::string> lanes = lanes_of(link.ep().handle());
    REQUIRE(lanes == std::set<std::string>{"fuselink/rails"},
            "lanes between nodes: %s", joined(lanes).c_str());
    link.finish();
}

/* Within a node UCX's shared memory does, or fuselink's; no NIC. */
void within_node(Session &session)
{
    Link link(session, {});
    exchange(link, session.active());
    std::set<std::string> lanes = lanes_of(link.ep().handle());
    bool shared = false;
    for (const std::string &lane : lanes) {
        bool known = lane == "fuselink/node" || lane == "sysv/memory" ||
                     lane == "posix/memory" || lane == "cma/memory";
        REQUIRE(known, "lanes within a node: %s", joined(lanes).c_str());
        shared = true;
    }
    REQUIRE(shared, "no lane within a node");
    link.finish();
}

} // namespace

std::vector<Case> lane_cases()
{
    std::vector<Case> cases;
    std::vector<Setting> all{{Side::Both, "UCX_TLS", "all"}};
    for_engines(cases, "lanes.between_nodes", between_nodes, all);
    for_engines(cases, "lanes.within_node", within_node, all);
    return cases;
}

} // namespace fltest
