#include "gates/policy/shadowing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/glob.h"
#include "gates/policy/python_names.h"

namespace pawl::gates {
namespace {

// Where Python looks for modules besides the folders that the commands name: the working directory, the usual
// folders of sources, and the folders of tests, which pytest adds.
constexpr std::array<std::string_view, 4> kModuleFolders = {"", "src", "lib", "python"};
constexpr std::array<std::string_view, 5> kTestFolders = {"test", "tests", "testing", "spec", "t"};
constexpr std::array<std::string_view, 2> kSitePackages = {"site-packages", "dist-packages"};
constexpr std::array<std::string_view, 2> kCustomize = {"sitecustomize", "usercustomize"};

constexpr std::array<std::string_view, 23> kNodeRunners = {
    "@jest",   "@playwright", "@vitest", "@cucumber", "ava",   "c8",         "chai",  "cypress",
    "jasmine", "jest",        "karma",   "lab",       "mocha", "nyc",        "qunit", "sinon",
    "tap",     "tape",        "ts-jest", "ts-node",   "tsx",   "typescript", "vitest"};

// Of the folder of modules that `path` lies in: all that perl's test programs load.
constexpr std::array<std::string_view, 26> kPerlModules = {
    "App/Prove.pm", "App/Prove/*",     "Carp.pm",        "Config.pm",    "Cwd.pm",          "Data/Dumper.pm",
    "Exporter.pm",  "File/Spec.pm",    "List/Util.pm",   "POSIX.pm",     "Scalar/Util.pm",  "TAP/*",
    "Test.pm",      "Test/Builder.pm", "Test/Builder/*", "Test/Deep.pm", "Test/Harness.pm", "Test/Most.pm",
    "Test/More.pm", "Test/Simple.pm",  "Test2/*",        "XSLoader.pm",  "base.pm",         "parent.pm",
    "strict.pm",    "warnings.pm"};
constexpr std::array<std::string_view, 16> kRubyFiles = {"bundler.rb",       "bundler/setup.rb",
                                                         "cucumber.rb",      "json.rb",
                                                         "minitest.rb",      "minitest/autorun.rb",
                                                         "minitest/spec.rb", "minitest/test.rb",
                                                         "minitest/unit.rb", "rake.rb",
                                                         "rspec.rb",         "rspec/autorun.rb",
                                                         "rspec/core.rb",    "rspec/expectations.rb",
                                                         "set.rb",           "test/unit.rb"};

constexpr std::array<std::string_view, 25> kScannerRules = {".semgrepignore",
                                                            ".gitleaksignore",
                                                            ".gitleaks.toml",
                                                            ".trivyignore",
                                                            ".trivyignore.yaml",
                                                            "trivy.yaml",
                                                            ".bandit",
                                                            ".eslintignore",
                                                            ".stylelintignore",
                                                            ".snyk",
                                                            ".grype.yaml",
                                                            ".grypeignore",
                                                            "osv-scanner.toml",
                                                            ".osv-scanner.toml",
                                                            ".nsprc",
                                                            ".checkov.yaml",
                                                            ".checkov.yml",
                                                            ".tfsec",
                                                            ".tflint.hcl",
                                                            ".hadolint.yaml",
                                                            ".secrets.baseline",
                                                            ".semgrep.yml",
                                                            ".safety-policy.yml",
                                                            ".kics.config",
                                                            ".codeqlignore"};

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}
std::string joined_path(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

template <typename List>
bool has(const List& list, std::string_view one) {
  return std::ranges::find(list, one) != list.end();
}

// What comes behind the last folder called `name` on the way; nothing when there is none.
std::optional<std::string_view> behind(std::string_view path, std::string_view name) {
  const std::string inside = fmt::format("/{}/", name);
  if (const auto at = path.rfind(inside); at != std::string_view::npos)
    return path.substr(at + inside.size());
  if (path.starts_with(inside.substr(1))) return path.substr(inside.size() - 1);
  return std::nullopt;
}

bool ends_alike(std::string_view text, std::string_view lower_end) {  // whatever their case
  return text.size() >= lower_end.size() &&
         std::ranges::equal(text.substr(text.size() - lower_end.size()), lower_end, {}, [](char c) {
           return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
         });
}

struct Module {
  std::string_view folder, name;
};

// The module of Python that `path` is, or the package of which it is the beginning.
std::optional<Module> module_of(const FileChange& change) {
  const std::string_view path = change.path, file = name_of(path), folder = folder_of(path);
  const bool is_python = file.ends_with(".py") || file.ends_with(".so");
  if (!is_python && !(change.after && change.after->is_link)) return std::nullopt;
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
    for (const auto look :
         {&Look::python, &Look::installed, &Look::program, &Look::make, &Look::perl_or_ruby, &Look::scanner})
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

  bool holds_modules(std::string_view folder) const {
    const auto is_below = [&](auto name) { return behind(joined_path(folder, ""), name).has_value(); };
    return has(kModuleFolders, folder) || std::ranges::any_of(kTestFolders, is_below) ||
           has(kSitePackages, name_of(folder)) || shadows_.folders.modules.contains(std::string(folder));
  }

  // Packages that somebody installed are nobody's to edit, and a nearer one is found first.
  std::string installed() const {
    for (const auto store : {"site-packages", "dist-packages", "vendor/bundle", "vendor/phpunit"})
      if (behind(path_, store) && !is_new()) return "is a file of an installed package";
    if (change_.after && change_.after->is_link && (name_ == "node_modules" || name_ == ".bin"))
      return "would be looked into instead of what is installed";
    const auto below = behind(path_, "node_modules");
    if (!below || below->starts_with('.')) return {};
    if (!is_new()) return "is a file of an installed package";
    const auto package = below->substr(0, below->find('/'));
    return has(kNodeRunners, package) ? fmt::format("would be loaded instead of {}", package) : std::string();
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
    if (can_run && holder == "bin" && was_there(joined_path(folder_of(folder_), "pyvenv.cfg")))
      return "would run instead of an installed program";
    if (shadows_.folders.libraries.contains(std::string(folder_)) &&
        name_.find(".so") != std::string_view::npos)
      return "lies in a folder of LD_LIBRARY_PATH, and would be loaded instead of another library";
    if (shadows_.folders.modules.contains(std::string(folder_)) && is_new() && has(kNodeRunners, name_))
      return fmt::format("would be loaded instead of {}", name_);
    return {};
  }

  std::string make() const {
    const auto stands_before = [&](std::string_view other) { return was_there(joined_path(folder_, other)); };
    if (!change_.after || !is_new()) return {};
    if (name_ == "GNUmakefile" && (stands_before("Makefile") || stands_before("makefile")))
      return "is read by make instead of the Makefile that is there";
    if (name_ == "makefile" && stands_before("Makefile")) return "is read by make instead of Makefile";
    return {};
  }

  std::string perl_or_ruby() const {
    const bool perl = name_.ends_with(".pm"), ruby = name_.ends_with(".rb");
    if (!change_.after || !is_new() || (!perl && !ruby)) return {};
    std::vector<std::string_view> names{path_};
    for (const auto root : {"lib", "inc", "arch", "test", "spec"})
      if (const auto below = behind(path_, root)) names.push_back(*below);
    for (const auto& root : shadows_.folders.modules)
      if (!root.empty() && path_.starts_with(root + "/")) names.push_back(path_.substr(root.size() + 1));
    const auto is_one = [&](auto name) {
      if (ruby) return has(kRubyFiles, name);
      return std::ranges::any_of(kPerlModules, [&](auto pattern) {
        return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : name == pattern;
      });
    };
    const auto found = std::ranges::find_if(names, is_one);
    return found == names.end()
               ? ""
               : fmt::format("would be loaded instead of {}'s {}", perl ? "Perl" : "Ruby", *found);
  }

  std::string scanner() const {
    return change_.after && has(kScannerRules, name_) ? "says what a scanner does not report" : "";
  }

  const FileChange& change_;
  const Shadows& shadows_;
  const std::string_view path_, name_, folder_;
};

}  // namespace

std::string shadowing(const FileChange& change, const Shadows& shadows) {
  if (any_covers(shadows.allowed, change.path)) return {};
  return Look(change, shadows).words();
}

std::vector<std::string> scanner_rules() { return {kScannerRules.begin(), kScannerRules.end()}; }

}  // namespace pawl::gates
