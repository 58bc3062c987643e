package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Merger;
import org.apache.kafka.streams.kstream.Reducer;
import org.apache.kafka.streams.kstream.SessionWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.UnlimitedWindows;
import org.apache.kafka.streams.kstream.Windows;
import org.apache.kafka.streams.kstream.internals.TimeWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Aggregations in windows, cogroups, and suppression. */
final class WindowOps {
  static void addTo(Map<String, Call.Op> ops) {
    ops.put("grouped.windowedBy", call -> {
      KGroupedStream<Object, Object> grouped = call.input(0);
      JsonNode windows = call.step().path("into");
      return switch (windows.path("kind").asText()) {
        case "session" -> grouped.windowedBy(sessionWindows(windows));
        case "sliding" -> grouped.windowedBy(slidingWindows(windows));
        default -> grouped.windowedBy(timeBasedWindows(windows));
      };
    });
    ops.put("windowed.emitStrategy", call -> windowed(call).emitStrategy(strategy(call)));
    ops.put("windowed.count", WindowOps::count);
    ops.put("windowed.reduce", call -> windowed(call).reduce(reducer(call), call.named(), store(call)));
    ops.put("windowed.aggregate", call ->
        windowed(call).aggregate(initializer(call), aggregator(call, 1), call.named(), store(call)));
    ops.put("sessionWindowed.emitStrategy", call -> sessions(call).emitStrategy(strategy(call)));
    ops.put("sessionWindowed.count", WindowOps::countSessions);
    ops.put("sessionWindowed.reduce",
        call -> sessions(call).reduce(reducer(call), call.named(), store(call)));
    ops.put("sessionWindowed.aggregate", call -> sessions(call).aggregate(
        initializer(call), aggregator(call, 1), merger(call, 2), call.named(), store(call)));
    addCogroupsTo(ops);
    ops.put("table.suppress", call -> call.table().suppress(suppressed(call)));
  }

  private static void addCogroupsTo(Map<String, Call.Op> ops) {
    ops.put("grouped.cogroup", call ->
        call.<KGroupedStream<Object, Object>>input(0).cogroup(aggregator(call, 0)));
    ops.put("cogrouped.cogroup", call ->
        cogrouped(call).cogroup(call.<KGroupedStream<Object, Object>>input(1), aggregator(call, 0)));
    ops.put("cogrouped.aggregate", call -> cogrouped(call).aggregate(initializer(call), call.named(),
        WindowOps.<KeyValueStore<Bytes, byte[]>>store(call)));
    ops.put("cogrouped.windowedBy", call -> {
      JsonNode windows = call.step().path("into");
      return switch (windows.path("kind").asText()) {
        case "session" -> cogrouped(call).windowedBy(sessionWindows(windows));
        case "sliding" -> cogrouped(call).windowedBy(slidingWindows(windows));
        default -> cogrouped(call).windowedBy(timeBasedWindows(windows));
      };
    });
    ops.put("windowedCogrouped.aggregate", call ->
        call.<TimeWindowedCogroupedKStream<Object, Object>>input(0).aggregate(
            initializer(call), call.named(), WindowOps.<WindowStore<Bytes, byte[]>>store(call)));
    ops.put("sessionWindowedCogrouped.aggregate", call ->
        call.<SessionWindowedCogroupedKStream<Object, Object>>input(0).aggregate(
            initializer(call), merger(call, 1), call.named(),
            WindowOps.<SessionStore<Bytes, byte[]>>store(call)));
  }

  private static Object count(Call call) {
    if (!isStored(call)) return windowed(call).count(call.named());
    Materialized<Object, Long, WindowStore<Bytes, byte[]>> store = stored(call);
    return windowed(call).count(call.named(), store);
  }

  private static Object countSessions(Call call) {
    if (!isStored(call)) return sessions(call).count(call.named());
    Materialized<Object, Long, SessionStore<Bytes, byte[]>> store = stored(call);
    return sessions(call).count(call.named(), store);
  }

  private static TimeWindowedKStream<Object, Object> windowed(Call call) {
    return call.input(0);
  }

  private static SessionWindowedKStream<Object, Object> sessions(Call call) {
    return call.input(0);
  }

  private static CogroupedKStream<Object, Object> cogrouped(Call call) {
    return call.input(0);
  }

  private static Reducer<Object> reducer(Call call) {
    Library.Fold reducer = call.fold(0);
    return (a, v) -> reducer.apply(a, v, null);
  }

  private static Initializer<Object> initializer(Call call) {
    Library.Function initializer = call.with(0);
    return () -> initializer.apply(null, null);
  }

  private static Aggregator<Object, Object, Object> aggregator(Call call, int index) {
    Library.Fold aggregator = call.fold(index);
    return (k, v, a) -> aggregator.apply(a, v, k);
  }

