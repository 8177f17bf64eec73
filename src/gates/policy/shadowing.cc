#include "gates/policy/shadowing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/glob.h"
#include "base/lines.h"
#include "gates/policy/build_files.h"
#include "gates/policy/library_names.h"
#include "gates/policy/mocha_settings.h"
#include "gates/policy/named_modules.h"
#include "gates/policy/package_scripts.h"
#include "gates/policy/pytest_settings.h"
#include "gates/policy/python_hooks.h"
#include "gates/policy/python_names.h"
#include "gates/policy/runner_settings.h"
#include "gates/policy/script_text.h"
#include "gates/policy/stand_in.h"
#include "gates/policy/test_files.h"
#include "gates/policy/vendored.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Folders in which Python looks for modules, besides those that the commands name: the working directory, the
// usual folders of sources, and the folders of tests, which pytest adds.
constexpr std::array<std::string_view, 4> kModuleFolders = {"", "src", "lib", "python"};
constexpr std::array<std::string_view, 2> kSitePackages = {"site-packages", "dist-packages"};
constexpr std::array<std::string_view, 2> kCustomize = {"sitecustomize", "usercustomize"};

std::string joined_path(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

template <typename List>
bool has(const List& list, std::string_view one) {
  return std::ranges::find(list, one) != list.end();
}

// "gtest/*" matches everything below the folder.
template <typename Patterns>
bool fits(const Patterns& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return pattern.find('*') == pattern.npos ? name == pattern : glob_matches(pattern, name);
  });
}

// The part after the last folder called `name` in a path; nullopt when there is none.
std::optional<std::string_view> behind(std::string_view path, std::string_view name) {
  const std::string inside = fmt::format("/{}/", name);
  if (const auto at = path.rfind(inside); at != std::string_view::npos)
    return path.substr(at + inside.size());
  if (path.starts_with(inside.substr(1))) return path.substr(inside.size() - 1);
  return std::nullopt;
}

// Compares in any case of the letters.
bool ends_alike(std::string_view text, std::string_view lower_end) {
  return text.size() >= lower_end.size() &&
         std::ranges::equal(text.substr(text.size() - lower_end.size()), lower_end, {}, [](char c) {
           return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
         });
}

struct Module {
  std::string_view folder, name;
};

// The Python module that `path` is, or the package that begins with it.
std::optional<Module> module_of(const FileChange& change) {
  const std::string_view path = change.path, file = name_of(path), folder = folder_of(path);
  // Python loads "ast.pyc" without a source. Those in __pycache__ have one.
  const bool is_compiled =
      file.substr(std::min(file.find('.'), file.size())) == ".pyc" && name_of(folder) != "__pycache__";
  const bool is_python = is_compiled || file.ends_with(".py") || file.ends_with(".so");
  // A link to a folder may be a package.
  const bool may_be_package = change.after && change.after->is_link && file.find('.') == file.npos;
  if (!is_python && !may_be_package) return std::nullopt;
  const auto stem = file.substr(0, file.find('.'));
  if (stem != "__init__") return Module{.folder = folder, .name = stem};
  if (folder.empty()) return std::nullopt;
  return Module{.folder = folder_of(folder), .name = name_of(folder)};
}

class Look {
 public:
  Look(const FileChange& change, const Shadows& shadows)
      : change_(change),
        shadows_(shadows),
        path_(change.path),
        name_(name_of(path_)),
        folder_(folder_of(path_)) {}

  std::string words() const {
    for (const auto look : {&Look::python, &Look::installed, &Look::program, &Look::make, &Look::go,
                            &Look::perl_or_ruby, &Look::header, &Look::java, &Look::scanner})
      if (auto found = (this->*look)(); !found.empty()) return found;
    return {};
  }

 private:
  bool is_new() const { return !change_.before; }
  bool was_there(const std::string& path) const { return shadows_.was_there && shadows_.was_there(path); }

