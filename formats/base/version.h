// The version of cleave. CMakeLists.txt takes the project's version from here.
//
// ABI: none is promised. Before 1.0 the functions of formats/run/library/cleave.h, too, may change
// with a minor version; a patch version keeps them. So compile a program with the headers that it
// links: the libraries are static, and find_package(cleave 0.2) accepts 0.2.x only.
#pragma once

#define CLEAVE_VERSION_MAJOR 0
#define CLEAVE_VERSION_MINOR 2
#define CLEAVE_VERSION_PATCH 0

namespace cleave {

inline constexpr int kVersionMajor = CLEAVE_VERSION_MAJOR;
inline constexpr int kVersionMinor = CLEAVE_VERSION_MINOR;
inline constexpr int kVersionPatch = CLEAVE_VERSION_PATCH;

}  // namespace cleave
