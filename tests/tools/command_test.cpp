// `strake explain`, `strake settings` and usage errors.
#include "command.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace strake::tools_test {
namespace {

using Json = nlohmann::json;

TEST(Command, version_and_help_succeed) {
  const std::string version = strake({"--version"}).out;
  EXPECT_EQ(version.find("strake " STRAKE_VERSION "\nbuilt for "), 0U) << version;
  EXPECT_NE(version.find(", with"), std::string::npos) << version;
  EXPECT_EQ(strake({"--version"}).status, 0);
  EXPECT_EQ(strake({"--help"}).status, 0);
  EXPECT_EQ(strake({"run", "--help"}).status, 0);
  EXPECT_EQ(strake({"topo", "--help", "more"}).status, 0);
  EXPECT_EQ(strake({"--version", "more"}).status, 0);
}

TEST(Command, usage_errors_end_with_2_and_a_message) {
  for (const Words& arguments :
       {Words{}, Words{"nothing"}, Words{"--nothing"}, Words{"run"}, Words{"run", "--"},
        Words{"run", "mpirun"}, Words{"run", "--nothing", "--", "mpirun"}, Words{"run", "--json"},
        Words{"run", "--json", "", "--", "mpirun"}, Words{"run", "--mpi", "lam", "--", "mpirun"},
        Words{"explain"}, Words{"explain", "--count", "-1", "int"},
        Words{"explain", "--count", "x", "int"}, Words{"explain", "int", "--", "x"},
        Words{"settings", "more"}, Words{"topo", "--svg", ""}, Words{"topo", "--profile", ""},
        Words{"measure", "--output", ""}, Words{"settings", "--json", "--markdown"}}) {
    const Outcome outcome = strake(arguments);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(arguments);
    EXPECT_NE(outcome.err, "") << testing::PrintToString(arguments);
    EXPECT_EQ(outcome.out, "") << testing::PrintToString(arguments);
  }
}

constexpr const char* kUsage = "Usage: strake COMMAND [OPTIONS]\n";
constexpr const char* kRunUsage = "Usage: strake run [OPTIONS] -- COMMAND...\n";

TEST(Command, help_is_a_command_too) {
  EXPECT_EQ(strake({"help", "run"}).out, strake({"run", "--help"}).out);
  EXPECT_EQ(strake({"help"}).out, strake({"--help"}).out);
  EXPECT_EQ(strake({"help", "rnu"}).err, "strake help: rnu is not a command; did you mean run?\n");
}

TEST(Command, a_slip_is_answered_with_the_word_that_is_near) {
  EXPECT_EQ(strake({"expalin", "int"}).err,
            std::string("strake: expalin is not a command; did you mean explain?\n") + kUsage);
  EXPECT_EQ(strake({"hlep"}).err,
            std::string("strake: hlep is not a command; did you mean help?\n") + kUsage);
  EXPECT_EQ(strake({"--verson"}).err,
            std::string("strake: --verson is not an option; did you mean --version?\n") + kUsage);
  EXPECT_EQ(strake({"run", "--jsno", "f", "--", "mpirun"}).err,
            std::string("strake run: --jsno is not an option; did you mean --json?\n") + kRunUsage);
}

TEST(Command, another_word_is_answered_with_what_there_is) {
  const std::string unknown = strake({"xyz"}).err;
  EXPECT_EQ(unknown.find("strake: xyz is not a command; commands are\n  run  "), 0U) << unknown;
  EXPECT_EQ(unknown.find("did you mean"), std::string::npos) << unknown;
  EXPECT_EQ(lines_with(unknown, "  settings  "), 1) << unknown;
  EXPECT_EQ(strake({"run", "--xyz", "--", "mpirun"}).err,
            std::string("strake run: --xyz is not an option\n") + kRunUsage);
  EXPECT_EQ(strake({"settings", "more"}).err,
            "strake settings: more was not expected\nUsage: strake settings [OPTIONS]\n");
}

TEST(Command, run_without_the_dashes_says_where_they_go) {
  const Outcome outcome = strake({"run", "--quiet", "mpirun", "-n", "2", "./program"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, std::string("strake run: the command comes after --\n") + kRunUsage);
}

TEST(Command, output_that_cannot_be_written_ends_with_1_and_the_reason) {
  for (const std::string arguments :
       {"explain int", "explain --json int char short long float double", "settings",
        "settings --json", "topo --json", "measure --list", "--version", "explain --help",
        "help run", "completions zsh", "man explain"}) {
    const Outcome outcome =
        run({"sh", "-c", STRAKE_PREFIX "/bin/strake " + arguments + " > /dev/full"});
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_NE(outcome.err.find("standard output can't be written: No space left on device"),
              std::string::npos)
        << arguments << ": " << outcome.err;
  }
}

TEST(Command, output_that_is_closed_ends_with_1) {
  const Outcome outcome = run({"sh", "-c", STRAKE_PREFIX "/bin/strake settings >&-"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("standard output can't be written"), std::string::npos) << outcome.err;
}

TEST(Command, a_usage_error_stays_one_where_output_cannot_be_written) {
  EXPECT_EQ(run({"sh", "-c", STRAKE_PREFIX "/bin/strake explain intt > /dev/full"}).status, 2);
}

TEST(Explain, forced_instructions_and_back_ends_are_what_runs) {
  const auto packed_by = [](const std::string& setting) {
    const Outcome outcome = strake({"explain", "vector(1000,1,2,double)"}, {setting});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::size_t at = outcome.out.find("pack     host -> host");
    return outcome.out.substr(at, outcome.out.find('\n', at) - at);
  };
  EXPECT_NE(packed_by("STRAKE_BACKEND=cpu").find("cpu box"), std::string::npos);
  EXPECT_EQ(packed_by("STRAKE_SIMD=baseline").find("avx"), std::string::npos);
  EXPECT_NE(packed_by("STRAKE_SIMD=baseline").find("cpu box"), std::string::npos);
  EXPECT_EQ(packed_by("STRAKE_BACKEND=cuda").find("cpu box"), std::string::npos);
}

TEST(Explain, a_count_is_refused_in_plain_words) {
  const auto first_line = [](const std::string& count) {
    const Outcome outcome = strake({"explain", "--count", count, "byte"});
    EXPECT_EQ(outcome.status, 2) << count;
    EXPECT_EQ(outcome.out, "") << count;
    return outcome.err.substr(0, outcome.err.find('\n'));
  };
  EXPECT_EQ(first_line("-1"), "strake explain: --count: -1 is negative");
  EXPECT_EQ(first_line("9999999999999999999"),
            "strake explain: --count: 9999999999999999999 is a number past 2^63");
  EXPECT_EQ(first_line("1e3"), "strake explain: --count: 1e3 is not a whole number");
  EXPECT_EQ(first_line("3x"), "strake explain: --count: 3x is not a whole number");
}

TEST(Explain, what_is_measured_is_bound_by_what_is_touched) {
  const auto measured = [](const char* type) {
    const Outcome outcome = strake({"explain", "--json", "--from", "host", type});
    EXPECT_EQ(outcome.status, 0) << type << ": " << outcome.err;
    const Json explained = Json::parse(outcome.out);
    int count = 0;
    for (const Json& copy : explained["copies"]) {
      count += copy.contains("measured_us") ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(measured("subarray([262,262,2560],[256,256,24],[3,3,24],byte)"), 2);
  EXPECT_EQ(measured("hvector(64,1,4294967296,byte)"), 2);   // 256 GiB
  EXPECT_EQ(measured("hvector(64,1,-4294967296,byte)"), 2);  // below the base address
  EXPECT_EQ(measured("hvector(131072,1,8192,byte)"), 0);     // touches 512 MiB
  EXPECT_EQ(measured("contiguous(134217729,byte)"), 0);      // moves more than 128 MiB
}

TEST(Explain, prints_the_canonical_face) {
  const Outcome outcome =
      strake({"explain", "--json", "subarray([262,262,2560],[256,256,24],[3,3,24],byte)"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json face = Json::parse(outcome.out);
  EXPECT_EQ(face["kind"], "box");
  EXPECT_EQ(face["start"], 2019864);
  EXPECT_EQ(face["block_bytes"], 24);
  EXPECT_EQ(face["counts"], Json({256, 256}));
  EXPECT_EQ(face["strides"], Json({670720, 2560}));
  EXPECT_EQ(face["blocks"], 65536);
  EXPECT_EQ(face["size_bytes"], 1572864);
  EXPECT_GT(face["metadata_bytes"], 0);
  EXPECT_LE(face["metadata_bytes"], 1024);
}

TEST(Explain, names_a_copy_for_each_pair_of_memories_and_measures_on_the_host) {
  const Json type = Json::parse(strake({"explain", "--json", "vector(100,1,512,double)"}).out);
  ASSERT_EQ(type["copies"].size(), 8U);
  for (const Json& copy : type["copies"]) {
    EXPECT_NE(copy["description"], "");
    if (copy["from"] != "host" || copy["to"] != "host") continue;
    EXPECT_TRUE(copy["available"]);
    EXPECT_GT(copy["measured_us"], 0);
  }
}

TEST(Explain, functions_are_told_by_the_memory_of_their_buffers) {
  const Outcome pairs = strake({"explain", "MPI_Neighbor_alltoallw"}, {"STRAKE_COLLECTIVES=1"});
  EXPECT_EQ(pairs.status, 0) << pairs.err;
  EXPECT_NE(pairs.out.find("a message for each pair of ranks"), std::string::npos) << pairs.out;
  const Outcome off = strake({"explain", "MPI_Neighbor_alltoallw"}, {"STRAKE_COLLECTIVES=0"});
  EXPECT_NE(off.out.find("STRAKE_COLLECTIVES=0"), std::string::npos) << off.out;
  const Json all = Json::parse(
      strake({"explain", "--json", "MPI_Bcast", "MPI_Bcast_c", "MPI_Put", "MPI_Send", "double"})
          .out);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0]["host"], "passed on");
  EXPECT_NE(all[0]["device"], "passed on");
  EXPECT_EQ(all[1]["function"], "MPI_Bcast_c");
  EXPECT_EQ(all[1]["device"], all[0]["device"]);
  EXPECT_NE(all[2]["device"].get<std::string>().find("MPI_ERR_BUFFER"), std::string::npos);
  EXPECT_EQ(all[3]["host"], all[3]["device"]);
  EXPECT_EQ(all[4]["size_bytes"], 8);
}

TEST(Explain, several_types_give_a_list_and_count_repeats_them) {
  const Json types =
      Json::parse(strake({"explain", "--json", "--count", "3", "int", "resized(0,8,int)"}).out);
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0]["size_bytes"], 12);
  EXPECT_EQ(types[0]["blocks"], 1);
  EXPECT_EQ(types[1]["size_bytes"], 12);
  EXPECT_EQ(types[1]["blocks"], 3);
  EXPECT_EQ(types[1]["strides"], Json::array({8}));
}

TEST(Explain, nothing_selected_is_explained_too) {
  const Outcome outcome = strake({"explain", "--json", "contiguous(0,int)"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["kind"], "empty");
  EXPECT_EQ(Json::parse(outcome.out)["blocks"], 0);
}

TEST(Explain, text_says_what_was_measured) {
  const Outcome outcome = strake({"explain", "vector(3,1,2,int)"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("us measured"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("box("), std::string::npos) << outcome.out;
}

TEST(Explain, a_bad_expression_is_pointed_at) {
  const Outcome outcome = strake({"explain", "vector(100,1,x,double)"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "strake explain: at character 14: expected a whole number, found 'x'\n"
            "  vector(100,1,x,double)\n"
            "               ^\n"
            "Wanted: vector(COUNT, BLOCKLENGTH, STRIDE, TYPE)\n");
}

TEST(Explain, a_misspelt_name_is_answered_with_the_one_that_is_near) {
  const std::string err = strake({"explain", "vectro(3,1,2,int)"}).err;
  EXPECT_NE(err.find("'vectro' is not a constructor; did you mean vector?\n"), std::string::npos)
      << err;
  EXPECT_TRUE(err.ends_with("Wanted: vector(COUNT, BLOCKLENGTH, STRIDE, TYPE)\n")) << err;
  EXPECT_EQ(lines_with(strake({"explain", "foo(3)"}).err, "did you mean"), 0);
  EXPECT_EQ(lines_with(strake({"explain", "contiguous(3,intt)"}).err, "did you mean int?"), 1);
}

TEST(Explain, help_has_the_grammar_and_so_has_the_documentation) {
  const std::string help = strake({"explain", "--help"}).out;
  EXPECT_EQ(lines_with(help, "| hvector(COUNT, BLOCKLENGTH, STRIDE, TYPE)"), 1) << help;
  const std::size_t begin = help.find("TYPE    = BASIC");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream lines(help.substr(begin, help.find("\n\n", begin) - begin));
  std::ifstream page(STRAKE_COMMAND_PAGE);
  const std::string written{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    EXPECT_NE(written.find("    " + line + "\n"), std::string::npos)
        << STRAKE_COMMAND_PAGE " lacks: " << line;
  }
}

TEST(Explain, ends_with_a_verdict) {
  const auto verdict = [](const char* type, const char* setting) {
    const Outcome outcome = strake({"explain", type}, {"STRAKE_PROFILE=none", setting});
    EXPECT_EQ(lines_with(outcome.out, "no device here"), 0) << outcome.out;
    const Json all =
        Json::parse(strake({"explain", "--json", type}, {"STRAKE_PROFILE=none", setting}).out);
    const std::string sentence = all["verdict"];
    EXPECT_NE(outcome.out.find("  Verdict: " + sentence.substr(0, 20)), std::string::npos)
        << outcome.out;
    EXPECT_TRUE(outcome.out.ends_with(sentence.substr(sentence.size() - 4) + ".\n")) << outcome.out;
    return sentence;
  };
  EXPECT_EQ(verdict("vector(100,1,512,double)", "STRAKE_SHARE=1"),
            "packed: the MPI library copies such short blocks more slowly, by a built-in rule");
  EXPECT_EQ(verdict("vector(20,1,512,double)", "STRAKE_SHARE=1"),
            "left to the MPI library: short messages don't pay for a temporary buffer, by a "
            "built-in rule, so the first exchanges of a job try packing, too");
  EXPECT_EQ(verdict("vector(20,1,512,double)", "STRAKE_TRIALS=0"),
            "left to the MPI library: short messages don't pay for a temporary buffer, by a "
            "built-in rule");
  EXPECT_EQ(verdict("contiguous(100,double)", "STRAKE_SHARE=1"),
            "left to the MPI library: contiguous bytes in host memory leave nothing to gain");
  EXPECT_EQ(
      verdict("vector(512,1,2,double)", "STRAKE_SHARE=1").find("packed into memory that both"), 0U);
  EXPECT_EQ(verdict("vector(512,1,2,double)", "STRAKE_METHOD=system"),
            "left to the MPI library: forced by STRAKE_METHOD");
  const std::string both = verdict("vector(40000,1,512,double)", "STRAKE_SHARE=0");
  EXPECT_EQ(both.find("left to Open MPI: there are many far blocks, by a built-in rule"), 0U)
      << both;
  EXPECT_NE(both.find("; packed for MPICH: "), std::string::npos) << both;
}

TEST(Explain, offsets_too_far_apart_are_refused) {
  const Outcome outcome =
      strake({"explain", "hindexed([1,1000,4],[1000,-9223372036854775808,16],2int)"});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("strake explain: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("2^63"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(SettingsCommand, says_where_values_come_from) {
  const Json all = Json::parse(
      strake({"settings", "--json"}, {"STRAKE_CHUNK=64K", "STRAKE_METHOD=nothing"}).out);
  bool seen = false;
  for (const Json& setting : all) {
    const bool set = setting["name"] == "STRAKE_CHUNK";
    seen = seen || set;
    EXPECT_EQ(setting["source"], set ? "environment" : "default") << setting;
    EXPECT_EQ(setting["value"], set ? Json("64K") : setting["default"]) << setting;
  }
  EXPECT_TRUE(seen);
}

TEST(SettingsCommand, complains_once_a_job) {
  for (const std::string rank :
       {"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="}) {
    for (const int number : {0, 1}) {
      const Outcome outcome = strake({"settings"}, {"STRAKE_LGO=1", rank + std::to_string(number)});
      EXPECT_EQ(lines_with(outcome.err, "STRAKE_LGO is not a setting"), number == 0 ? 1 : 0)
          << rank;
    }
  }
}

TEST(SettingsCommand, complains_of_what_is_not_valid_and_goes_on) {
  const Outcome outcome = strake({"settings"}, {"STRAKE_LGO=1", "STRAKE_THREADS=many"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_with(outcome.err, "STRAKE_LGO is not a setting; did you mean STRAKE_LOG?"), 1)
      << outcome.err;
  EXPECT_EQ(
      lines_with(outcome.err, "STRAKE_THREADS=many must be a whole number from 1 to 1024; using 1"),
      1)
      << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "STRAKE_LOG "), 1) << outcome.out;
}

TEST(SettingsCommand, a_value_that_is_not_utf8_is_shown) {
  const Outcome outcome = strake({"settings", "--json"}, {"STRAKE_PROFILE=a\xff"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"a\xef\xbf\xbd\""), std::string::npos) << outcome.out;
}

TEST(SettingsCommand, log_off_silences_complaints) {
  EXPECT_EQ(strake({"settings"}, {"STRAKE_LGO=1", "STRAKE_LOG=off"}).err, "");
}

TEST(SettingsCommand, the_documentation_is_up_to_date) {
  std::ifstream page(STRAKE_SOURCE "/docs/reference/settings.md");
  const std::string written{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  EXPECT_EQ(strake({"settings", "--markdown"}, {"STRAKE_CHUNK=64K"}).out, written)
      << "write it anew with: strake settings --markdown > docs/reference/settings.md";
}

}  // namespace
}  // namespace strake::tools_test
