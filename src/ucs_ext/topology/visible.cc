/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "visible.h"

#include "../split.h"
#include "../text_table.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace fuselink::topology {
namespace {

std::string_view trimmed(std::string_view text)
{
    size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/* Those of CUDA, by the bus. */
std::vector<size_t> candidates(const Devices &devices)
{
    std::vector<size_t> gpus;
    for (size_t i = 0; i < devices.gpus(); ++i) {
        if (devices.gpu(i).cuda) {
            gpus.push_back(i);
        }
    }
    return gpus;
}

/* A number of CUDA's order, or what a single UUID begins with. */
std::optional<size_t> find(const Devices             &devices,
                           const std::vector<size_t> &all,
                           std::string_view           word)
{
    unsigned number    = 0;
    auto [end, status] = std::from_chars(word.data(), word.data() + word.size(),
                                         number);
    if (status == std::errc() && end == word.data() + word.size()) {
        return number < all.size() ? std::optional<size_t>(all[number]) :
                                     std::nullopt;
    }
    std::optional<size_t> found;
    for (size_t i : all) {
        if (word.starts_with("GPU-") &&
            devices.gpu(i).uuid.starts_with(word)) {
            if (found) {
                return std::nullopt; /* of which one? */
            }
            found = i;
        }
    }
    return found;
}

bool are_alike(const Devices &devices, const std::vector<size_t> &all)
{
    return std::all_of(all.begin(), all.end(), [&](size_t i) {
        return devices.gpu(i).name == devices.gpu(all[0]).name;
    });
}

} // namespace

CudaEnvironment CudaEnvironment::own()
{
    return {getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER")};
}

Visible visible(const Devices &devices, const CudaEnvironment &environment)
{
    Visible result;
    auto    all = candidates(devices);
    if (all.empty()) {
        return result; /* schedulers set the variable on every node */
    }
    bool by_bus = environment.device_order != nullptr &&
                  std::string_view(environment.device_order) == "PCI_BUS_ID";
    bool alike = by_bus || are_alike(devices, all);
    if (environment.visible_devices == nullptr) {
        result.gpus    = std::move(all);
        result.certain = alike;
        return result;
    }
    auto words = split(environment.visible_devices);
    if (words.back().empty()) {
        words.pop_back(); /* of nothing at all, or a comma at the end */
    }
    for (std::string_view untrimmed : words) {
        auto word = trimmed(untrimmed);
        auto gpu  = find(devices, all, word);
        if (!gpu) {
            bool mig    = word.starts_with("MIG");
            result.note = "CUDA_VISIBLE_DEVICES: '" +
                          printable(std::string(word), 60) +
                          (mig ? "' is an instance of a divided GPU (MIG), "
                                 "which is not supported" :
                                 "' is no GPU here; CUDA shows those before "
                                 "it");
            return result;
        }
        if (std::find(result.gpus.begin(), result.gpus.end(), *gpu) !=
            result.gpus.end()) {
            result.gpus.clear();
            result.note = "CUDA_VISIBLE_DEVICES: '" +
                          printable(std::string(word), 60) +
                          "' occurs twice; CUDA shows no GPU then";
            return result;
        }
        result.certain = result.certain &&
                         (alike || word.starts_with("GPU-"));
        result.gpus.push_back(*gpu);
    }
    return result;
}

} // namespace fuselink::topology
