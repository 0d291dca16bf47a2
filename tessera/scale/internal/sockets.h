#pragma once

// The little of sockets that a watch needs. All are non-blocking and closed in programs that this one starts.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int get() const { return descriptor_; }  // -1: none

 private:
  int descriptor_ = -1;
};

std::string error_text(int error);

// To read from, to write to.
std::pair<Socket, Socket> make_pipe();

// Listens at every address of this host; an Error if the system allows none.
Socket open_door(std::uint16_t& port);
Socket accept_from(const Socket& door);

// Of interfaces that are up, those of this host alone last.
std::vector<std::string> own_addresses();

// Gives up after `patience`, or when there is something to read at `unless`.
Socket connect_to(const std::string& address, std::uint16_t port, std::chrono::milliseconds patience, int unless);

// A few bytes; what cannot be sent is lost, and the other side will be missed.
void put(const Socket& socket, std::string_view bytes);

}  // namespace tessera
