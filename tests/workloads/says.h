#pragma once

#include <doctest/doctest.h>

#include <string>

/// Checks that a message contains a text, and shows the message where it does not.
#define CHECK_SAYS(message, part)                        \
  do {                                                   \
    const std::string says_message = (message);          \
    CAPTURE(says_message);                               \
    CHECK(says_message.find(part) != std::string::npos); \
  } while (false)
