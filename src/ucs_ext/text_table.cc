/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "text_table.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace fuselink {

std::string format(const char *pattern, ...)
{
    va_list arguments;
    va_start(arguments, pattern);
    char *text   = nullptr;
    int   length = vasprintf(&text, pattern, arguments);
    va_end(arguments);
    if (length < 0) {
        return {};
    }
    std::string result(text, static_cast<size_t>(length));
    free(text);
    return result;
}

std::string format_bytes(uint64_t bytes)
{
    if (bytes == 0) {
        return "0";
    }
    static constexpr const char *kUnits[] = {"kB", "MB", "GB", "TB", "PB"};
    if (bytes < 1000) {
        return format("%lu B", bytes);
    }
    double value = static_cast<double>(bytes) / 1000;
    size_t unit  = 0;
    for (; value >= 999.95 && unit + 1 < std::size(kUnits); ++unit) {
        value /= 1000;
    }
    return format("%.1f %s", value, kUnits[unit]);
}

std::string printable(const std::string &text, size_t most)
{
    std::string result = text.substr(0, most);
    for (char &c : result) {
        auto byte = static_cast<unsigned char>(c);
        c = byte >= 0x20 && byte < 0x7f ? c : '?';
    }
    return result;
}

void TextTable::add(std::vector<std::string> row)
{
    row.resize(columns_.size());
    rows_.push_back(std::move(row));
}

std::string TextTable::text(const std::string &indent) const
{
    std::vector<std::string> names;
    for (const auto &column : columns_) {
        names.push_back(column.name);
    }
    std::vector<const std::vector<std::string> *> lines{&names};
    for (const auto &row : rows_) {
        lines.push_back(&row);
    }
    std::vector<size_t> widths(columns_.size());
    for (const auto *line : lines) {
        for (size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], (*line)[i].size());
        }
    }
    std::string result;
    for (const auto *line : lines) {
        std::string text = indent;
        for (size_t i = 0; i < widths.size(); ++i) {
            const std::string &cell = (*line)[i];
            std::string space(widths[i] - cell.size(), ' ');
            text += i != 0 ? "  " : "";
            text += columns_[i].align == Align::Left ? cell + space :
                                                       space + cell;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        result += text + "\n";
    }
    return result;
}

} // namespace fuselink
