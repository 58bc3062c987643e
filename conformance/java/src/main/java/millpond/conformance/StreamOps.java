package millpond.conformance;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** Streams without a join, and what is counted and folded of them without windows. */
final class StreamOps {
  static void addTo(Map<String, Call.Op> ops) {
    ops.put("builder.stream", call -> call.builder().stream(call.topics(), call.consumed()));
    ops.put("stream.filter", call -> call.stream().filter((k, v) -> call.with().test(v, k), call.named()));
    ops.put("stream.filterNot",
        call -> call.stream().filterNot((k, v) -> call.with().test(v, k), call.named()));
    ops.put("stream.mapValues",
        call -> call.stream().mapValues((k, v) -> call.with().apply(v, k), call.named()));
    ops.put("stream.flatMapValues",
        call -> call.stream().flatMapValues((k, v) -> call.with().list(v, k), call.named()));
    ops.put("stream.selectKey",
        call -> call.stream().selectKey((k, v) -> call.with().apply(v, k), call.named()));
    ops.put("stream.map", call -> call.stream().map(
        (k, v) -> KeyValue.pair(call.with(0).apply(v, k), call.with(1).apply(v, k)), call.named()));
    ops.put("stream.flatMap", call -> call.stream().flatMap((k, v) -> pairs(call, k, v), call.named()));
    ops.put("stream.peek", call -> call.stream().peek(call::tell, call.named()));
    ops.put("stream.forEach", call -> {
      call.stream().foreach(call::tell, call.named());
      return null;
    });
    ops.put("stream.merge",
        call -> call.stream().merge(call.<KStream<Object, Object>>input(1), call.named()));
    ops.put("stream.groupBy",
        call -> call.stream().groupBy((k, v) -> call.with().apply(v, k), grouped(call)));
    ops.put("stream.groupByKey", call -> {
      boolean isBare = !call.has("key") && !call.has("value") && !call.has("name");
      return isBare ? call.stream().groupByKey() : call.stream().groupByKey(grouped(call));
    });
    ops.put("stream.toTable", call -> {
      if (call.has("store")) return call.stream().toTable(call.named(), call.store());
      if (!call.has("key") && !call.has("value")) return call.stream().toTable(call.named());
      return call.stream().toTable(
          call.named(), Materialized.with(call.serdeOrNull("key"), call.serdeOrNull("value")));
    });
    ops.put("stream.to", call -> {
      call.stream().to(call.topics().get(0),
          Produced.with(call.serde("key"), call.serde("value")).withName(call.name()));
      return null;
    });

    ops.put("grouped.count", call -> call.has("store")
        ? group(call).count(call.named(), call.store())
        : group(call).count(call.named()));
    ops.put("grouped.reduce", call -> {
      Library.Fold reducer = call.fold(0);
      return group(call).reduce((a, v) -> reducer.apply(a, v, null), call.named(), store(call));
    });
    ops.put("grouped.aggregate", call -> {
      Library.Function initializer = call.with(0);
      Library.Fold aggregator = call.fold(1);
      return group(call).aggregate(() -> initializer.apply(null, null),
          (k, v, a) -> aggregator.apply(a, v, k), call.named(), store(call));
    });
  }

  private static KGroupedStream<Object, Object> group(Call call) {
    return call.input(0);
  }

  static Grouped<Object, Object> grouped(Call call) {
    return Grouped.with(call.name(), call.serdeOrNull("key"), call.serdeOrNull("value"));
  }

  /** An unnamed store may state the serde of its values, except that of a count. */
  private static Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> store(Call call) {
    return call.has("store") ? call.store() : Materialized.with(null, call.serdeOrNull("value"));
  }

  private static List<KeyValue<Object, Object>> pairs(Call call, Object key, Object value) {
    List<KeyValue<Object, Object>> pairs = new ArrayList<>();
    for (Object item : call.with(0).list(value, key)) {
      pairs.add(KeyValue.pair(call.with(1).apply(item, key), call.with(2).apply(item, key)));
    }
    return pairs;
  }
}
