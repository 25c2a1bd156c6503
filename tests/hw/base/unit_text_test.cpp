#include "hw/base/unit_text.hpp"

#include <doctest/doctest.h>

using namespace prequel;

TEST_CASE("bytes are read with decimal and binary prefixes") {
  CHECK(parse_bytes("1 B") == Bytes{1.0});
  CHECK(parse_bytes("80 GB") == Bytes{80e9});
  CHECK(parse_bytes("80GiB") == Bytes{80.0 * kGiB});
  CHECK(parse_bytes(" 1.5\tTB ") == Bytes{1.5e12});
  CHECK(parse_bytes("2 KiB") == Bytes{2048.0});
  CHECK(parse_bytes("2 kB") == Bytes{2000.0});
  CHECK(parse_bytes("4EB") == Bytes{4e18});
}

TEST_CASE("what is not a positive finite amount of bytes is refused") {
  for (const char* text : {"",          " ",      "GB",      "eighty",   "0",     "0 GB", "-1 GB",
                           "nan",       "inf GB", "1e999",   "1e308 TB", "80 Gb", "80 G", "4096",
                           "1e-300 GB", "80 GBB", "80 GB/s", "0x10",     "1 2",   "8 iB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

TEST_CASE("rates are read in bits and in bytes") {
  CHECK(parse_rate("25 GB/s") == BytesPerSecond{25e9});
  CHECK(parse_rate("200 Gbit/s") == BytesPerSecond{25e9});
  CHECK(parse_rate("200 Gb/s") == BytesPerSecond{25e9});
  CHECK(parse_rate("200Gbps") == BytesPerSecond{25e9});
  CHECK(parse_rate("8 bit/s") == BytesPerSecond{1.0});
  CHECK(parse_rate("1 GiB/s") == BytesPerSecond{kGiB});
}

TEST_CASE("what is not a positive finite rate is refused") {
  for (const char* text :
       {"", "40", "25e9", "1e-300 GB/s", "0 GB/s", "-1 GB/s", "nan GB/s", "1e308 TB/s", "25 GB",
        "25 G/s", "25 /s", "fast", "25 Gbits/s", "25 GB/h"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_rate(text));
  }
}

TEST_CASE("durations are read from nanoseconds to days") {
  CHECK(parse_duration("90") == Seconds{90.0});
  CHECK(parse_duration("90 s") == Seconds{90.0});
  CHECK(parse_duration("10m") == Seconds{600.0});
  CHECK(parse_duration("10 min") == Seconds{600.0});
  CHECK(parse_duration("1.5h") == Seconds{5400.0});
  CHECK(parse_duration("2d") == Seconds{172800.0});
  CHECK(parse_duration("3 ms")->value == doctest::Approx(3e-3));
  CHECK(parse_duration("20us")->value == doctest::Approx(20e-6));
  CHECK(parse_duration("20 \u00b5s")->value == doctest::Approx(20e-6));
  CHECK(parse_duration("20 \u03bcs")->value == doctest::Approx(20e-6));
  CHECK(parse_duration("5ns")->value == doctest::Approx(5e-9));
}

TEST_CASE("what is not a positive finite time is refused") {
  for (const char* text : {"", "0s", "-1s", "nan", "inf", "1e308h", "soon", "1 week", "1h30m"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}