  std::string python() const {
    if (!change_.after) return {};
    const auto in_site = [&](auto name) { return behind(path_, name).has_value(); };
    if (ends_alike(name_, ".pth") && std::ranges::any_of(kSitePackages, in_site))
      return "is run by every Python program that finds it";
    const auto holder = name_of(folder_);
    const bool is_metadata = ends_alike(holder, ".dist-info") || ends_alike(holder, ".egg-info");
    if (is_metadata && name_ == "entry_points.txt") return "adds plugins to test runners that find it";
    const bool is_link = change_.after->is_link;
    if (is_link && (ends_alike(name_, ".dist-info") || ends_alike(name_, ".egg-info")))
      return "adds plugins to test runners that find it";
    const auto module = module_of(change_);
    if (!module) return {};
    if (has(kCustomize, module->name)) return "is imported by every Python program that finds it";
    if (is_new() && is_python_name(module->name) && holds_modules(module->folder))
      return fmt::format("would be imported instead of Python's or its test runner's {}", module->name);
    return {};
  }

  // In a package, a module's name begins with the package's, unless a command has Python look there. The work may
  // make a new folder a package.
  bool is_package(std::string_view folder) const {
    const auto file = joined_path(folder, "__init__.py");
    return !folder.empty() && (was_there(file) || (!was_there(std::string(folder)) && shadows_.is_there &&
                                                   shadows_.is_there(file)));
  }

  bool holds_modules(std::string_view folder) const {
    if (shadows_.folders.modules.contains(std::string(folder))) return true;
    if (is_package(folder) || holds_data(std::string(folder), shadows_)) return false;
    const auto is_below = [&](auto name) { return behind(joined_path(folder, ""), name).has_value(); };
    return has(kModuleFolders, folder) || std::ranges::any_of(kTestFolders, is_below) ||
           has(kSitePackages, name_of(folder));
  }

  // An installed package is not to be edited, and a package in a nearer folder is found first.
  std::string installed() const {
    for (const auto store : {"site-packages", "dist-packages", "vendor/bundle", "vendor/phpunit"})
      if (behind(path_, store) && !is_new()) return "is a file of an installed package";
    if (change_.after && change_.after->is_link && (name_ == "node_modules" || name_ == ".bin"))
      return "would be looked into instead of what is installed";
    // Jest takes such a file for the package, without a word in a test.
    if (const auto mock = behind(path_, "__mocks__"); mock && change_.after) {
      const auto package = mock->substr(0, mock->find_first_of(mock->starts_with('@') ? "/" : "/."));
      if (has(node_runners(), package)) return fmt::format("would be loaded instead of {}", package);
    }
    const auto below = behind(path_, "node_modules");
    if (!below || below->starts_with('.')) return {};
    if (!is_new()) return "is a file of an installed package";
    auto package = below->substr(0, below->find('/'));
    // Node.js loads such a file before the folder of the name.
    if (package.size() == below->size() && change_.after)
      for (const std::string_view end : {".js", ".cjs", ".json", ".node", ".mjs"})
        if (package.ends_with(end)) package.remove_suffix(end.size());
    return has(node_runners(), package) ? fmt::format("would be loaded instead of {}", package)
                                        : std::string();
  }

  std::string program() const {
    if (!change_.after) return {};
    const auto& after = *change_.after;
    const bool can_run = after.is_executable || after.is_link;
    const auto holder = name_of(folder_);
    if (holder == ".bin" || folder_.ends_with("vendor/bin"))
      return "would run instead of an installed program";
    if (can_run && path_ == "tools/bazel") return "runs instead of bazel";
    if (can_run && shadows_.folders.programs.contains(std::string(folder_)))
      return "lies in a folder of PATH, and would run instead of another program";
    const auto environment = folder_of(folder_);
    if (can_run && holder == "bin" &&
        (is_any_of(name_of(environment), {".venv", "venv"}) ||
         was_there(joined_path(environment, "pyvenv.cfg"))))
      return "would run instead of an installed program";
    if (shadows_.folders.libraries.contains(std::string(folder_)) &&
        name_.find(".so") != std::string_view::npos)
      return "lies in a folder of LD_LIBRARY_PATH, and would be loaded instead of another library";
    if (shadows_.folders.modules.contains(std::string(folder_)) && is_new() && has(node_runners(), name_))
      return fmt::format("would be loaded instead of {}", name_);
    return {};
  }

