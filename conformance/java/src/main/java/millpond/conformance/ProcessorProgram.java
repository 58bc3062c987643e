package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/** Writes the program of a case with Topology: its steps are source, processor, store and sink. */
final class ProcessorProgram {
  private ProcessorProgram() {}

  static boolean isOne(JsonNode topology) {
    for (JsonNode step : topology) if (step.path("op").asText().equals("source")) return true;
    return false;
  }

  static Topology build(JsonNode steps) {
    Topology topology = new Topology();
    for (JsonNode step : steps) {
      String name = Call.nameOf(step);
      String op = step.path("op").asText();
      switch (op) {
        case "source" -> topology.addSource(name,
            Formats.serde(step, "key").deserializer(),
            Formats.serde(step, "value").deserializer(),
            Call.topicsOf(step).toArray(new String[0]));
        case "processor" -> topology.addProcessor(name, () -> processor(step), names(step, "from"));
        case "store" -> topology.addStateStore(store(step), names(step, "processors"));
        case "globalStore" -> topology.addGlobalStore(store(step),
            step.path("source").asText(),
            Formats.serde(step, "key").deserializer(),
            Formats.serde(step, "value").deserializer(),
            Call.topicsOf(step).get(0),
            names(step, "processors")[0],
            () -> globalProcessor(step));
        case "sink" -> topology.addSink(name,
            Call.topicsOf(step).get(0),
            Formats.serde(step, "key").serializer(),
            Formats.serde(step, "value").serializer(),
            names(step, "from"));
        default -> throw new InvalidCase(op + " does not go with source, processor, store and sink");
      }
    }
    return topology;
  }

  private static String[] names(JsonNode step, String field) {
    return Call.texts(step.path(field)).toArray(new String[0]);
  }

  private static StoreBuilder<?> store(JsonNode step) {
    Serde<Object> key = Formats.serde(step, "key");
    Serde<Object> value = Formats.serde(step, "value");
    StoreBuilder<?> store = step.path("timestamped").asBoolean(false)
        ? Stores.timestampedKeyValueStoreBuilder(timestamped(step), key, value)
        : Stores.keyValueStoreBuilder(plain(step), key, value);
    if (step.path("caching").asBoolean(false)) store.withCachingEnabled();
    JsonNode changelog = step.path("changelog");
    if (changelog.isObject()) store.withLoggingEnabled(Call.configs(changelog));
    else if (!changelog.asBoolean(true)) store.withLoggingDisabled();
    return store;
  }

  private static KeyValueBytesStoreSupplier plain(JsonNode step) {
    return isPersistent(step)
        ? Stores.persistentKeyValueStore(Call.nameOf(step))
        : Stores.inMemoryKeyValueStore(Call.nameOf(step));
  }

  private static KeyValueBytesStoreSupplier timestamped(JsonNode step) {
    return isPersistent(step)
        ? Stores.persistentTimestampedKeyValueStore(Call.nameOf(step))
        : Stores.inMemoryKeyValueStore(Call.nameOf(step));
  }

  private static boolean isPersistent(JsonNode step) {
    return step.path("persistent").asBoolean(true);
  }

  /** Its store is the one that it is for; it forwards nothing. */
  @SuppressWarnings("unchecked")
  private static Processor<Object, Object, Void, Void> globalProcessor(JsonNode step) {
    var processor = (Processor<?, ?, ?, ?>) processor(step, new String[] {Call.nameOf(step)});
    return (Processor<Object, Object, Void, Void>) processor;
  }

  private static Processor<Object, Object, Object, Object> processor(JsonNode step) {
    return processor(step, names(step, "stores"));
  }

  private static Processor<Object, Object, Object, Object> processor(
      JsonNode step, String[] stores) {
    String spec = step.path("with").asText();
    return switch (Library.name(spec)) {
      case "pass" -> new Base() {
        @Override public void process(Record<Object, Object> record) {
          context.forward(record);
        }
      };
      case "put" -> new Put(stores);
      case "look-up" -> new LookUp(Library.argument(spec));
      case "remember" -> new Remember(stores);
      case "index-words" -> new IndexWords(stores);
      case "punctuate" -> new Punctuate(Library.argument(spec).split(","));
      default -> throw new InvalidCase("there is no processor " + spec);
    };
  }

