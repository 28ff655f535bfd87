#include "core/isa/text_words.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 17> kReserved = {"sum", "from", "of",    "by",   "at",   "ring",
                                                        "mod", "step", "index", "fill", "none", "min",
                                                        "inf", "nan",  "for",   "in",   "out"};

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool in_word(char c) { return starts_word(c) || digit(c) || c == '.'; }

class Lexer {
 public:
  Lexer(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (skip_space(); at_ < text_.size(); skip_space()) tokens.push_back(next());
    tokens.push_back({TokenKind::end, "end of file", line_, column_});
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char take() {
    const char c = text_[at_++];
    ++column_;
    if (c == '\n') {
      ++line_;
      column_ = 1;
    }
    return c;
  }
  [[noreturn]] void fail(int line, int column, const std::string& message) const {
    throw InputError(Diagnostic{{file_, line, column}, "", message, ""});
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '/' && peek(1) == '/')
        while (at_ < text_.size() && peek() != '\n') take();
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        take();
      else
        return;
    }
  }

  Token next() {
    Token t{TokenKind::symbol, "", line_, column_};
    const char c = peek();
    if (starts_word(c)) {
      t.kind = TokenKind::word;
      while (in_word(peek())) t.text += take();
    } else if (digit(c)) {
      t.kind = TokenKind::number;
      while (digit(peek()) || peek() == '.') t.text += take();
      if (peek() == 'e' || peek() == 'E') {
        t.text += take();
        if (peek() == '+' || peek() == '-') t.text += take();
        while (digit(peek())) t.text += take();
      }
    } else if (c == '"') {
      t.kind = TokenKind::string;
      t.text = string_value(t);
    } else if (std::string_view("@%$#[]{}(),=<*+-:").find(c) != std::string_view::npos && c != '\0') {
      t.text = std::string(1, take());
    } else {
      const auto code = static_cast<unsigned char>(c);
      fail(line_, column_,
           code >= 0x20 && code < 0x7f ? "unexpected character '" + std::string(1, c) + "'"
                                       : "unexpected byte " + std::to_string(code));
    }
    return t;
  }

  std::string string_value(const Token& start) {
    std::string value;
    take();
    while (true) {
      if (at_ >= text_.size() || peek() == '\n') fail(start.line, start.column, "string without a closing quote");
      const char c = take();
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
        continue;
      }
      const int line = line_, column = column_;
      const char e = at_ < text_.size() ? take() : '\0';
      const int high = e == 'x' ? hex(peek()) : -1, low = e == 'x' ? hex(peek(1)) : -1;
      if (e == '"' || e == '\\') {
        value += e;
      } else if (high >= 0 && low >= 0) {
        value += static_cast<char>(high * 16 + low);
        take();
        take();
      } else {
        fail(line, column, R"(unknown escape: expected \", \\ or \x and two digits)");
      }
    }
  }
  static int hex(char c) {
    if (digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace

bool is_plain_word(std::string_view s) {
  return !s.empty() && starts_word(s[0]) && std::all_of(s.begin(), s.end(), in_word) &&
         std::find(kReserved.begin(), kReserved.end(), s) == kReserved.end();
}

std::vector<Token> tokens_of(const std::string& text, const std::string& file) { return Lexer(text, file).run(); }

}  // namespace assay
