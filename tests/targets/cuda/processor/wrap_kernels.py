#!/usr/bin/env python3
"""Writes a C++ file that compiles the kernels of a .cu file for the processor and lists them by name.

    wrap_kernels.py FILE.cu OUT.cpp COMPILER FLAG...
"""

import re
import subprocess
import sys

KERNEL = re.compile(r'extern\s+"C"\s+void\s+(\w+)\s*\(')
DYNAMIC = re.compile(r"extern\s+thread_local\s+(?:__attribute__\(\(aligned\(\w+\)\)\)\s*)?([\w:]+)\s+(\w+)\[\]")
SHARED_BYTES = 232448


def main(source, out, command):
    text = subprocess.run([*command, "-E", "-P", "-x", "c++", source], check=True, capture_output=True, text=True).stdout
    names = sorted(set(KERNEL.findall(text)))
    if not names:
        sys.exit(f"{source}: there is no kernel in it")
    arrays = sorted({name: type_ for type_, name in DYNAMIC.findall(text)}.items())
    lines = [f'#include "{source}"', "", "#include <cstddef>", ""]
    lines += ["namespace tessera::cuda {"]
    for name, type_ in arrays:
        lines.append(f"thread_local __attribute__((weak, aligned(1024))) {type_} {name}[{SHARED_BYTES} / sizeof({type_})];")
    lines += ["namespace {"]
    lines += ["void fill_dynamic([[maybe_unused]] std::size_t bytes) {"]
    lines += [f"  __builtin_memset({name}, 0xFF, bytes);" for name, _ in arrays]
    lines += ["}"]
    for name in names:
        lines.append(f'[[maybe_unused]] const bool has_{name} = processor::add_kernel("{name}", &::{name}, &fill_dynamic);')
    lines += ["}  // namespace", "}  // namespace tessera::cuda", ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
