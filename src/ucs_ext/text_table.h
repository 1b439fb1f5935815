/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TEXT_TABLE_H
#define FUSELINK_UCS_EXT_TEXT_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace fuselink {

/** As printf. */
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

/** A count of bytes for people: "0", "17 B", "1.5 MB"; powers of 1000. */
std::string format_bytes(uint64_t bytes);

/** `text` from somebody who may mean harm, for a terminal: what is not printable
 *  ASCII becomes '?', and it ends after `most` characters. */
std::string printable(const std::string &text, size_t most);

/** Columns for people to read: two spaces between them, the words of the first
 *  row as their names. */
class TextTable {
public:
    enum class Align { Left, Right };
    struct Column {
        std::string name;
        Align       align = Align::Right;
    };

    explicit TextTable(std::vector<Column> columns)
        : columns_(std::move(columns))
    {
    }

    /** One cell per column; missing ones are empty. */
    void add(std::vector<std::string> row);
    bool empty() const { return rows_.empty(); }

    /** All of it, each line with `indent` in front and a line break behind. */
    std::string text(const std::string &indent = "") const;

private:
    std::vector<Column>                   columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace fuselink

#endif
