// Functions of fmt, compiled once. Debian has the library only as a shared one, which a static program cannot
// use. The header-only form costs each file that prints some seconds to compile.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {  // declared `extern template` in fmt's headers
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
