package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/** Joins of streams, with streams and with tables. */
final class JoinOps {
  static void addTo(Map<String, Call.Op> ops) {
    addStreamJoins(ops);
    ops.put("stream.joinTable", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().join(other(call), (k, l, r) -> joiner.apply(l, r, k), joined(call));
    });
    ops.put("stream.leftJoinTable", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().leftJoin(other(call), (k, l, r) -> joiner.apply(l, r, k), joined(call));
    });
  }

  private static void addStreamJoins(Map<String, Call.Op> ops) {
    ops.put("stream.joinStream", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().join(
          stream(call), (k, l, r) -> joiner.apply(l, r, k), windows(call), streamJoined(call));
    });
    ops.put("stream.leftJoinStream", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().leftJoin(
          stream(call), (k, l, r) -> joiner.apply(l, r, k), windows(call), streamJoined(call));
    });
    ops.put("stream.outerJoinStream", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().outerJoin(
          stream(call), (k, l, r) -> joiner.apply(l, r, k), windows(call), streamJoined(call));
    });
  }

  private static KStream<Object, Object> stream(Call call) {
    return call.input(1);
  }

  /** `windows`: before, after and grace, in milliseconds. */
  private static JoinWindows windows(Call call) {
    JsonNode windows = call.step().path("windows");
    Duration before = Duration.ofMillis(windows.path("before").asLong());
    Duration after = Duration.ofMillis(windows.path("after").asLong());
    // The factory takes one difference, which must not be negative; then both are set.
    Duration wide = Duration.ofMillis(Math.max(before.abs().toMillis(), after.abs().toMillis()));
    return JoinWindows.ofTimeDifferenceAndGrace(wide, Duration.ofMillis(windows.path("grace").asLong()))
        .before(before)
        .after(after);
  }

  private static StreamJoined<Object, Object, Object> streamJoined(Call call) {
    StreamJoined<Object, Object, Object> joined = StreamJoined.with(
        call.serde("key"), call.serde("value"), call.serde("otherValue"));
    if (call.has("name")) joined = joined.withName(call.name());
    JsonNode store = call.step().path("store");
    if (store.has("name")) joined = joined.withStoreName(store.get("name").asText());
    if (!store.path("persistent").asBoolean(true)) {
      joined = joined.withDslStoreSuppliers(BuiltInDslStoreSuppliers.IN_MEMORY);
    }
    JsonNode changelog = store.path("changelog");
    if (changelog.isObject()) return joined.withLoggingEnabled(Call.configs(changelog));
    return changelog.asBoolean(true) ? joined : joined.withLoggingDisabled();
  }

  private static KTable<Object, Object> other(Call call) {
    return call.input(1);
  }

  private static Joined<Object, Object, Object> joined(Call call) {
    Joined<Object, Object, Object> joined =
        Joined.with(call.serdeOrNull("key"), call.serdeOrNull("value"), null, call.name());
    if (!call.has("grace")) return joined;
    return joined.withGracePeriod(Duration.ofMillis(call.step().get("grace").asLong()));
  }
}