  // Whether the work deleted or renamed a file.
  bool is_gone(const std::string& path) const {
    const auto& targets = shadows_.targets;
    return targets.base_text && targets.work_text && !targets.base_text(path).empty() &&
           targets.work_text(path).empty();
  }

  std::string make() const {
    const auto has_beside = [&](std::string_view other) {
      const auto path = joined_path(folder_, other);
      return was_there(path) && !is_gone(path);
    };
    if (!change_.after || !is_new()) return {};
    // configure, config.status and `perl Makefile.PL` write the Makefile only in the step.
    const bool has_makefile =
        std::ranges::any_of(std::array{"Makefile", "Makefile.in", "Makefile.am", "Makefile.PL"}, has_beside);
    if (name_ == "GNUmakefile" && (has_makefile || has_beside("makefile")))
      return "is read by make instead of the Makefile of that folder";
    if (name_ == "makefile" && has_makefile) return "is read by make instead of Makefile";
    for (const auto& make : shadows_.targets.makes)
      for (const auto& target : make.replaced)
        if (path_ == target || (path_.starts_with(target + "/") && !was_there(target)))
          return fmt::format("has make take target `{}` for made, so that it runs no command", target);
    return {};
  }

  // go leaves a folder with a module of its own out of "./...".
  std::string go() const {
    const bool cuts = change_.after && is_new() && name_ == "go.mod" && !folder_.empty() &&
                      was_there(std::string(folder_)) && shadows_.targets.programs.contains("go");
    return cuts ? "takes its folder out of the module that a gate tests" : "";
  }

  std::string perl_or_ruby() const {
    const bool perl = name_.ends_with(".pm"), ruby = name_.ends_with(".rb");
    if (!change_.after || !is_new() || (!perl && !ruby)) return {};
    std::vector<std::string_view> names{path_};
    for (const auto root : {"lib", "inc", "arch", "test", "spec"})
      if (const auto below = behind(path_, root)) names.push_back(*below);
    for (const auto& root : shadows_.folders.modules)
      if (!root.empty() && path_.starts_with(root + "/")) names.push_back(path_.substr(root.size() + 1));
    const auto found = std::ranges::find_if(
        names, [&](auto name) { return perl ? fits(perl_modules(), name) : fits(ruby_files(), name); });
    return found == names.end()
               ? ""
               : fmt::format("would be loaded instead of {}'s {}", perl ? "Perl" : "Ruby", *found);
  }

  // Whether compilers look for headers in a folder: a usual one of headers or sources, or one that a command or
  // a Makefile names. Projects have headers of such names in folders of their own ("util/math.h").
  bool holds_headers(std::string_view folder) const {
    constexpr auto kUsual = std::to_array<std::string_view>(
        {"", "headers", "inc", "include", "includes", "lib", "source", "sources", "src", "unittest"});
    if (has(kUsual, name_of(folder)) || has(kTestFolders, name_of(folder))) return true;
    const auto named = std::string(folder);
    if (shadows_.folders.modules.contains(named)) return true;
    return std::ranges::any_of(shadows_.targets.makes, [&](const auto& make) {
      return make.base.header_folders.contains(named) || make.now.header_folders.contains(named);
    });
  }

