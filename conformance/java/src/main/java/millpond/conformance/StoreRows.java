package millpond.conformance;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.TimestampedKeyValueStoreWithHeaders;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.RocksDBStore;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The rows of a store in its own order, as readers see them through its cache:
 *
 * <pre>
 * key-value   key, value, timestamp             without timestamp where the store has none
 * window      key, value, timestamp, start, end
 * session     key, value, start, end
 * versioned   segment and key, row              as they lie on disk
 * </pre>
 */
final class StoreRows {
  /** Stores of one side of a join of streams. */
  private static final String STREAM_OF_JOIN =
      "KSTREAM-(JOIN|OUTER)(THIS|OTHER)-[0-9]{10}-store|.*-(this|other)-join-store";

  private StoreRows() {}

  static void write(StateStore store, ArrayNode rows) {
    if (store instanceof VersionedKeyValueStore) writeVersions(store, rows);
    else if (store instanceof WindowStore) writeWindows(store, rows);
    else if (store instanceof SessionStore) writeSessions(store, rows);
    // Nothing is shown of what a suppression holds.
    else if (store instanceof WrappedStateStore) writeKeyValues(store, rows);
  }

  private static StateStore below(StateStore store) {
    return ((WrappedStateStore<?, ?, ?>) store).wrapped();
  }

  @SuppressWarnings("unchecked")
  private static void writeKeyValues(StateStore store, ArrayNode rows) {
    boolean isTimestamped = store instanceof TimestampedKeyValueStore
        || store instanceof TimestampedKeyValueStoreWithHeaders;
    Format format = Format.of(store, isTimestamped);
    var bytes = (KeyValueStore<Bytes, byte[]>) below(store);
    try (KeyValueIterator<Bytes, byte[]> all = bytes.all()) {
      while (all.hasNext()) {
        KeyValue<Bytes, byte[]> entry = all.next();
        ArrayNode row = rows.addArray().add(Formats.hex(entry.key.get()));
        format.write(entry.value, row);
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static void writeWindows(StateStore store, ArrayNode rows) {
    Format format = store.name().matches(STREAM_OF_JOIN)
        ? Format.WITHOUT_ITS_TIME
        : Format.of(store, store instanceof TimestampedWindowStore);
    var bytes = (WindowStore<Bytes, byte[]>) below(store);
    try (KeyValueIterator<Windowed<Bytes>, byte[]> all = bytes.all()) {
      while (all.hasNext()) {
        KeyValue<Windowed<Bytes>, byte[]> entry = all.next();
        ArrayNode row = rows.addArray().add(Formats.hex(entry.key.key().get()));
        format.write(entry.value, row);
        row.add(entry.key.window().start()).add(entry.key.window().end());
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static void writeSessions(StateStore store, ArrayNode rows) {
    Format format = Format.of(store, false);
    var bytes = (SessionStore<Bytes, byte[]>) below(store);
    try (KeyValueIterator<Windowed<Bytes>, byte[]> all = bytes.fetch(null, null)) {
      while (all.hasNext()) {
        KeyValue<Windowed<Bytes>, byte[]> entry = all.next();
        ArrayNode row = rows.addArray().add(Formats.hex(entry.key.key().get()));
        format.write(entry.value, row);
        row.add(entry.key.window().start()).add(entry.key.window().end());
      }
    }
  }

  /** All segments and the latest versions lie in one RocksDB. */
  @SuppressWarnings("unchecked")
  private static void writeVersions(StateStore store, ArrayNode rows) {
    try {
      Object inner = store;
      while (!inner.getClass().getSimpleName().equals("RocksDBVersionedStore")) {
        inner = inner instanceof WrappedStateStore<?, ?, ?> wrapped
            ? wrapped.wrapped()
            : field(inner.getClass(), "inner").get(inner);
      }
      Object segments = field(inner.getClass(), "segmentStores").get(inner);
      Object physical = field(segments.getClass(), "physicalStore").get(segments);
      // Iterators of a store below segments belong to who asks for them.
      Method all = RocksDBStore.class.getDeclaredMethod("all", Set.class);
      all.setAccessible(true);
      try (var entries = (KeyValueIterator<Bytes, byte[]>) all.invoke(physical, new HashSet<>())) {
        while (entries.hasNext()) {
          KeyValue<Bytes, byte[]> entry = entries.next();
          rows.addArray().add(Formats.hex(entry.key.get())).add(Formats.hex(entry.value));
        }
      }
    } catch (ReflectiveOperationException changed) {
      throw new IllegalStateException(changed);
    }
  }

  private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** How the bytes of a value begin. */
  private enum Format {
    PLAIN,
    /** The timestamp, then the value. */
    TIMESTAMP,
    /** The bytes of the headers as a varint, the headers, the timestamp, then the value. */
    HEADERS_AND_TIMESTAMP,
    /** The bytes of the headers as a varint, the headers, then the value. */
    HEADERS,
    /** Headers and a timestamp stand there for Kafka Streams alone: the store keeps neither. */
    WITHOUT_ITS_TIME;

    static Format of(StateStore store, boolean isTimestamped) {
      boolean hasHeaders = store.getClass().getSimpleName().endsWith("WithHeaders");
      if (isTimestamped) return hasHeaders ? HEADERS_AND_TIMESTAMP : TIMESTAMP;
      return hasHeaders ? HEADERS : PLAIN;
    }

    /** The value, and its timestamp unless it has none. */
    void write(byte[] bytes, ArrayNode row) {
      ByteBuffer rest = ByteBuffer.wrap(bytes);
      if (this == HEADERS || this == HEADERS_AND_TIMESTAMP || this == WITHOUT_ITS_TIME) {
        int headerBytes = varint(rest);
        rest.position(rest.position() + headerBytes);
      }
      if (this == WITHOUT_ITS_TIME) rest.position(rest.position() + Long.BYTES);
      boolean isTimestamped = this == TIMESTAMP || this == HEADERS_AND_TIMESTAMP;
      long timestamp = isTimestamped ? rest.getLong() : -1;
      row.add(Formats.hex(Arrays.copyOfRange(bytes, rest.position(), bytes.length)));
      if (timestamp != -1) row.add(timestamp);
    }

    private static int varint(ByteBuffer bytes) {
      int zigzag = 0;
      for (int shift = 0; ; shift += 7) {
        byte next = bytes.get();
        zigzag |= (next & 0x7f) << shift;
        if (next >= 0) return (zigzag >>> 1) ^ -(zigzag & 1);
      }
    }
  }
}
