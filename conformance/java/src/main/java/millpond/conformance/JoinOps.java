package millpond.conformance;

import java.util.Map;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KTable;

/** Joins of streams, with streams and with tables. */
final class JoinOps {
  static void addTo(Map<String, Call.Op> ops) {
    ops.put("stream.joinTable", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().join(other(call), (k, l, r) -> joiner.apply(l, r, k), joined(call));
    });
    ops.put("stream.leftJoinTable", call -> {
      Library.Joiner joiner = call.joiner(0);
      return call.stream().leftJoin(other(call), (k, l, r) -> joiner.apply(l, r, k), joined(call));
    });
  }

  private static KTable<Object, Object> other(Call call) {
    return call.input(1);
  }

  private static Joined<Object, Object, Object> joined(Call call) {
    return Joined.with(call.serdeOrNull("key"), call.serdeOrNull("value"), null, call.name());
  }
}
