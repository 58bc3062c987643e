package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.internals.NamedInternal;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;

/** Writes the program of a case with StreamsBuilder: one method call for each step. */
final class Program {
  private final StreamsBuilder builder = new StreamsBuilder();
  /** What each step gave, by id: a KStream, KTable or KGroupedStream. */
  private final Map<String, Object> steps = new HashMap<>();
  /** Hears of records that pass a peek or forEach: the step's id, and key and value as text. */
  private final PeekListener peeked;
  private Object previous;

  interface PeekListener {
    void accept(String step, String key, String value);
  }

  Program(PeekListener peeked) {
    this.peeked = peeked;
  }

  Topology build(JsonNode topology, Properties config) {
    for (JsonNode step : topology) {
      // Functions are looked up for each record: too late to say that there is none of that name.
      for (String spec : specs(step)) Library.check(spec);
      previous = add(step);
      if (step.has("id")) steps.put(step.get("id").asText(), previous);
    }
    return builder.build(config);
  }

  private Object add(JsonNode step) {
    String op = step.path("op").asText();
    return switch (op) {
      case "stream" -> builder.stream(topics(step), consumed(step));
      case "table" -> step.has("store")
          ? builder.table(topics(step).get(0), consumed(step), store(step))
          : builder.table(topics(step).get(0), consumed(step));
      case "filter", "filterNot", "mapValues" -> from(step, 0) instanceof KTable<?, ?>
          ? addToTable(op, step)
          : addToStream(op, step);
      case "toStream" -> table(step).toStream(named(step));
      case "count", "reduce", "aggregate" -> aggregate(op, step);
      default -> addToStream(op, step);
    };
  }

  private Object addToStream(String op, JsonNode step) {
    KStream<Object, Object> stream = stream(step, 0);
    Named named = named(step);
    switch (op) {
      case "filter": return stream.filter((k, v) -> with(step).test(v, k), named);
      case "filterNot": return stream.filterNot((k, v) -> with(step).test(v, k), named);
      case "mapValues": return stream.mapValues((k, v) -> with(step).apply(v, k), named);
      case "flatMapValues": return stream.flatMapValues((k, v) -> with(step).list(v, k), named);
      case "selectKey": return stream.selectKey((k, v) -> with(step).apply(v, k), named);
      case "map":
        return stream.map(
            (k, v) -> KeyValue.pair(with(step, 0).apply(v, k), with(step, 1).apply(v, k)), named);
      case "flatMap":
        return stream.flatMap((k, v) -> {
          List<KeyValue<Object, Object>> pairs = new ArrayList<>();
          for (Object item : with(step, 0).list(v, k)) {
            pairs.add(KeyValue.pair(with(step, 1).apply(item, k), with(step, 2).apply(item, k)));
          }
          return pairs;
        }, named);
      case "peek": return stream.peek((k, v) -> tell(step, k, v), named);
      case "forEach":
        stream.foreach((k, v) -> tell(step, k, v), named);
        return null;
      case "merge": return stream.merge(stream(step, 1), named);
      case "groupBy": return stream.groupBy((k, v) -> with(step).apply(v, k), grouped(step));
      case "groupByKey":
        boolean isBare = !step.has("key") && !step.has("value") && !step.has("name");
        return isBare ? stream.groupByKey() : stream.groupByKey(grouped(step));
      case "toTable":
        if (step.has("store")) return stream.toTable(named, store(step));
        if (!step.has("key") && !step.has("value")) return stream.toTable(named);
        return stream.toTable(named,
            Materialized.with(Formats.serde(step.get("key")), Formats.serde(step.get("value"))));
      case "to":
        stream.to(topics(step).get(0),
            Produced.with(Formats.serde(step, "key"), Formats.serde(step, "value")).withName(name(step)));
        return null;
      default: throw new InvalidCase("there is no op " + op);
    }
  }

  private Object addToTable(String op, JsonNode step) {
    KTable<Object, Object> table = table(step);
    Named named = named(step);
    boolean isKept = step.has("store");
    return switch (op) {
      case "filter" -> isKept
          ? table.filter((k, v) -> with(step).test(v, k), named, store(step))
          : table.filter((k, v) -> with(step).test(v, k), named);
      case "filterNot" -> isKept
          ? table.filterNot((k, v) -> with(step).test(v, k), named, store(step))
          : table.filterNot((k, v) -> with(step).test(v, k), named);
      default -> isKept
          ? table.mapValues((k, v) -> with(step).apply(v, k), named, store(step))
          : table.mapValues((k, v) -> with(step).apply(v, k), named);
    };
  }

