#pragma once

// Products of counts pass 64 bits before they are checked.

namespace assay {

__extension__ typedef __int128 Int128;

}  // namespace assay
