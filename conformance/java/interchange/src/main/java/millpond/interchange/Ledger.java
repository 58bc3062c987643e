package millpond.interchange;

import java.time.Duration;
import java.util.Set;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.WindowStore;

/** The processor of the market: tells what its stores say of each bid, and writes the bid to all of them. */
final class Ledger implements ProcessorSupplier<String, String, String, String> {
  private static final Serde<String> TEXT = Serdes.String();
  private static final Duration LATE = Duration.ofHours(1);
  private static final long SECOND = 1_000;
  private static final Duration TEN_SECONDS = Duration.ofSeconds(10);

  @Override
  public Set<StoreBuilder<?>> stores() {
    return Set.of(
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("last"), TEXT, TEXT),
        Stores.timestampedKeyValueStoreBuilder(Market.inMemory("best"), TEXT, TEXT),
        Stores.windowStoreBuilder(
            Stores.persistentWindowStore("each", LATE, TEN_SECONDS, true), TEXT, TEXT),
        Stores.timestampedWindowStoreBuilder(
            Stores.inMemoryWindowStore("hourly", LATE, TEN_SECONDS, false), TEXT, TEXT),
        Stores.sessionStoreBuilder(Stores.persistentSessionStore("spans", LATE), TEXT, TEXT),
        Stores.versionedKeyValueStoreBuilder(Market.versioned("history"), TEXT, TEXT));
  }

  @Override
  public Processor<String, String, String, String> get() {
    return new ContextualProcessor<>() {
      private KeyValueStore<String, String> last;
      private TimestampedKeyValueStore<String, String> best;
      private WindowStore<String, String> each;
      private TimestampedWindowStore<String, String> hourly;
      private SessionStore<String, String> spans;
      private VersionedKeyValueStore<String, String> history;

      @Override
      public void init(ProcessorContext<String, String> context) {
        super.init(context);
        last = context.getStateStore("last");
        best = context.getStateStore("best");
        each = context.getStateStore("each");
        hourly = context.getStateStore("hourly");
        spans = context.getStateStore("spans");
        history = context.getStateStore("history");
      }

      @Override
      public void process(Record<String, String> record) {
        String who = record.key();
        String bid = record.value();
        long now = record.timestamp();
        long hour = now / (10 * SECOND) * 10 * SECOND;
        ValueAndTimestamp<String> hoursBest = hourly.fetch(who, hour);
        VersionedRecord<String> before = history.get(who, now - 4 * SECOND);
        ValueAndTimestamp<String> found = best.get(who);
        String told =
            String.join(
                "|",
                String.valueOf(last.get(who)),
                found == null ? "-" : found.value() + " since " + (now - found.timestamp()),
                String.valueOf(count(each.fetch(who, now - 5 * SECOND, now))),
                hoursBest == null ? "-" : hoursBest.value(),
                String.valueOf(count(spans.findSessions(who, now - 3 * SECOND, now))),
                before == null ? "-" : before.value());
        write(who, bid, now, hour);
        context().forward(record.withValue(told));
      }

      private void write(String who, String bid, long now, long hour) {
        boolean isEnd = bid.endsWith(" x");
        each.put(who, bid, now);
        spans.put(new Windowed<>(who, new SessionWindow(now, now + SECOND)), bid);
        history.put(who, isEnd ? null : bid, now);
        if (isEnd) {
          last.delete(who);
          best.delete(who);
          hourly.put(who, null, hour);
          return;
        }
        last.put(who, bid);
        hourly.put(who, ValueAndTimestamp.make(bid, now), hour);
        ValueAndTimestamp<String> found = best.get(who);
        if (found == null || bid.compareTo(found.value()) > 0)
          best.put(who, ValueAndTimestamp.make(bid, now));
      }
    };
  }

  private static int count(KeyValueIterator<?, ?> rows) {
    try (rows) {
      int count = 0;
      for (; rows.hasNext(); rows.next()) count++;
      return count;
    }
  }
}
