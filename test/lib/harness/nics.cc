/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nics.h"

#include "failure.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

namespace fltest {

std::map<int, uint64_t> NicBytes::read()
{
    std::map<int, uint64_t> bytes;
    for (const auto &entry :
         std::filesystem::directory_iterator("/sys/class/net")) {
        std::string name = entry.path().filename();
        if (name.rfind("nic", 0) != 0) {
            continue;
        }
        std::ifstream file(entry.path() / "statistics/tx_bytes");
        uint64_t value;
        REQUIRE(file >> value, "cannot read the counter of %s", name.c_str());
        bytes[std::stoi(name.substr(3))] = value;
    }
    REQUIRE(!bytes.empty(), "this is no host of a cluster: no nic0");
    return bytes;
}

std::vector<uint64_t> NicBytes::sent() const
{
    std::vector<uint64_t> bytes;
    for (const auto &[number, value] : read()) {
        bytes.push_back(value - start_.at(number));
    }
    return bytes;
}

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
        REQUIRE(share > shares[i] * (1 - slack) &&
                    share < shares[i] * (1 + slack),
                "%s: nic%zu carried %.1f %% of %.0f bytes, its share is "
                "%.1f %%", what, i, 100 * share, sum, 100 * shares[i]);
    }
}

} // namespace fltest
