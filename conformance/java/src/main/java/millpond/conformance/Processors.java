package millpond.conformance;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.ProcessingContext;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * The processors that cases name, as `name` or `name:argument`. test/conformance/processors.ts has the
 * same ones. Each runs as a Processor and, as far as it leaves the key, as a FixedKeyProcessor.
 */
final class Processors {
  /** What a processor sees of a record, whichever kind of processor it is. */
  private record In(Object key, Object value, long timestamp, Headers headers) {
    String text() {
      return Library.text(value);
    }
  }

  /** Where its records go. */
  private interface Out {
    void forward(Object key, Object value, long timestamp, Headers headers, String child);
  }

  private abstract static class Step {
    ProcessingContext context;
    Out out;

    void begin() {}

    abstract void process(In in);

    /** With the time and headers of a record. */
    void forward(In in, Object value) {
      out.forward(in.key, value, in.timestamp, in.headers, null);
    }

    /** A record that follows from no other. */
    void forwardNew(Object key, Object value, long timestamp) {
      out.forward(key, value, timestamp, new RecordHeaders(), null);
    }

    void schedule(long interval, PunctuationType type, String kind) {
      context.schedule(Duration.ofMillis(interval), type, time -> tell(kind, time));
    }

    /** Forwards what a punctuation sees of the time. */
    void tell(String kind, long time) {
      forwardNew(kind, "at " + time + " stream time " + context.currentStreamTimeMs(), time);
    }

    String where() {
      // A punctuation has one without a topic.
      return context.recordMetadata()
          .filter(from -> from.topic() != null)
          .map(from -> from.topic() + "-" + from.partition())
          .orElse("nowhere");
    }
  }

  private Processors() {}

  /** Its key may change. */
  static Processor<Object, Object, Object, Object> processor(String spec, String[] stores) {
    Step step = step(spec, stores);
    return new Processor<>() {
      @Override public void init(ProcessorContext<Object, Object> context) {
        step.context = context;
        step.out = (key, value, timestamp, headers, child) -> {
          var record = new Record<>(key, value, timestamp, headers);
          if (child == null) context.forward(record);
          else context.forward(record, child);
        };
        step.begin();
      }

      @Override public void process(Record<Object, Object> record) {
        step.process(new In(record.key(), record.value(), record.timestamp(), record.headers()));
      }
    };
  }

  /** Its key stays: what it forwards is derived from the last record, and nothing comes before one. */
  static FixedKeyProcessor<Object, Object, Object> fixedKeyProcessor(String spec, String[] stores) {
    Step step = step(spec, stores);
    return new FixedKeyProcessor<>() {
      private FixedKeyRecord<Object, Object> last;

      @Override public void init(FixedKeyProcessorContext<Object, Object> context) {
        step.context = context;
        step.out = (key, value, timestamp, headers, child) -> {
          if (last == null) return;
          var record = last.withValue(value).withTimestamp(timestamp).withHeaders(headers);
          if (child == null) context.forward(record);
          else context.forward(record, child);
        };
        step.begin();
      }

      @Override public void process(FixedKeyRecord<Object, Object> record) {
        last = record;
        step.process(new In(record.key(), record.value(), record.timestamp(), record.headers()));
      }
    };
  }

  private static Step step(String spec, String[] stores) {
    String argument = Library.argument(spec);
    return switch (Library.name(spec)) {
      case "pass" -> new Step() {
        @Override void process(In in) {
          forward(in, in.value);
        }
      };
      case "append" -> new Step() {
        @Override void process(In in) {
          forward(in, in.text() + argument);
        }
      };
      case "rekey" -> new Step() {
        @Override void process(In in) {
          out.forward(in.value, in.key, in.timestamp, in.headers, null);
        }
      };
      case "twice" -> new Step() {
        @Override void process(In in) {
          forward(in, in.text() + " first");
          forward(in, null);
        }
      };
      case "shift" -> new Step() {
        @Override void process(In in) {
          long timestamp = in.timestamp + Long.parseLong(argument);
          out.forward(in.key, in.value, timestamp, in.headers, null);
        }
      };
      case "header" -> new Step() {
        @Override void process(In in) {
          Headers headers = new RecordHeaders(in.headers);
          headers.add(argument, in.value == null ? null : Formats.utf8(in.text()));
          out.forward(in.key, in.value, in.timestamp, headers, null);
        }
      };
      case "no-headers" -> new Step() {
        @Override void process(In in) {
          forwardNew(in.key, in.value, in.timestamp);
        }
      };
      case "child" -> new Step() {
        @Override void process(In in) {
          out.forward(in.key, in.value, in.timestamp, in.headers, in.text());
        }
      };
      case "where" -> new Step() {
        @Override void process(In in) {
          forward(in, where() + " task " + context.taskId() + " of " + context.applicationId());
        }
      };
      case "commit" -> new Step() {
        @Override void process(In in) {
          context.commit();
          forward(in, in.value);
        }
      };
      case "fail-on" -> new FailOn(Library.failing(argument), step(Library.inner(argument), stores));
      case "fail-at" -> new FailAt(numbers(argument));
      case "put" -> new Put(stores);
      case "look-up" -> new LookUp(argument);
      case "remember" -> new Remember(stores);
      case "index-words" -> new IndexWords(stores);
      case "tally" -> new Tally(stores);
      case "command" -> new Step() {
        @Override void process(In in) {
          for (String name : stores) {
            StateStore store = context.getStateStore(name);
            forward(in, StoreCommands.run(store, in.key, in.text(), in.timestamp));
          }
        }
      };
      case "scan" -> new Scan(stores, argument.split(","));
      case "empty-at" -> new EmptyAt(stores, Long.parseLong(argument));
      case "punctuate" -> new Punctuate(numbers(argument));
      case "punctuate-from" -> new PunctuateFrom(numbers(argument));
      case "punctuate-twice" -> new PunctuateTwice(Long.parseLong(argument));
      default -> throw new InvalidCase("there is no processor " + spec);
    };
  }

