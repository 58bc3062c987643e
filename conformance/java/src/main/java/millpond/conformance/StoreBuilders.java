package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/** The stores that programs state for their processors: `kind` is key-value unless it says another. */
final class StoreBuilders {
  private StoreBuilders() {}

  static StoreBuilder<?> of(JsonNode spec) {
    StoreBuilder<?> store = ofKind(spec);
    if (spec.path("caching").asBoolean(false)) store.withCachingEnabled();
    JsonNode changelog = spec.path("changelog");
    if (changelog.isObject()) store.withLoggingEnabled(Call.configs(changelog));
    else if (!changelog.asBoolean(true)) store.withLoggingDisabled();
    return store;
  }

  private static StoreBuilder<?> ofKind(JsonNode spec) {
    Serde<Object> key = Formats.serde(spec, "key");
    Serde<Object> value = Formats.serde(spec, "value");
    boolean isTimestamped = spec.path("timestamped").asBoolean(false);
    return switch (spec.path("kind").asText("key-value")) {
      case "key-value" -> isTimestamped
          ? Stores.timestampedKeyValueStoreBuilder(keyValue(spec, true), key, value)
          : Stores.keyValueStoreBuilder(keyValue(spec, false), key, value);
      case "window" -> isTimestamped
          ? Stores.timestampedWindowStoreBuilder(window(spec, true), key, value)
          : Stores.windowStoreBuilder(window(spec, false), key, value);
      case "session" -> Stores.sessionStoreBuilder(session(spec), key, value);
      case "versioned" -> Stores.versionedKeyValueStoreBuilder(versioned(spec), key, value);
      default -> throw new InvalidCase("there is no such kind of store: " + spec);
    };
  }

  private static KeyValueBytesStoreSupplier keyValue(JsonNode spec, boolean isTimestamped) {
    String name = Call.nameOf(spec);
    if (!isPersistent(spec)) return Stores.inMemoryKeyValueStore(name);
    return isTimestamped
        ? Stores.persistentTimestampedKeyValueStore(name)
        : Stores.persistentKeyValueStore(name);
  }

  private static WindowBytesStoreSupplier window(JsonNode spec, boolean isTimestamped) {
    String name = Call.nameOf(spec);
    Duration retention = duration(spec, "retention");
    Duration size = duration(spec, "windowSize");
    boolean retainDuplicates = spec.path("retainDuplicates").asBoolean(false);
    if (!isPersistent(spec)) return Stores.inMemoryWindowStore(name, retention, size, retainDuplicates);
    return isTimestamped
        ? Stores.persistentTimestampedWindowStore(name, retention, size, retainDuplicates)
        : Stores.persistentWindowStore(name, retention, size, retainDuplicates);
  }

  private static SessionBytesStoreSupplier session(JsonNode spec) {
    Duration retention = duration(spec, "retention");
    return isPersistent(spec)
        ? Stores.persistentSessionStore(Call.nameOf(spec), retention)
        : Stores.inMemorySessionStore(Call.nameOf(spec), retention);
  }

  private static VersionedBytesStoreSupplier versioned(JsonNode spec) {
    return Stores.persistentVersionedKeyValueStore(
        Call.nameOf(spec), duration(spec, "historyRetention"));
  }

  private static Duration duration(JsonNode spec, String field) {
    return Duration.ofMillis(spec.path(field).asLong());
  }

  private static boolean isPersistent(JsonNode spec) {
    return spec.path("persistent").asBoolean(true);
  }
}
