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

/* Bytes that TCP NICs have sent: nic0, nic1, ... as many as there are. */
void add_tcp(std::vector<uint64_t> &bytes)
{
    for (int i = 0;; ++i) {
        std::string path = "/sys/class/net/nic" + std::to_string(i) +
                           "/statistics/tx_bytes";
        std::ifstream file(path);
        if (!file) {
            return;
        }
        uint64_t value;
        REQUIRE(file >> value, "cannot read %s", path.c_str());
        bytes.push_back(value);
    }
}

/* "host1": the number of this host. */
std::string host_number()
{
    char name[64] = "";
    gethostname(name, sizeof(name) - 1);
    return name + strcspn(name, "0123456789");
}

/* The same for this host's RDMA NICs, which count packets and no bytes. Their
 * interfaces do, and those of all hosts are in the network that the guest began
 * with. */
void add_rdma(std::vector<uint64_t> &bytes)
{
    const std::string prefix = "rdma_h" + host_number() + "n";
    std::ifstream file("/proc/1/net/dev");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name.compare(0, prefix.size(), prefix) != 0) {
            continue;
        }
        const size_t index = std::stoul(name.substr(prefix.size()));
        uint64_t value;
        for (int column = 0; column < 9; ++column) { /* received: 8, sent: */
            words >> value;
        }
        REQUIRE(words.good(), "cannot read /proc/1/net/dev: %s", line.c_str());
        bytes.resize(std::max(bytes.size(), index + 1));
        bytes[index] = value;
    }
}

} // namespace

std::vector<uint64_t> NicBytes::read()
{
    std::vector<uint64_t> bytes;
    add_rdma(bytes);
    add_tcp(bytes);
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
    std::string all;
    for (uint64_t one : bytes) {
        all += " " + std::to_string(one);
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
        double share = static_cast<double>(bytes[i]) / sum;
        REQUIRE(share >= shares[i] * (1 - slack) &&
                    share <= shares[i] + std::max(shares[i] * slack,
                                                     kMoreThanShare),
                "%s: NIC %zu carried %.1f %%, its share is %.1f %%; bytes of "
                "each NIC:%s", what, i, 100 * share, 100 * shares[i],
                all.c_str());
    }
}

LogLine refused_by_dead_peer(Side side)
{
    /* Unset where cases are only listed. */
    const size_t nics = getenv("NIC_RATES") != nullptr ? nic_shares().size() : 0;
    return {side, "connection establishment for socket fd [0-9]+ was "
                  "unsuccessful", 0, static_cast<unsigned>(2 * nics + 1)};
}

} // namespace fltest