  private static long[] numbers(String argument) {
    return List.of(argument.split(",")).stream().mapToLong(Long::parseLong).toArray();
  }

  /** Does as another one, and then fails when the value is that text. */
  private static final class FailOn extends Step {
    private final String text;
    private final Step step;

    FailOn(String text, Step step) {
      this.text = text;
      this.step = step;
    }

    @Override void begin() {
      step.context = context;
      step.out = out;
      step.begin();
    }

    @Override void process(In in) {
      step.process(in);
      Library.failOn(text, in.value);
    }
  }

  /** Its punctuations of both kinds forward, and then fail. */
  private static final class FailAt extends Step {
    private final long[] intervals;

    FailAt(long[] intervals) {
      this.intervals = intervals;
    }

    @Override void begin() {
      context.schedule(
          Duration.ofMillis(intervals[0]), PunctuationType.STREAM_TIME, time -> fail("stream", time));
      context.schedule(
          Duration.ofMillis(intervals[1]), PunctuationType.WALL_CLOCK_TIME, time -> fail("wall", time));
    }

    private void fail(String kind, long time) {
      tell(kind, time);
      throw new IllegalStateException("failed at " + time);
    }

    @Override void process(In in) {
      forward(in, in.value);
    }
  }

  /** Puts each record into its stores, without looking at it. */
  private static final class Put extends Step {
    private final String[] stores;

    Put(String[] stores) {
      this.stores = stores;
    }

