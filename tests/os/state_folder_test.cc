// The rule by which a folder is a state folder, whatever its name.
#include "os/state_folder.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::os {
namespace {

TEST(StateFolder, HasAKeyAndAnythingElseThatPawlMakes) {
  const testing::TempFolder temp;
  const std::string folder = temp / "any";
  ASSERT_TRUE(make_folders(folder + "/keys"));
  EXPECT_FALSE(has_state_key(folder));
  ASSERT_TRUE(write_atomically(folder + "/pawl.db", "rows"));
  EXPECT_FALSE(is_state_folder(folder)) << "a database alone signs nothing";
  ASSERT_TRUE(write_atomically(folder + "/keys/ledger.key", "key"));
  EXPECT_TRUE(has_state_key(folder));
  EXPECT_TRUE(is_state_folder(folder));
  ASSERT_TRUE(remove_tree(folder + "/pawl.db"));
  EXPECT_TRUE(has_state_key(folder));
  EXPECT_FALSE(is_state_folder(folder)) << "a project may have such a key";
  ASSERT_TRUE(make_folders(folder + "/objects"));
  EXPECT_FALSE(is_state_folder(folder)) << "and such a folder";
  ASSERT_TRUE(make_folders(folder + "/keys/redaction.key"));
  EXPECT_TRUE(is_state_folder(folder));
  EXPECT_FALSE(is_state_folder(temp / "absent"));
}

}  // namespace
}  // namespace pawl::os
