// Writes profiles of machines that do not exist into the folder of its argument: one.json,
// two.json, and a damaged one, bad.json. Writes this machine's own profile where strake measure
// would, and the compact form of another machine's, other.profile.
#include <fstream>
#include <iostream>

#include "made_up.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: page_writer FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream file(folder + "/" + name);
    file << text;
    return file.good();
  };
  const std::string one = strake::report_test::json_of(strake::report_test::made_up("one", 4, 1));
  const std::string two = strake::report_test::json_of(strake::report_test::made_up("two", 2, 1.4));
  auto own = strake::report_test::made_up("own", 0, 1);
  const std::string other = folder + "/other.profile";
  strake::machine::write_compact(own, other);
  own.key = strake::machine::machine_key();
  const std::string place =
      strake::machine::profile_folder() + "/" + strake::machine::hash_of_key(own.key);
  strake::machine::write_compact(own, place + ".profile");
  std::ofstream(place + ".json") << strake::report_test::json_of(own);
  return write("one.json", one) && write("two.json", two) &&
                 write("bad.json", one.substr(0, one.size() / 2))
             ? 0
             : 1;
}
