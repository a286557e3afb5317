#include "launcher.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "strake/error.hpp"

namespace strake::run {
namespace {

/// How many words follow an option. The names have no dashes; on the command line they have one or
/// two.
struct OptionWords {
  int words;
  std::string_view names;  ///< separated by spaces
};

// From `mpirun --help full` of Open MPI 4.1 and the manual of Open MPI 5's.
constexpr std::array kOpenMpiOptions = {
    OptionWords{
        0,
        "allow-run-as-root bind-to-core bind-to-socket bind-to-none bycore bynode byslot bysocket "
        "continuous debug-daemons debug-daemons-file debug-devel disable-recovery "
        "display-allocation display-devel-allocation display-devel-map display-diffable-map "
        "display-map "
        "display-topo do-not-launch do-not-resolve dvm enable-recovery fwd-mpirun-port "
        "get-stack-traces "
        "gdb index-argv-by-rank leave-session-attached merge-stderr-to-stdout no-local "
        "no-oversubscribe "
        "nolocal nooversubscribe novm oversubscribe parsable parseable pernode preload-binary q "
        "quiet "
        "report-bindings report-child-jobs-separately report-state-on-timeout s "
        "set-sid show-progress staged stream-buffering tag-output timestamp-output tv "
        "use-hwthread-cpus "
        "use-regexp v verbose xml rank-by-core"},
    OptionWords{
        1,
        "am app bind-to c n np N H host hostfile machinefile cf cartofile cpu-list cpu-set "
        "cpus-per-proc "
        "cpus-per-rank debugger default-hostfile dash-host display hnp launch-agent map-by "
        "max-restarts "
        "max-vm-size npernode npersocket ompi-server output output-filename path personality ppr "
        "prefix "
        "preload-files rank-by report-events report-pid report-uri rf rankfile runtime-options "
        "slot-list stdin timeout tune wd wdir x xml-file xterm pmixmca-file with-ft"},
    OptionWords{2, "mca gmca pmixmca gpmixmca prtemca omca"},
};

// From mpiexec's --help and the MPICH user's guide. A word with = holds its own value.
constexpr std::array kHydraOptions = {
    OptionWords{
        0,
        "genvnone genvall envnone envall enable-x disable-x verbose v info print-all-exitcodes "
        "profile "
        "prepend-rank l disable-auto-cleanup enable-auto-cleanup disable-hostname-propagation "
        "enable-hostname-propagation pmi-port skip-launch-node debug"},
    OptionWords{
        1,
        "genvlist envlist f hosts host machinefile wdir wd configfile n np launcher launcher-exec "
        "bootstrap bootstrap-exec rmk topolib bind-to map-by membind demux iface ppn perhost "
        "prepend-pattern outfile-pattern outfile errfile-pattern errfile nameserver order-nodes "
        "localhost usize gpus-per-proc timeout"},
};

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    if (names.substr(0, space) == name) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

std::string_view without_dashes(std::string_view option) {
  option.remove_prefix(option.starts_with("--") ? 2 : 1);
  return option;
}

bool sets_variable(std::string_view option) {
  return option == "-env" || option == "-genv" || option == "--env" || option == "--genv";
}

bool is_assignment(std::string_view item) { return item.find('=') != std::string_view::npos; }

/// The number of words after `option`, of which `next` is the first; nothing if the option is not
/// known.
std::optional<int> words_after(Launcher launcher, std::string_view option, std::string_view next) {
  const std::size_t equals = option.find('=');
  if (launcher == Launcher::Hydra && sets_variable(option.substr(0, equals))) {
    if (equals != std::string_view::npos) return is_assignment(option.substr(equals + 1)) ? 0 : 1;
    return is_assignment(next) ? 1 : 2;
  }
  if (equals != std::string_view::npos) return 0;
  const auto table = launcher == Launcher::OpenMpi ? std::span<const OptionWords>(kOpenMpiOptions)
                                                   : std::span<const OptionWords>(kHydraOptions);
  for (const OptionWords& row : table) {
    if (lists(row.names, without_dashes(option))) return row.words;
  }
  return std::nullopt;
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_preload(std::string_view text) { return text == "LD_PRELOAD"; }

const std::string& value_of(const Variables& variables, std::string_view name) {
  return std::find_if(variables.begin(), variables.end(),
                      [&](const auto& v) { return v.first == name; })
      ->second;
}

bool has(const Variables& variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& v) { return v.first == name; });
}

/// The name in NAME or NAME=value.
std::string_view name_of(std::string_view item) { return item.substr(0, item.find('=')); }

/// A NAME or NAME=value that the user gave for the ranks, merged with `variables`. LD_PRELOAD of
/// the user comes after Strake's. A NAME without a value gets that of `variables`.
std::string merged(std::string_view item, const Variables& variables) {
  const std::string_view name = name_of(item);
  std::string word(item);
  if (!has(variables, name)) return word;
  if (!is_assignment(item)) return word + "=" + value_of(variables, name);
  if (is_preload(name)) word.insert(name.size() + 1, value_of(variables, name) + ":");
  return word;
}

/// `list`, the user's NAME or NAME=value words, with `variables` added unless it has them: Open MPI
/// 5 refuses a name with two values. A value with a separator in it is refused, too, except that of
/// XDG_CACHE_HOME: without that a job runs, and at most misses its profile.
std::string extended(std::string_view list, char separator, Variables variables) {
  const auto ends = [&](const auto& v) { return v.second.find(separator) != std::string::npos; };
  std::erase_if(variables, [&](const auto& v) { return v.first == "XDG_CACHE_HOME" && ends(v); });
  if (const auto v = std::find_if(variables.begin(), variables.end(), ends); v != variables.end()) {
    throw InvalidArgument(
        fmt::format("{}={} can't be passed to the ranks: a '{}' in it would end it", v->first,
                    v->second, separator));
  }
  std::string out;
  const auto add = [&](const std::string& item) {
    if (!out.empty()) out += separator;
    out += item;
  };
  Variables missing = variables;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    add(merged(item, variables));
    std::erase_if(missing, [&](const auto& v) { return v.first == name_of(item); });
  }
  for (const auto& [name, value] : missing) add(name + "=" + value);
  return out;
}