  // Whether a text begins like a script of the shell, and as no header of C++ can: after comments with a function
  // without a type, or with an assignment. A comment that could be a directive leaves that open.
  static bool begins_as_script(std::string_view text) {
    constexpr auto kDirectives = std::to_array<std::string_view>(
        {"define", "elif", "else", "endif", "error", "if", "ifdef", "ifndef", "import", "include",
         "include_next", "line", "pragma", "undef", "warning"});
    for (const auto each : TextLines(text)) {
      const auto line = trimmed(each);
      if (line.empty()) continue;
      const auto end = std::min(line.find_first_not_of(" \t", 1), line.size());
      const auto word = line.substr(end, line.find_first_of(" \t<\"(", end) - end);
      if (line.starts_with('#') && (line.ends_with('\\') || has(kDirectives, word))) return false;
      if (line.starts_with('#')) continue;
      const auto name = std::ranges::find_if_not(line, is_word) - line.begin();
      const auto rest = line.substr(static_cast<std::size_t>(name));
      return name > 0 && (rest.starts_with("()") || rest.starts_with('=') || line.starts_with("set -"));
    }
    return false;
  }

  // Whether a file may be a header of C++ by its content. Programs and data, too, have names such as `list` and
  // `new`.
  bool may_be_code() const {
    const auto& after = *change_.after;
    const bool is_known = !change_.unread && static_cast<std::size_t>(after.size) == after.content.size();
    return !after.is_executable && !after.content.starts_with("#!") && !begins_as_script(after.content) &&
           (after.is_link || !is_known || after.content.find_first_of("#;{") != std::string_view::npos);
  }

  // Compares the file's name alone, and with each of the folders above it.
  std::string header() const {
    if (!change_.after || !is_new()) return {};
    for (auto slash = path_.size(); slash != std::string_view::npos;) {
      slash = slash == 0 ? std::string_view::npos : path_.rfind('/', slash - 1);
      const auto name = slash == std::string_view::npos ? path_ : path_.substr(slash + 1);
      const auto folder = slash == std::string_view::npos ? std::string_view() : path_.substr(0, slash);
      const bool is_library = has(c_headers(), name) || (has(cxx_headers(), name) && may_be_code());
      if (fits(framework_headers(), name) || (is_library && holds_headers(folder)))
        return fmt::format("would be read instead of the compiler's or a test framework's {}", name);
    }
    return {};
  }

  std::string java() const {
    constexpr auto kEnds = std::to_array<std::string_view>({".java", ".kt", ".groovy", ".scala", ".class"});
    if (!change_.after || !is_new() ||
        std::ranges::none_of(kEnds, [&](auto end) { return name_.ends_with(end); }))
      return {};
    for (const auto package : java_packages())
      if (behind(path_, package)) return fmt::format("would be loaded instead of a class of {}", package);
    return {};
  }

  std::string scanner() const {
    return change_.after && has(scanner_rule_files(), name_) ? "says what a scanner does not report" : "";
  }

  const FileChange& change_;
  const Shadows& shadows_;
  const std::string_view path_, name_, folder_;
};

// A file that decides what a gate runs, and that Pawl does not read any more.
std::string not_read(const FileChange& change, const RunTargets& targets) {
  if (!change.after || (!has_runner_settings(change.path) && !may_have_targets(change.path, targets)))
    return {};
  if (change.after->is_link) return "decides what a gate runs, and is a link, which Pawl does not follow";
  const bool was_unread = change.before && change.before->content.empty() && change.before->size > 0;
  return change.unread && !was_unread ? "decides what a gate runs, and is too large to be read" : "";
}

// The folders that the commands of a Makefile name.
void add_folders(const MakeFolder& make, const Makefile& in, const TargetNames& targets, SearchFolders& to) {
  const auto start = make.folder.empty() ? std::string() : fmt::format("cd {}; ", make.folder);
  const auto add_variables = [&](const MakeVariables& variables) {
    for (const auto& [name, value] : variables)
      to.add({fmt::format("{}{}={}", start, name, expanded(value, in.variables))});
  };
  add_variables(in.variables);
  for (const auto& target : reached(in, targets)) {
    const auto rule = in.rules.find(target);
    if (rule == in.rules.end()) continue;
    add_variables(rule->second.variables);
    for (const auto& line : rule->second.recipe)
      to.add({start + command_of(expanded(line.text, in.variables)).text});
  }
}

