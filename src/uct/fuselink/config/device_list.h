/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONFIG_DEVICE_LIST_H
#define FUSELINK_CONFIG_DEVICE_LIST_H

#include <string>
#include <string_view>
#include <vector>

namespace fuselink {

/**
 * Which NIC ports may become rails: UCX's own device-list syntax. "all",
 * "eth0,mlx5_0:1" (these and no others), "^mgmt0,docker0" (all but these).
 */
class DeviceList {
public:
    /** Reads `text`. On error returns false and says in `error` what was
     *  wrong and what is accepted. An empty list is an error: it would mean
     *  no rail at all. */
    [[nodiscard]] static bool parse(std::string_view text, DeviceList &list,
                                    std::string &error);

    bool allows(std::string_view device) const;

    /** True when devices are named one by one rather than "all" or "^…". */
    bool explicit_names() const { return mode_ == Mode::Only; }
    /** True for "^…": names() are those that it leaves out. */
    bool leaves_out() const { return mode_ == Mode::Except; }

    const std::vector<std::string> &names() const { return names_; }

private:
    enum class Mode { All, Only, Except };
    Mode                     mode_ = Mode::All;
    std::vector<std::string> names_;
};

/**
 * Weights that override the reported speed of rails: "eth0=2,eth1=0.5".
 * A weight multiplies the speed that the rail's transport reports.
 */
class WeightList {
public:
    [[nodiscard]] static bool parse(std::string_view text, WeightList &list,
                                    std::string &error);

    /** The weight of a device; 1 when not listed. */
    double weight(std::string_view device) const;

    const std::vector<std::pair<std::string, double>> &entries() const
    {
        return entries_;
    }

private:
    std::vector<std::pair<std::string, double>> entries_;
};

} // namespace fuselink

#endif
