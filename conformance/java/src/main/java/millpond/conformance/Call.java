package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.internals.NamedInternal;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** One step of a case, with what an op asks of it. */
record Call(JsonNode step, StreamsBuilder builder, IntFunction<Object> inputs, PeekListener peeked) {
  /** Hears of records that pass a peek or forEach: the step's id, and key and value as text. */
  interface PeekListener {
    void accept(String step, String key, String value);
  }

  /** What an op does; it returns what the method of Kafka Streams gives, or null. */
  interface Op {
    Object apply(Call call);
  }

  /** What the n-th step in `from` gave; without `from`, the step before. */
  @SuppressWarnings("unchecked")
  <T> T input(int index) {
    Object input = inputs.apply(index);
    if (input == null) throw new InvalidCase("another input is needed: " + step);
    return (T) input;
  }

  KStream<Object, Object> stream() {
    return input(0);
  }

  KTable<Object, Object> table() {
    return input(0);
  }

  boolean has(String field) {
    return step.has(field);
  }

  String name() {
    return nameOf(step);
  }

  static String nameOf(JsonNode step) {
    return step.has("name") ? step.get("name").asText() : null;
  }

  Named named() {
    // What the methods without a Named pass on themselves.
    return has("name") ? Named.as(name()) : NamedInternal.empty();
  }

  /** The serde that a field names; null when it is missing. */
  Serde<Object> serdeOrNull(String field) {
    return Formats.serde(step.get(field));
  }

  /** The serde that a field names; `string` when it is missing. */
  Serde<Object> serde(String field) {
    return Formats.serde(step, field);
  }

  Library.Function with() {
    return with(0);
  }

  /** The n-th function in `with`. */
  Library.Function with(int index) {
    return Library.function(spec(index));
  }

  Library.Fold fold(int index) {
    return Library.fold(spec(index));
  }

  Library.Joiner joiner(int index) {
    return Library.joiner(spec(index));
  }

  private String spec(int index) {
    List<String> specs = texts(step.path("with"));
    if (index < specs.size()) return specs.get(index);
    throw new InvalidCase("another function is needed: " + step);
  }

  /** For peek and forEach. */
  void tell(Object key, Object value) {
    peeked.accept(step.path("id").asText(), Library.text(key), Library.text(value));
  }

  List<String> topics() {
    return topicsOf(step);
  }

  static List<String> topicsOf(JsonNode step) {
    return texts(step.path("topic"));
  }

  /** One text or a list of them; none when it is missing. */
  static List<String> texts(JsonNode given) {
    if (given.isTextual()) return List.of(given.asText());
    List<String> texts = new ArrayList<>();
    given.forEach(each -> texts.add(each.asText()));
    return texts;
  }

  Consumed<Object, Object> consumed() {
    Consumed<Object, Object> consumed = Consumed.with(serde("key"), serde("value"));
    if (has("timestamp")) consumed = consumed.withTimestampExtractor(extractor(step));
    return has("name") ? consumed.withName(name()) : consumed;
  }

  /** The number that the function gives; the record's own timestamp when it gives null. */
  static TimestampExtractor extractor(JsonNode step) {
    Library.Function function = Library.function(step.get("timestamp").asText());
    return (record, partitionTime) -> {
      Object time = function.apply(record.value(), record.key());
      return time == null ? record.timestamp() : ((Number) time).longValue();
    };
  }

  /**
   * `store`: a name, or an object with name, key, value, caching, changelog, persistent; of the kind
   * `versioned` with historyRetention.
   */
  <V> Materialized<Object, V, KeyValueStore<Bytes, byte[]>> store() {
    JsonNode store = step.get("store");
    if (!store.path("kind").asText().equals("versioned")) return storeAs();
    Duration history = Duration.ofMillis(store.path("historyRetention").asLong());
    String name = store.path("name").asText();
    return configured(store, Materialized.as(Stores.persistentVersionedKeyValueStore(name, history)));
  }

  /** As `store`, for a store of any kind. */
  <V, S extends StateStore> Materialized<Object, V, S> storeAs() {
    JsonNode store = step.get("store");
    if (store.isTextual()) return Materialized.as(store.asText());
    return configured(store, Materialized.as(store.path("name").asText()));
  }

  /** Serdes, caching, persistence and changelog as a store's object says. */
  static <V, S extends StateStore> Materialized<Object, V, S> configured(
      JsonNode store, Materialized<Object, V, S> materialized) {
    @SuppressWarnings("unchecked")
    Serde<V> value = (Serde<V>) (Serde<?>) Formats.serde(store, "value");
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
