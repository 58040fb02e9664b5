#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headscope/model.hpp"
#include "support/random_weights.hpp"
#include "support/same_results.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

/// What the tests of the program use.
namespace headscope {

namespace fs = std::filesystem;
using test::Finished;
using test::first_difference;
using test::run_headscope;
using test::run_program;
using test::Running;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

}  // namespace headscope