  private abstract static class Base implements Processor<Object, Object, Object, Object> {
    ProcessorContext<Object, Object> context;

    @Override public void init(ProcessorContext<Object, Object> context) {
      this.context = context;
    }
  }

  /** Puts each record into its stores, without looking at it. */
  private static final class Put extends Base {
    private final String[] stores;

    Put(String[] stores) {
      this.stores = stores;
    }

    @Override public void process(Record<Object, Object> record) {
      for (String name : stores) {
        KeyValueStore<Object, Object> store = context.getStateStore(name);
        store.put(record.key(), record.value());
      }
    }
  }

  /**
   * Keeps the last value of each key in all its stores, and forwards what the stores had before. Records
   * without a key are not forwarded.
   */
  private static final class Remember extends Base {
    private final String[] stores;

    Remember(String[] stores) {
      this.stores = stores;
    }

    @Override public void process(Record<Object, Object> record) {
      if (record.key() == null) return;
      for (String name : stores) {
        KeyValueStore<Object, Object> store = context.getStateStore(name);
        Object before = store.get(record.key());
        store.put(record.key(), record.value());
        context.forward(record.withValue(name + " had " + Library.text(before)));
      }
    }
  }

  /**
   * Forwards what a store has for the value of each record, without being connected to it; on the value
   * `write` it tries to write there.
   */
  private static final class LookUp extends Base {
    private final String name;

    LookUp(String name) {
      this.name = name;
    }

    @Override public void process(Record<Object, Object> record) {
      KeyValueStore<Object, Object> store = context.getStateStore(name);
      if ("write".equals(record.value())) store.put(record.value(), record.value());
      Object found = record.value() == null ? null : store.get(record.value());
      if (found instanceof ValueAndTimestamp<?> row) found = row.value();
      context.forward(record.withValue(name + " has " + Library.text(found)));
    }
  }

  /** Updates several rows for one record: those of its words. */
  private static final class IndexWords extends Base {
    private final String[] stores;

    IndexWords(String[] stores) {
      this.stores = stores;
    }

    @SuppressWarnings("unchecked")
    @Override public void process(Record<Object, Object> record) {
      for (String name : stores) {
        StateStore store = context.getStateStore(name);
        for (Object word : Library.function("words").list(record.value(), record.key())) {
          if (store instanceof TimestampedKeyValueStore<?, ?> rows) {
            indexTimestamped((TimestampedKeyValueStore<Object, Object>) rows, word, record);
          } else {
            indexPlain((KeyValueStore<Object, Object>) store, word, record.key());
          }
        }
      }
    }

    private static void indexPlain(KeyValueStore<Object, Object> rows, Object word, Object key) {
      if (word.equals("drop")) rows.delete("be");
      else if (word.equals("not")) rows.putIfAbsent(word, Library.text(key));
      else rows.put(word, Library.text(rows.get(word)) + Library.text(key));
    }

    private static void indexTimestamped(
        TimestampedKeyValueStore<Object, Object> rows, Object word, Record<Object, Object> record) {
      if (word.equals("drop")) {
        rows.put("be", null);
        return;
      }
      Object before = ValueAndTimestamp.getValueOrNull(rows.get(word));
      String now = Library.text(before) + Library.text(record.key());
      rows.put(word, ValueAndTimestamp.make(now, record.timestamp()));
    }
  }

  /** Forwards what it sees of the time: with each record, and at intervals of both kinds. */
  private static final class Punctuate extends Base {
    private final String[] intervals;

    Punctuate(String[] intervals) {
      this.intervals = intervals;
    }

    @Override public void init(ProcessorContext<Object, Object> context) {
      super.init(context);
      context.schedule(interval(0), PunctuationType.STREAM_TIME, time -> tell("stream", time));
      context.schedule(interval(1), PunctuationType.WALL_CLOCK_TIME, time -> tell("wall", time));
    }

    private Duration interval(int index) {
      return Duration.ofMillis(Long.parseLong(intervals[index]));
    }

    private void tell(String kind, long time) {
      String text = "at " + time + " stream time " + context.currentStreamTimeMs();
      context.forward(new Record<>(kind, text, time));
    }

    @Override public void process(Record<Object, Object> record) {
      context.forward(record.withValue(
          Library.text(record.value()) + " stream time " + context.currentStreamTimeMs()));
    }
  }
}
