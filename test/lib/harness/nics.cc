/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nics.h"

#include "failure.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <unistd.h>

namespace fltest {

namespace {

/* RDMA NICs count packets and no bytes: the payload of a full one, with the MTU
 * that contrib/cluster gives them. */
constexpr uint64_t kPacket = 4096;

/* Adds the counter of each of the NICs PREFIX0, PREFIX1, ... in units of so
 * many bytes. */
void add_counters(std::vector<uint64_t> &bytes, const std::string &prefix,
                  const std::string &counter, uint64_t unit)
{
    for (int i = 0;; ++i) {
        std::string path = prefix + std::to_string(i) + "/" + counter;
        std::ifstream file(path);
        if (!file) {
            return;
        }
        uint64_t value;
        REQUIRE(file >> value, "cannot read %s", path.c_str());
        bytes.push_back(value * unit);
    }
}

/* "host1": the number of this host. */
std::string host_number()
{
    char name[64] = "";
    gethostname(name, sizeof(name) - 1);
    return name + strcspn(name, "0123456789");
}

} // namespace

std::vector<uint64_t> NicBytes::read()
{
    std::vector<uint64_t> bytes;
    /* A host sees the RDMA NICs of all hosts. */
    add_counters(bytes, "/sys/class/infiniband/rxe_h" + host_number() + "n",
                 "ports/1/hw_counters/sent_pkts", kPacket);
    add_counters(bytes, "/sys/class/net/nic", "statistics/tx_bytes", 1);
    REQUIRE(!bytes.empty(), "this is no host of a cluster: no nic0");
    return bytes;
}

std::vector<uint64_t> NicBytes::sent() const
{
    std::vector<uint64_t> bytes = read();
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] -= start_[i];
    }
    return bytes;
}

/* How much more than its share a NIC may send in any case: messages of
 * fuselink's own, and a few chunks, which for a NIC with a small share are
 * many. */
constexpr double kMoreThanShare = 0.04;

std::vector<double> nic_shares()
{
    const char *text = getenv("NIC_RATES");
    REQUIRE(text != nullptr, "NIC_RATES is not set");
    std::vector<double> rates;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        rates.push_back(std::stod(word));
    }
    double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    for (double &rate : rates) {
        rate /= sum;
    }
    return rates;
}

void require_shares(const std::vector<uint64_t> &bytes, double slack,
                    const char *what)
{
    std::vector<double> shares = nic_shares();
    REQUIRE(shares.size() == bytes.size(), "NIC_RATES has %zu rates for %zu "
            "NICs", shares.size(), bytes.size());
    auto sum = static_cast<double>(
        std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
    for (size_t i = 0; i < bytes.size(); ++i) {
        double share = static_cast<double>(bytes[i]) / sum;
        REQUIRE(share >= shares[i] * (1 - slack) &&
                    share <= shares[i] + std::max(shares[i] * slack,
                                                     kMoreThanShare),
                "%s: nic%zu carried %.1f %% of %.0f bytes, its share is "
                "%.1f %%", what, i, 100 * share, sum, 100 * shares[i]);
    }
}

} // namespace fltest
