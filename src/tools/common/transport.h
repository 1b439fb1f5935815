/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_COMMON_TRANSPORT_H
#define FUSELINK_TOOLS_COMMON_TRANSPORT_H

#include "uct/fuselink/edge/md.h"
#include "uct/fuselink/edge/rails_iface.h"

#include <string>
#include <vector>

namespace fuselink {

/** The transport of this program, opened as UCX does it. */
class Transport {
public:
    Transport();
    ~Transport();
    Transport(const Transport &)            = delete;
    Transport &operator=(const Transport &) = delete;

    /** The memory domain: which ports are candidates. False with a line. */
    bool open_md(std::string &error);
    /** Device `rails`. False with a line. */
    bool open_rails(std::string &error);

    /** After open_md(). */
    Md           &md() const { return Md::from(md_); }
    /** The settings of its interfaces; false with a line if they are wrong. */
    bool          settings(EngineSettings &settings, std::string &error) const;
    const Engine &engine() const { return RailsIface::from(iface_).engine(); }

    /** The value of a setting as UCX read it, by its name without prefix;
     *  false if it is not one of the memory domain or of the interface. */
    bool setting(const std::string &name, std::string &value) const;

    /** What UCX and the transport have warned of, instead of printing it. */
    const std::vector<std::string> &messages() const { return messages_; }

private:
    static ucs_log_func_rc_t
    on_message(const char *file, unsigned line, const char *function,
               ucs_log_level_t level, const ucs_log_component_config_t *config,
               const char *message, va_list arguments);
    std::string reason(ucs_status_t status) const;

    static std::vector<std::string> messages_;

    uct_md_config_t    *md_config_    = nullptr;
    uct_iface_config_t *iface_config_ = nullptr;
    ucs_async_context_t *async_ = nullptr;
    uct_worker_h        worker_ = nullptr;
    uct_md_h            md_     = nullptr;
    uct_iface_h         iface_  = nullptr;
};

} // namespace fuselink

#endif
