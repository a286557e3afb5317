/// \file  The rows of heat3d: as a table for people, and as JSON lines for programs.
#pragma once

#include <span>
#include <string>

#include "heat3d/measure.hpp"
#include "heat3d/options.hpp"

/// \{ The table of steps, on stdout: a heading for a size, and a row for a form.
void print_heading(const Options& options, const Result& first);
void print_row(const Result& result);
/// \}
/// The table of exchanges, on stdout: all forms of a size, which are compared with `types`.
void print_exchanges(const Options& options, std::span<const Result> results);

/// Appends a line for each result. \returns  whether the file could be written
bool append_json(const std::string& path, const Options& options, std::span<const Result> results);
