#pragma once

#include <string>

#include "cli/call/call_session.hpp"

namespace prequel {

struct McpOptions {
  std::string folder;  ///< where tools may save answers; empty: nowhere
  int deadline{120};   ///< seconds that a call may take
};

/// The state from which one client is answered.
struct McpSession {
  CallSession calls;
  McpOptions options;
};

}  // namespace prequel
