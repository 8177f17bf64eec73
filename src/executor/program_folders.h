// Where people have programs on this host, and what else a program needs to start. Reads the host.
#pragma once

#include <string>
#include <vector>

namespace pawl::executor {

// The folders of a list as PATH has it; no empty ones.
std::vector<std::string> split_path(const std::string& list);

// The folders of programs, in the order of the search: those of PATH, then those of version managers and package
// managers, which need not be in PATH; of several versions the newest first. Absolute, with links resolved, each once.
// `source`: a project whose node_modules/.bin comes last; "": none.
std::vector<std::string> program_folders(const std::string& source);

// Whether `path` is a regular file that this user may execute.
bool is_program(const std::string& path);

// Whether it is a program that a step can start. A shim of Volta looks in the user's home for what it starts,
// and an entry of Snap asks a service of the host.
bool is_startable(const std::string& path);

// The folder that the program at `path` needs as a whole, as libraries lie anywhere in it: the store of Nix
// or Guix, the prefix of Conda. "": none.
std::string whole_around(const std::string& path);

// `path`, each link that it leads to, and its file at last; empty when there is none.
std::vector<std::string> places_on_the_way(const std::string& path);

// The files that a program needs beside its own, as names for PATH or as absolute paths:
// - the interpreter of its first line;
// - the script behind a shim of pnpm, and its interpreter;
// - the program that a script of a shell starts at its end, and what that one needs;
// - the Python of the virtual environment that it lies in.
std::vector<std::string> needed_by(const std::string& program);

}  // namespace pawl::executor
