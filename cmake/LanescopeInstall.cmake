# Install rules and the CMake package, so that a C++ program can find_package(lanescope).
