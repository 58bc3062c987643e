package millpond.conformance;

import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Tables, and what is counted and folded of them in groups. */
final class TableOps {
  static void addTo(Map<String, Call.Op> ops) {
    ops.put("builder.table", call -> call.has("store")
        ? call.builder().table(call.topics().get(0), call.consumed(), call.store())
        : call.builder().table(call.topics().get(0), call.consumed()));
    ops.put("table.filter", call -> call.has("store")
        ? call.table().filter((k, v) -> call.with().test(v, k), call.named(), call.store())
        : call.table().filter((k, v) -> call.with().test(v, k), call.named()));
    ops.put("table.filterNot", call -> call.has("store")
        ? call.table().filterNot((k, v) -> call.with().test(v, k), call.named(), call.store())
        : call.table().filterNot((k, v) -> call.with().test(v, k), call.named()));
    ops.put("table.mapValues", call -> call.has("store")
        ? call.table().mapValues((k, v) -> call.with().apply(v, k), call.named(), call.store())
        : call.table().mapValues((k, v) -> call.with().apply(v, k), call.named()));
    ops.put("table.toStream", call -> call.has("with")
        ? call.table().toStream((k, v) -> call.with().apply(v, k), call.named())
        : call.table().toStream(call.named()));
    ops.put("table.groupBy", TableOps::groupBy);
    ops.put("table.transformValues", TableOps::transformValues);
    ops.put("table.join", call -> call.has("store")
        ? call.table().join(other(call), joiner(call), call.named(), call.store())
        : call.table().join(other(call), joiner(call), call.named()));
    ops.put("table.leftJoin", call -> call.has("store")
        ? call.table().leftJoin(other(call), joiner(call), call.named(), call.store())
        : call.table().leftJoin(other(call), joiner(call), call.named()));
    ops.put("table.outerJoin", call -> call.has("store")
        ? call.table().outerJoin(other(call), joiner(call), call.named(), call.store())
        : call.table().outerJoin(other(call), joiner(call), call.named()));
    ops.put("table.foreignKeyJoin", call -> call.table()
        .join(other(call), foreignKey(call), joiner(call), joinedAs(call), resultOf(call)));
    ops.put("table.foreignKeyLeftJoin", call -> call.table()
        .leftJoin(other(call), foreignKey(call), joiner(call), joinedAs(call), resultOf(call)));
    ops.put("groupedTable.count", call -> call.has("store")
        ? grouped(call).count(call.named(), call.store())
        : grouped(call).count(call.named()));
    ops.put("groupedTable.reduce", TableOps::reduce);
    ops.put("groupedTable.aggregate", TableOps::aggregate);
  }

  /** The stores that it has for itself are added for it. */
  private static Object transformValues(Call call) {
    String transformer = call.step().path("transformer").asText();
    Transformers.check(transformer);
    List<String> stores = Call.texts(call.step().path("stores"));
    for (String store : stores) {
      call.builder().addStateStore(Stores.keyValueStoreBuilder(
          Stores.inMemoryKeyValueStore(store), Serdes.String(), Serdes.Long()));
    }
    String[] names = stores.toArray(new String[0]);
    return call.has("store")
        ? call.table().transformValues(
            () -> new Transformers(transformer, stores), call.store(), call.named(), names)
        : call.table().transformValues(() -> new Transformers(transformer, stores), call.named(), names);
  }

  private static KTable<Object, Object> other(Call call) {
    return call.input(1);
  }

  /** Kafka Streams does not tell it the key. */
  private static ValueJoiner<Object, Object, Object> joiner(Call call) {
    Library.Joiner joiner = call.joiner(0);
    return (left, right) -> joiner.apply(left, right, null);
  }

  private static BiFunction<Object, Object, Object> foreignKey(Call call) {
    Library.Function foreignKey = call.with(1);
    return (key, value) -> foreignKey.apply(value, key);
  }

  private static TableJoined<Object, Object> joinedAs(Call call) {
    return call.has("name") ? TableJoined.as(call.name()) : TableJoined.with(null, null);
  }

  private static Object groupBy(Call call) {
    Library.Function toKey = call.with(0);
    Library.Function toValue = call.with(1);
    Serde<Object> key = call.serdeOrNull("key");
    Serde<Object> value = call.serdeOrNull("value");
    Grouped<Object, Object> grouped =
        call.has("name") ? Grouped.with(call.name(), key, value) : Grouped.with(key, value);
    return call.table().groupBy((k, v) -> KeyValue.pair(toKey.apply(v, k), toValue.apply(v, k)), grouped);
  }

  private static Object reduce(Call call) {
    Library.Fold adder = call.fold(0);
    Library.Fold subtractor = call.fold(1);
    return grouped(call).reduce(
        (a, v) -> adder.apply(a, v, null), (a, v) -> subtractor.apply(a, v, null), call.named(), resultOf(call));
  }

  private static Object aggregate(Call call) {
    Library.Function initializer = call.with(0);
    Library.Fold adder = call.fold(1);
    Library.Fold subtractor = call.fold(2);
    return grouped(call).aggregate(
        () -> initializer.apply(null, null),
        (k, v, a) -> adder.apply(a, v, k),
        (k, v, a) -> subtractor.apply(a, v, k),
        call.named(),
        resultOf(call));
  }

  /** An unnamed store may state the serde of its values. */
  private static Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> resultOf(Call call) {
    return call.has("store") ? call.store() : Materialized.with(null, call.serdeOrNull("value"));
  }

  private static KGroupedTable<Object, Object> grouped(Call call) {
    return call.input(0);
  }
}