/// The first word of `command` that is one of `names` and stands before a segment's program; the
/// number of words if there is none.
std::size_t option_word(const Arguments& command, std::string_view names) {
  for (const Segment& segment : segments_of(Launcher::OpenMpi, command)) {
    for (std::size_t i = segment.begin; i < segment.program.value_or(segment.end); ++i) {
      if (lists(names, command[i])) return i;
    }
  }
  return command.size();
}

/// Open MPI: -x in each segment; for jobs described elsewhere (--app, or a list of variables that
/// forbids -x, even an empty one), that list.
Arguments with_openmpi_environment(const Arguments& command, const Variables& variables) {
  constexpr std::string_view kListOption = "mca_base_env_list";
  const std::size_t at = option_word(command, kListOption) + 1;
  Arguments out = {command.front()};
  if (at < command.size()) {
    out = command;
    out[at] = extended(out[at], ';', variables);
    return out;
  }
  const char* list = std::getenv("OMPI_MCA_mca_base_env_list");
  if (list != nullptr || option_word(command, "--app -app") < command.size()) {
    out.insert(out.end(), {"--mca", std::string(kListOption),
                           extended(list != nullptr ? list : "", ';', variables)});
    out.insert(out.end(), command.begin() + 1, command.end());
    return out;
  }
  for (const Segment& segment : segments_of(Launcher::OpenMpi, command)) {
    if (segment.begin > 1) out.emplace_back(":");
    Arguments words(command.begin() + static_cast<std::ptrdiff_t>(segment.begin),
                    command.begin() + static_cast<std::ptrdiff_t>(segment.end));
    Variables missing = variables;
    const std::size_t options = segment.program.value_or(segment.end) - segment.begin;
    for (std::size_t i = 0; i + 1 < options; ++i) {
      if (words[i] != "-x" && words[i] != "--x") continue;
      words[i + 1] = merged(words[i + 1], variables);
      std::erase_if(missing, [&](const auto& v) { return v.first == name_of(words[i + 1]); });
    }
    for (const auto& [name, value] : missing) {
      out.emplace_back("-x");
      out.push_back(name);
      out.back() += "=" + value;
    }
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

/// Hydra: -genv once. The user's -env and -genv take precedence over it, so LD_PRELOAD is added to
/// them.
Arguments with_hydra_environment(const Arguments& command, const Variables& variables) {
  Arguments out = {command.front()};
  for (const auto& [name, value] : variables) out.insert(out.end(), {"-genv", name, value});
  Arguments rest(command.begin() + 1, command.end());
  for (const Segment& segment : segments_of(Launcher::Hydra, command)) {
    const std::size_t options = segment.program.value_or(segment.end);
    for (std::size_t i = segment.begin; i < options; ++i) {
      const std::string option = command[i].substr(0, command[i].find('='));
      if (!sets_variable(option)) continue;
      // "-genv NAME…" or "-genv=NAME…"; either may be followed by "=value" or by the word "value".
      const bool apart = option == command[i];
      const std::size_t at = apart ? i + 1 : i;
      if (at == options) break;
      const std::string before = apart ? "" : option + "=";
      const std::string item = command[at].substr(before.size());
      if (!is_preload(name_of(item))) continue;
      if (is_assignment(item)) {
        rest[at - 1] = before + merged(item, variables);  // rest lacks the first word
      } else if (at + 1 < options) {
        rest[at].insert(0, value_of(variables, "LD_PRELOAD") + ":");
      }
    }
  }
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

/// The entries of srun's --export list up to NONE or NIL, where srun stops reading. (A list without
/// ALL exports nothing else.)
std::string exported_by(std::string_view list) {
  std::string exported;
  while (!list.empty()) {
    const std::string word(list.substr(0, list.find(',')));
    if (strcasecmp(word.c_str(), "NONE") == 0 || strcasecmp(word.c_str(), "NIL") == 0) break;
    exported += (exported.empty() ? "" : ",") + word;
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return exported;
}

/// Slurm: --export, with what the user exports added.
Arguments with_srun_environment(const Arguments& command, const Variables& variables) {
  constexpr std::string_view kExport = "--export=";
  Arguments out = command;
  if (out.size() > 1 && out[1].starts_with(kExport)) {
    out[1].replace(kExport.size(), std::string::npos,
                   extended(exported_by(out[1].substr(kExport.size())), ',', variables));
    return out;
  }
  // A later --export may be srun's, and would replace this one, or the program's.
  for (const std::string& word : command) {
    if (word.starts_with("--export")) {
      throw InvalidArgument(fmt::format(
          "{}: srun's --export=... must be its first option under strake run, which adds to it "
          "(where this is the program's own, let srun --export=ALL come first)",
          word));
    }
  }
  const char* exported = std::getenv("SLURM_EXPORT_ENV");
  const std::string list = exported_by(exported != nullptr ? exported : "ALL");
  out.insert(out.begin() + 1, std::string(kExport) + extended(list, ',', variables));
  return out;
}

}  // namespace

bool is_launcher_name(std::string_view program) noexcept {
  const std::string_view name = base_name(program);
  // mpirun.openmpi, mpiexec.hydra, mpirun-openmpi-x86_64, mpirun_rsh.
  const std::string_view first = name.substr(0, name.find_first_of(".-_"));
  return first == "mpirun" || first == "mpiexec" || name == "orterun" || name == "prterun" ||
         name == "srun";
}

std::optional<Launcher> launcher_of_version(std::string_view output) noexcept {
  const auto says = [&](std::string_view what) {
    return output.find(what) != std::string_view::npos;
  };
  if (says("Intel(R) MPI") || says("MVAPICH")) return std::nullopt;
  if (says("Open MPI") || says("OpenRTE") || says("PRRTE") || says("open-mpi.org"))
    return Launcher::OpenMpi;
  if (says("HYDRA build details")) return Launcher::Hydra;
  if (output.starts_with("slurm")) return Launcher::Srun;
  return std::nullopt;
}

std::vector<Segment> segments_of(Launcher launcher, const Arguments& command) {
  std::vector<Segment> segments;
  for (std::size_t begin = 1; begin <= command.size();) {
    Segment segment{begin, begin, std::nullopt};
    // srun takes several programs from a file only, and a lone colon parts heterogeneous steps
    // there too.
    while (segment.end < command.size() && command[segment.end] != ":") ++segment.end;
    if (launcher != Launcher::Srun) {
      std::size_t at = begin;
      while (at < segment.end && is_option(command[at])) {
        if (command[at] == "--") {
          ++at;
          break;
        }
        const auto words =
            words_after(launcher, command[at], at + 1 < segment.end ? command[at + 1] : "");
        at = words ? at + 1 + static_cast<std::size_t>(*words) : command.size() + 1;
      }
      if (at < segment.end) segment.program = at;
    }
    segments.push_back(segment);
    begin = segment.end + 1;
  }
  return segments;
}

Arguments with_environment(Launcher launcher, const Arguments& command,
                           const Variables& variables) {
  switch (launcher) {
    case Launcher::OpenMpi:
      return with_openmpi_environment(command, variables);
    case Launcher::Hydra:
      return with_hydra_environment(command, variables);
    case Launcher::Srun:
      break;
  }
  return with_srun_environment(command, variables);
}

std::optional<int> ranks_of(Launcher launcher, const Arguments& command) {
  constexpr std::string_view kNodes =
      "host hosts H hostfile machinefile default-hostfile f ppr npernode N";
  int ranks = 0;
  if (launcher == Launcher::Srun) return std::nullopt;
  for (const Segment& segment : segments_of(launcher, command)) {
    int here = 0;
    for (std::size_t i = segment.begin; i + 1 < segment.program.value_or(segment.begin); ++i) {
      if (!is_option(command[i])) continue;
      const std::string_view name = without_dashes(command[i]);
      if (lists(kNodes, name)) return std::nullopt;
      if (lists("n np c", name)) here = std::atoi(command[i + 1].c_str());
    }
    if (here <= 0) return 0;
    ranks += here;
  }
  return ranks;
}

}  // namespace strake::run
