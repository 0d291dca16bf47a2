#include "tessera/scale/internal/sockets.h"

#include "tessera/core/error.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace tessera {
namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Address address_of(const std::string& text, std::uint16_t port) {
  Address out;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&out.bytes);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&out.bytes);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.length = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    out.length = sizeof(sockaddr_in6);
  }
  return out;
}

void send_at_once(int descriptor) {
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string error_text(int error) { return std::generic_category().message(error); }

std::pair<Socket, Socket> make_pipe() {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0, Code::io, "cannot make a pipe: {}", error_text(errno));
  return {Socket(ends[0]), Socket(ends[1])};
}

Socket open_door(std::uint16_t& port) {
  // One socket for both families; hosts without IPv6 get the older one.
  for (const int family : {AF_INET6, AF_INET}) {
    Socket door(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (door.get() < 0) continue;
    const int no = 0;
    if (family == AF_INET6) ::setsockopt(door.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    Address any;
    any.bytes.ss_family = static_cast<sa_family_t>(family);
    any.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (::bind(door.get(), any.get(), any.length) != 0 || ::listen(door.get(), SOMAXCONN) != 0) continue;
    Address bound;
    bound.length = sizeof(bound.bytes);
    if (::getsockname(door.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.length) != 0) continue;
    port = ntohs(family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound.bytes)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(&bound.bytes)->sin_port);
    return door;
  }
  fail(Code::io, "cannot listen for other processes: {}", error_text(errno));
}

Socket accept_from(const Socket& door) {
  Socket out(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (out.get() >= 0) send_at_once(out.get());
  return out;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> far, near;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {"127.0.0.1"};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET) {
      inet_ntop(family, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text.data(), text.size());
    } else if (family == AF_INET6) {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;  // means nothing on another host
      inet_ntop(family, &address, text.data(), text.size());
    } else {
      continue;
    }
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? near : far).emplace_back(text.data());
  }
  ::freeifaddrs(all);
  far.insert(far.end(), near.begin(), near.end());
  return far;
}

Socket connect_to(const std::string& address, std::uint16_t port, std::chrono::milliseconds patience, int unless) {
  const Address to = address_of(address, port);
  Socket out(to.length == 0 ? -1 : ::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (out.get() < 0) return {};
  if (::connect(out.get(), to.get(), to.length) != 0) {
    if (errno != EINPROGRESS) return {};
    std::array<pollfd, 2> both = {{{out.get(), POLLOUT, 0}, {unless, POLLIN, 0}}};
    if (::poll(both.data(), both.size(), static_cast<int>(patience.count())) <= 0 || both[0].revents == 0) return {};
    int error = 0;
    socklen_t length = sizeof(error);
    if (::getsockopt(out.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) return {};
  }
  send_at_once(out.get());
  return out;
}

void put(const Socket& socket, std::string_view bytes) {
  // Not waited for: a buffer that is full belongs to somebody who does not read, and is missed before long.
  [[maybe_unused]] const auto sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace tessera