// The folders of pytest's setting `pythonpath`.
void add_python_path(const std::string& settings, SearchFolders& to) {
  for (const auto each : TextLines(settings)) {
    const auto line = trimmed(each);
    const auto sign = line.find_first_of("=:");
    if (!line.starts_with("pythonpath") || sign == line.npos) continue;
    std::string folders(line.substr(sign + 1));
    std::ranges::replace_if(
        folders, [](char c) { return std::string_view("[],'\"").find(c) != std::string_view::npos; }, ' ');
    for (const auto folder : words_in(folders)) to.add({fmt::format("-I {}", folder)});
  }
}

// Below other folders, a conftest.py is known only when the work changes it.
void add_pytest_plugins(RunTargets& to) {
  const auto is_there = [&](const std::string& path) { return !to.work_text(path).empty(); };
  std::vector<std::string> folders = {"", "src/"};
  for (const auto name : kTestFolders) folders.push_back(std::string(name) + "/");
  for (const auto& folder : folders)
    to.pytest_plugins.merge(
        own_plugins(folder + "conftest.py", to.work_text(folder + "conftest.py"), is_there));
}

}  // namespace

void add_folders_of_work(Shadows& to) {
  SearchFolders before, now;
  for (const auto& make : to.targets.makes) {
    add_folders(make, make.base, to.targets.targets, before);
    add_folders(make, make.now, to.targets.targets, now);
  }
  if (to.targets.work_text) {
    if (const auto scripts = scripts_of(to.targets.work_text("package.json")))
      for (const auto& name : to.targets.scripts)
        if (const auto script = scripts->find(name); script != scripts->end()) now.add({script->second});
    for (const auto* file : {".pytest.ini", "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini"})
      add_python_path(to.targets.work_text(file), now);
    add_pytest_plugins(to.targets);
  }
  to.folders.modules.merge(now.modules);
  // Programs that a project builds lie where base has its commands look, too.
  for (const auto& folder : now.programs)
    if (!before.programs.contains(folder)) to.folders.programs.insert(folder);
  for (const auto& folder : now.libraries)
    if (!before.libraries.contains(folder)) to.folders.libraries.insert(folder);
}

std::string shadowing(const FileChange& change, const Shadows& shadows) {
  if (any_covers(shadows.allowed, change.path)) return {};
  for (const auto& words : {not_read(change, shadows.targets),
                            forging_hook(change, shadows.targets.pytest_plugins, shadows.targets.work_text),
                            runner_setting(change, shadows.targets), named_module(change),
                            weakened_target(change, shadows.targets), switches_off(change, shadows.targets),
                            mocha_setting(change, shadows), pytest_choice(change, shadows),
                            vendored(change, shadows.was_there), stands_in_for_own(change, shadows)})
    if (!words.empty()) return words;
  return Look(change, shadows).words();
}

bool holds_data(const std::string& folder, const Shadows& shadows) {
  // Names that projects give to what tests read.
  constexpr auto kData = std::to_array<std::string_view>(
      {"__snapshots__", "assets", "cassettes", "corpus", "data", "expected", "fixtures", "golden", "input",
       "inputs", "resources", "samples", "snapshots", "test_data", "testdata"});
  if (!shadows.adds_tests || shadows.folders.modules.contains(folder) || shadows.adds_tests(folder))
    return false;
  const auto inside = folder + "/";
  const auto is_below = [&](auto tests) {
    const auto rest = behind(inside, tests);
    if (!rest) return false;
    return std::ranges::any_of(kData, [&](auto data) {
      return ("/" + std::string(*rest)).find(fmt::format("/{}/", data)) != std::string::npos;
    });
  };
  return std::ranges::any_of(kTestFolders, is_below);
}

bool shadowing_reads(std::string_view path, const RunTargets& targets) {
  return may_have_hooks(path, targets.pytest_plugins) || has_runner_settings(path) ||
         may_have_targets(path, targets) || has(cxx_headers(), name_of(path));
}

std::vector<std::string> scanner_rules() {
  return {scanner_rule_files().begin(), scanner_rule_files().end()};
}

}  // namespace pawl::gates