    @Override void process(In in) {
      for (String name : stores) {
        StateStore store = context.getStateStore(name);
        if (store instanceof TimestampedKeyValueStore<?, ?>) {
          timestamped(store).put(in.key, ValueAndTimestamp.make(in.value, in.timestamp));
        } else {
          plain(store).put(in.key, in.value);
        }
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static KeyValueStore<Object, Object> plain(StateStore store) {
    return (KeyValueStore<Object, Object>) store;
  }

  @SuppressWarnings("unchecked")
  private static TimestampedKeyValueStore<Object, Object> timestamped(StateStore store) {
    return (TimestampedKeyValueStore<Object, Object>) store;
  }

  /**
   * Keeps the last value of each key in all its stores, and forwards what the stores had before. Records
   * without a key are not forwarded.
   */
  private static final class Remember extends Step {
    private final String[] stores;

    Remember(String[] stores) {
      this.stores = stores;
    }

    @Override void process(In in) {
      if (in.key == null) return;
      for (String name : stores) {
        KeyValueStore<Object, Object> store = context.getStateStore(name);
        Object before = store.get(in.key);
        store.put(in.key, in.value);
        forward(in, name + " had " + Library.text(before));
      }
    }
  }

  /**
   * Forwards what a store has for the value of each record, whether it is connected to it or the store
   * is global; on the value `write` it tries to write there.
   */
  private static final class LookUp extends Step {
    private final String name;

    LookUp(String name) {
      this.name = name;
    }

    @Override void process(In in) {
      KeyValueStore<Object, Object> store = context.getStateStore(name);
      if ("write".equals(in.value)) store.put(in.value, in.value);
      Object found = in.value == null ? null : store.get(in.value);
      if (found instanceof ValueAndTimestamp<?> row) found = row.value();
      forward(in, name + " has " + Library.text(found));
    }
  }

  /** A value, and its timestamp where the store has one. */
  private static String shown(Object found) {
    if (!(found instanceof ValueAndTimestamp<?> row)) return Library.text(found);
    return Library.text(row.value()) + "@" + row.timestamp();
  }

  /** Updates several rows for one record: those of its words. */
  private static final class IndexWords extends Step {
    private final String[] stores;

    IndexWords(String[] stores) {
      this.stores = stores;
    }

    @Override void process(In in) {
      for (String name : stores) {
        StateStore store = context.getStateStore(name);
        for (Object word : Library.function("words").list(in.value, in.key)) {
          if (store instanceof TimestampedKeyValueStore<?, ?>) index(timestamped(store), word, in);
          else index(plain(store), word, in.key);
        }
      }
    }

    private static void index(KeyValueStore<Object, Object> rows, Object word, Object key) {
      if (word.equals("drop")) rows.delete("be");
      else if (word.equals("not")) rows.putIfAbsent(word, Library.text(key));
      else rows.put(word, Library.text(rows.get(word)) + Library.text(key));
    }

    private static void index(TimestampedKeyValueStore<Object, Object> rows, Object word, In in) {
      if (word.equals("drop")) {
        rows.put("be", null);
        return;
      }
      Object before = ValueAndTimestamp.getValueOrNull(rows.get(word));
      String now = Library.text(before) + Library.text(in.key);
      rows.put(word, ValueAndTimestamp.make(now, in.timestamp));
    }
  }

  /** Counts the records of each key in its stores of longs, and forwards the count. */
  private static final class Tally extends Step {
    private final String[] stores;

    Tally(String[] stores) {
      this.stores = stores;
    }

    @Override void process(In in) {
      if (in.key == null) return;
      for (String name : stores) {
        KeyValueStore<Object, Object> store = context.getStateStore(name);
        Object before = store.get(in.key);
        Object after = before == null ? 1L : (Long) before + 1;
        store.put(in.key, after);
        forward(in, Library.text(after));
      }
    }
  }

  /** Forwards, for each record, the rows of its stores between two keys: forward, and in reverse. */
  private static final class Scan extends Step {
    private final String[] stores;
    private final String[] bounds;

    Scan(String[] stores, String[] bounds) {
      this.stores = stores;
      this.bounds = bounds;
    }

    @Override void process(In in) {
      for (String name : stores) {
        KeyValueStore<Object, Object> store = context.getStateStore(name);
        forward(in, shown(store.range(bounds[0], bounds[1])));
        forward(in, shown(store.reverseAll()));
      }
    }

    private static String shown(KeyValueIterator<Object, Object> rows) {
      List<String> shown = new ArrayList<>();
      try (rows) {
        rows.forEachRemaining(row -> shown.add(Library.text(row.key) + "=" + Processors.shown(row.value)));
      }
      return String.join(" ", shown);
    }
  }

  /**
   * Puts each record into its stores; at intervals of stream time it forwards all rows and deletes each
   * while it goes through them.
   */
  private static final class EmptyAt extends Step {
    private final String[] stores;
    private final long interval;

    EmptyAt(String[] stores, long interval) {
      this.stores = stores;
      this.interval = interval;
    }

    @Override void begin() {
      context.schedule(Duration.ofMillis(interval), PunctuationType.STREAM_TIME, this::empty);
    }

    @Override void process(In in) {
      if (in.key == null) return;
      for (String name : stores) plain(context.getStateStore(name)).put(in.key, in.value);
    }

    private void empty(long time) {
      for (String name : stores) {
        KeyValueStore<Object, Object> store = context.getStateStore(name);
        try (KeyValueIterator<Object, Object> rows = store.all()) {
          while (rows.hasNext()) {
            KeyValue<Object, Object> row = rows.next();
            forwardNew(row.key, row.value, time);
            store.delete(row.key);
          }
        }
      }
    }
  }

  /** Forwards what it sees of the time: with each record, and at intervals of both kinds. */
  private static final class Punctuate extends Step {
    private final long[] intervals;

    Punctuate(long[] intervals) {
      this.intervals = intervals;
    }

    @Override void begin() {
      schedule(intervals[0], PunctuationType.STREAM_TIME, "stream");
      schedule(intervals[1], PunctuationType.WALL_CLOCK_TIME, "wall");
    }

    @Override void process(In in) {
      forward(in, in.text() + " stream time " + context.currentStreamTimeMs());
    }
  }

  /** As punctuate with one interval, anchored to a start. */
  private static final class PunctuateFrom extends Step {
    private final long[] startAndInterval;

    PunctuateFrom(long[] startAndInterval) {
      this.startAndInterval = startAndInterval;
    }

    @Override void begin() {
      anchored(PunctuationType.STREAM_TIME, "stream");
      anchored(PunctuationType.WALL_CLOCK_TIME, "wall");
    }

    private void anchored(PunctuationType type, String kind) {
      Instant start = Instant.ofEpochMilli(startAndInterval[0]);
      Duration interval = Duration.ofMillis(startAndInterval[1]);
      context.schedule(start, interval, type, time -> tell(kind, time));
    }

    @Override void process(In in) {
      // From within a record: a start may be over.
      if ("again".equals(in.value)) anchored(PunctuationType.STREAM_TIME, "again");
    }
  }

  /** Is called back in stream time, and ends that from within the second call. */
  private static final class PunctuateTwice extends Step {
    private final long interval;
    private Cancellable schedule;
    private int calls;

    PunctuateTwice(long interval) {
      this.interval = interval;
    }

    @Override void begin() {
      schedule = context.schedule(
          Duration.ofMillis(interval), PunctuationType.STREAM_TIME, this::called);
    }

    private void called(long time) {
      calls += 1;
      tell("call " + calls + " " + where(), time);
      if (calls == 2) schedule.cancel();
    }

    @Override void process(In in) {
      forward(in, in.value);
    }
  }
}
