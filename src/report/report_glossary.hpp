#pragma once

#include <string>

namespace headscope {

/// The words of the field that the report uses, each with the id `term-…`, which the page's script
/// links where the word first stands.
std::string glossary_section();

}  // namespace headscope
