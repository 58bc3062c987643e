/**
 * Files that schemas import without a reference, since every registry knows them: their definitions by the
 * path of the import. Most of `google/protobuf` comes with the library.
 */

const googleType = (definitions: string): string =>
  `syntax = "proto3"; package google.type; ${definitions}`

/** Files that only have options, or messages that nobody sends. */
const withoutMessages = [
  'confluent/meta.proto',
  'google/protobuf/api.proto',
  'google/protobuf/descriptor.proto',
  'google/protobuf/source_context.proto',
  'google/protobuf/type.proto',
]

/** The texts of the files, empty for those that add nothing. */
export const knownFiles: Readonly<Record<string, string>> = {
  ...Object.fromEntries(withoutMessages.map((path) => [path, ''])),
  // The library has its fields in another spelling than those of all other messages.
  'google/protobuf/any.proto':
    'syntax = "proto3"; package google.protobuf; message Any { string type_url = 1; bytes value = 2; }',
  'confluent/type/decimal.proto':
    'syntax = "proto3"; package confluent.type; ' +
    'message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }',
  'google/type/calendar_period.proto': googleType(`
    enum CalendarPeriod { CALENDAR_PERIOD_UNSPECIFIED = 0; DAY = 1; WEEK = 2; FORTNIGHT = 3;
      MONTH = 4; QUARTER = 5; HALF = 6; YEAR = 7; }`),
  'google/type/color.proto': googleType(`
    import "google/protobuf/wrappers.proto";
    message Color { float red = 1; float green = 2; float blue = 3;
      google.protobuf.FloatValue alpha = 4; }`),
  'google/type/date.proto': googleType(`
    message Date { int32 year = 1; int32 month = 2; int32 day = 3; }`),
  'google/type/datetime.proto': googleType(`
    import "google/protobuf/duration.proto";
    message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4;
      int32 minutes = 5; int32 seconds = 6; int32 nanos = 7;
      oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } }
    message TimeZone { string id = 1; string version = 2; }`),
  'google/type/dayofweek.proto': googleType(`
    enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3;
      THURSDAY = 4; FRIDAY = 5; SATURDAY = 6; SUNDAY = 7; }`),
  'google/type/expr.proto': googleType(`
    message Expr { string expression = 1; string title = 2; string description = 3;
      string location = 4; }`),
  'google/type/fraction.proto': googleType(`
    message Fraction { int64 numerator = 1; int64 denominator = 2; }`),
  'google/type/latlng.proto': googleType(`
    message LatLng { double latitude = 1; double longitude = 2; }`),
  'google/type/money.proto': googleType(`
    message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }`),
  'google/type/month.proto': googleType(`
    enum Month { MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5;
      JUNE = 6; JULY = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }`),
  'google/type/postal_address.proto': googleType(`
    message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3;
      string postal_code = 4; string sorting_code = 5; string administrative_area = 6;
      string locality = 7; string sublocality = 8; repeated string address_lines = 9;
      repeated string recipients = 10; string organization = 11; }`),
  'google/type/quaternion.proto': googleType(`
    message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }`),
  'google/type/timeofday.proto': googleType(`
    message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }`),
}
