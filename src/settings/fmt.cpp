// The parts of fmt that are no templates, compiled once for all of Strake
// (cmake/StrakeCompile.cmake).
#ifdef FMT_HEADER_ONLY
#include <fmt/format.h>
#else
#include <fmt/format-inl.h>

// Templates that fmt's headers declare, but leave to be instantiated by its library.
FMT_BEGIN_NAMESPACE
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                         locale_ref);
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
}  // namespace detail
FMT_END_NAMESPACE
#endif
