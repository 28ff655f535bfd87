#pragma once

#include <string>
#include <string_view>
#include <vector>

// Words of the assembly, shared by the printer (which quotes names that would read as one) and the parser.

namespace assay {

/// A letter or underscore, then letters, digits, `_` and `.`; not a keyword. Other names are written in quotes.
bool is_plain_word(std::string_view s);

enum class TokenKind { end, word, string, number, symbol };

/// `text` is the spelling; for strings, the value without quotes and escapes.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  int line = 1, column = 1;
};

/// Splits a program's text. `//` starts a comment. Throws InputError at a character that starts no token, an
/// unterminated string or a bad escape. O(length).
std::vector<Token> tokens_of(const std::string& text, const std::string& file);

}  // namespace assay
