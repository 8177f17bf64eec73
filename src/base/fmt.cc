// fmt's own functions, compiled once. Debian has the library as a shared one only, which a static program
// cannot use, and its header-only form costs every file that prints seconds.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {  // declared `extern template` in its headers
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
