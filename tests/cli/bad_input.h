#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay {

/// One row of the table of bad input: files in an empty folder, a command, and how it must end.
struct BadInput {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;  ///< name, content; a name that ends in `/` is a folder
  std::vector<std::string> args;
  std::vector<std::string> says;  ///< parts of stderr, in any order
  int code = 2;
  int messages = 1;                      ///< lines of stderr that start a message
  bool powerless = false;                ///< run as a user who may not read and write everything
  std::string closed = {};               ///< path whose permissions are taken away
  std::vector<std::string> leaves = {};  ///< what may be there afterwards beside the files
};

std::vector<BadInput> bad_machines();  ///< `assay check`
std::vector<BadInput> bad_models();    ///< `assay run`
std::vector<BadInput> bad_sweeps();    ///< `assay sweep`
std::vector<BadInput> bad_options();   ///< every command: options, and what is no file of the right kind

/// A machine that is right, with `from` replaced by `to` (both must be there).
std::string machine_with(const std::string& from = {}, const std::string& to = {});
/// ONNX: y = Relu(x), x of four floats.
std::string good_model();
/// A sweep over `m.yaml` and `w.yaml`, with `from` replaced by `to`.
std::string sweep_with(const std::string& from = {}, const std::string& to = {});
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace assay