  private static Merger<Object, Object> merger(Call call, int index) {
    Library.Fold merger = call.fold(index);
    return (k, one, two) -> merger.apply(one, two, k);
  }

  private static EmitStrategy strategy(Call call) {
    return call.step().path("strategy").asText().equals("on-window-close")
        ? EmitStrategy.onWindowClose()
        : EmitStrategy.onWindowUpdate();
  }

  /** Something is said of the store. */
  private static boolean isStored(Call call) {
    return call.has("store") || call.has("retention");
  }

  /** An unnamed store may state the serde of its values. */
  private static <S extends StateStore> Materialized<Object, Object, S> store(Call call) {
    if (isStored(call)) return stored(call);
    return Materialized.with(call.serdeOrNull("key"), call.serdeOrNull("value"));
  }

  private static <V, S extends StateStore> Materialized<Object, V, S> stored(Call call) {
    @SuppressWarnings("unchecked")
    var value = (org.apache.kafka.common.serialization.Serde<V>)
        (org.apache.kafka.common.serialization.Serde<?>) call.serdeOrNull("value");
    Materialized<Object, V, S> store =
        call.has("store") ? call.storeAs() : Materialized.with(call.serdeOrNull("key"), value);
    JsonNode stated = call.step().path("store").path("retention");
    JsonNode retention = stated.isMissingNode() ? call.step().path("retention") : stated;
    return retention.isMissingNode() ? store : store.withRetention(duration(retention));
  }

  private static Duration duration(JsonNode milliseconds) {
    return Duration.ofMillis(milliseconds.asLong());
  }

  private static Duration duration(JsonNode windows, String field) {
    return duration(windows.path(field));
  }

  private static SessionWindows sessionWindows(JsonNode windows) {
    return SessionWindows.ofInactivityGapAndGrace(duration(windows, "gap"), duration(windows, "grace"));
  }

  private static SlidingWindows slidingWindows(JsonNode windows) {
    return SlidingWindows.ofTimeDifferenceAndGrace(
        duration(windows, "timeDifference"), duration(windows, "grace"));
  }

  private static Windows<?> timeBasedWindows(JsonNode windows) {
    switch (windows.path("kind").asText()) {
      case "time":
        TimeWindows time =
            TimeWindows.ofSizeAndGrace(duration(windows, "size"), duration(windows, "grace"));
        return windows.has("advance") ? time.advanceBy(duration(windows, "advance")) : time;
      case "unlimited":
        return UnlimitedWindows.of().startOn(Instant.ofEpochMilli(windows.path("start").asLong()));
      case "custom":
        return new ShiftedWindows(
            windows.path("size").asLong(), windows.path("grace").asLong(), windows.path("offset").asLong());
      default: throw new InvalidCase("there are no windows " + windows);
    }
  }

  /** Custom windows: tumbling ones that begin at an offset; before it there are none. */
  private static final class ShiftedWindows extends Windows<TimeWindow> {
    private final long size;
    private final long grace;
    private final long offset;

    ShiftedWindows(long size, long grace, long offset) {
      this.size = size;
      this.grace = grace;
      this.offset = offset;
    }

    @Override public Map<Long, TimeWindow> windowsFor(long timestamp) {
      Map<Long, TimeWindow> windows = new LinkedHashMap<>();
      if (timestamp < offset) return windows;
      long start = (timestamp - offset) / size * size + offset;
      windows.put(start, new TimeWindow(start, start + size));
      return windows;
    }

    @Override public long size() {
      return size;
    }

    @Override public long gracePeriodMs() {
      return grace;
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Suppressed<Object> suppressed(Call call) {
    JsonNode until = call.step().path("until");
    JsonNode limits = call.step().path("buffer");
    Suppressed suppressed = until.isTextual()
        ? Suppressed.untilWindowCloses((Suppressed.StrictBufferConfig) buffer(call, limits))
        : Suppressed.untilTimeLimit(duration(until), buffer(call, limits));
    return call.has("name") ? suppressed.withName(call.name()) : suppressed;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Suppressed.BufferConfig buffer(Call call, JsonNode limits) {
    Suppressed.BufferConfig buffer = Suppressed.BufferConfig.unbounded();
    if (!limits.isTextual()) {
      buffer = Suppressed.BufferConfig.maxRecords(limits.path("maxRecords").asLong(Long.MAX_VALUE))
          .withMaxBytes(limits.path("maxBytes").asLong(Long.MAX_VALUE));
      boolean isEager = limits.path("onFull").asText().equals("emit-early");
      buffer = isEager ? buffer.emitEarlyWhenFull() : buffer.shutDownWhenFull();
    }
    JsonNode changelog = call.step().path("changelog");
    if (changelog.isObject()) return buffer.withLoggingEnabled(Call.configs(changelog));
    return changelog.asBoolean(true) ? buffer : buffer.withLoggingDisabled();
  }
}