  @SuppressWarnings("unchecked")
  private Object aggregate(String op, JsonNode step) {
    if (!(from(step, 0) instanceof KGroupedStream<?, ?> given)) {
      throw new InvalidCase(op + " needs a grouped stream: " + step);
    }
    KGroupedStream<Object, Object> grouped = (KGroupedStream<Object, Object>) given;
    Named named = named(step);
    // An unnamed store may state the serde of its values, except that of a count.
    Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> store = step.has("store")
        ? store(step)
        : Materialized.with(null, Formats.serde(step.get("value")));
    return switch (op) {
      case "count" -> step.has("store") ? grouped.count(named, store(step)) : grouped.count(named);
      case "reduce" -> {
        Library.Fold reducer = Library.fold(spec(step, 0));
        yield grouped.reduce((a, v) -> reducer.apply(a, v, null), named, store);
      }
      default -> {
        Library.Function initializer = with(step, 0);
        Library.Fold aggregator = Library.fold(spec(step, 1));
        yield grouped.aggregate(
            () -> initializer.apply(null, null), (k, v, a) -> aggregator.apply(a, v, k), named, store);
      }
    };
  }

  private void tell(JsonNode step, Object key, Object value) {
    peeked.accept(step.path("id").asText(), Library.text(key), Library.text(value));
  }

  /** A step's n-th input: what `from` names (one id, or a list), or the step before. */
  private Object from(JsonNode step, int index) {
    JsonNode from = step.path("from");
    if (from.isMissingNode()) return previous;
    String id = (from.isArray() ? from.path(index) : from).asText();
    if (!steps.containsKey(id)) throw new InvalidCase("there is no step " + id);
    return steps.get(id);
  }

  @SuppressWarnings("unchecked")
  private KStream<Object, Object> stream(JsonNode step, int index) {
    if (from(step, index) instanceof KStream<?, ?> stream) return (KStream<Object, Object>) stream;
    throw new InvalidCase(step.path("op").asText() + " needs a stream: " + step);
  }

  @SuppressWarnings("unchecked")
  private KTable<Object, Object> table(JsonNode step) {
    if (from(step, 0) instanceof KTable<?, ?> table) return (KTable<Object, Object>) table;
    throw new InvalidCase(step.path("op").asText() + " needs a table: " + step);
  }

  private static Library.Function with(JsonNode step) {
    return with(step, 0);
  }

  private static Library.Function with(JsonNode step, int index) {
    return Library.function(spec(step, index));
  }

  private static String spec(JsonNode step, int index) {
    List<String> specs = specs(step);
    if (index < specs.size()) return specs.get(index);
    throw new InvalidCase(step.path("op").asText() + " needs another function: " + step);
  }

  private static List<String> specs(JsonNode step) {
    return texts(step.path("with"));
  }

  static String name(JsonNode step) {
    return step.has("name") ? step.get("name").asText() : null;
  }

  private static Named named(JsonNode step) {
    // What the methods without a Named pass on themselves.
    return step.has("name") ? Named.as(name(step)) : NamedInternal.empty();
  }

  static List<String> topics(JsonNode step) {
    return texts(step.path("topic"));
  }

  /** One text or a list of them; none when it is missing. */
  static List<String> texts(JsonNode given) {
    if (given.isTextual()) return List.of(given.asText());
    List<String> texts = new ArrayList<>();
    given.forEach(each -> texts.add(each.asText()));
    return texts;
  }

  private static Grouped<Object, Object> grouped(JsonNode step) {
    return Grouped.with(name(step), Formats.serde(step.get("key")), Formats.serde(step.get("value")));
  }

  private static Consumed<Object, Object> consumed(JsonNode step) {
    Consumed<Object, Object> consumed =
        Consumed.with(Formats.serde(step, "key"), Formats.serde(step, "value"));
    if (step.has("timestamp")) consumed = consumed.withTimestampExtractor(extractor(step));
    return step.has("name") ? consumed.withName(name(step)) : consumed;
  }

  /** The number that the function gives; the record's own timestamp when it gives null. */
  private static TimestampExtractor extractor(JsonNode step) {
    Library.Function function = Library.function(step.get("timestamp").asText());
    return (record, partitionTime) -> {
      Object time = function.apply(record.value(), record.key());
      return time == null ? record.timestamp() : ((Number) time).longValue();
    };
  }

  /** `store`: a name, or an object with name, key, value, caching, changelog, persistent. */
  private static <V> Materialized<Object, V, KeyValueStore<Bytes, byte[]>> store(JsonNode step) {
    JsonNode store = step.get("store");
    if (store.isTextual()) return Materialized.as(store.asText());
    Materialized<Object, V, KeyValueStore<Bytes, byte[]>> materialized =
        Materialized.as(store.path("name").asText());
    @SuppressWarnings("unchecked")
    var value = (org.apache.kafka.common.serialization.Serde<V>) Formats.serde(store, "value");
    materialized.withKeySerde(Formats.serde(store, "key")).withValueSerde(value);
    if (!store.path("caching").asBoolean(true)) materialized.withCachingDisabled();
    if (!store.path("persistent").asBoolean(true)) {
      materialized.withStoreType(BuiltInDslStoreSuppliers.IN_MEMORY);
    }
    JsonNode changelog = store.path("changelog");
    if (changelog.isObject()) materialized.withLoggingEnabled(configs(changelog));
    else if (!changelog.asBoolean(true)) materialized.withLoggingDisabled();
    return materialized;
  }

  static Map<String, String> configs(JsonNode object) {
    Map<String, String> configs = new HashMap<>();
    object.fields().forEachRemaining(field -> configs.put(field.getKey(), field.getValue().asText()));
    return configs;
  }
}
