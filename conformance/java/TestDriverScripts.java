import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.function.BiFunction;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.test.TestRecord;

/**
 * Writes test/conformance/test-driver-scripts.jsonl, a line a script: scripts of records through Kafka Streams' TopologyTestDriver, with
 * everything that each step produces and the final rows of the stores. test/conformance/test-driver.test.ts has the same
 * programs. Run with kafka-streams-test-utils 4.4.0, jackson-databind and slf4j on the class path:
 * java -cp 'lib/*' TestDriverScripts.java test/conformance/test-driver-scripts.jsonl
 */
public final class TestDriverScripts {
  private static final String APPLICATION = "conformance";
  private static final HexFormat HEX = HexFormat.of();

  record Step(String topic, String key, String value, Long timestamp, Map<String, String> headers, Long advance) {}

  /** Makes a topology; caching: of its stores. */
  interface Program { Topology build(boolean caching); }

  private static <K, V> Materialized<K, V, KeyValueStore<Bytes, byte[]>> store(String name, boolean caching) {
    Materialized<K, V, KeyValueStore<Bytes, byte[]>> materialized = Materialized.as(name);
    return caching ? materialized.withCachingEnabled() : materialized.withCachingDisabled();
  }

  private static KStream<String, String> stream(StreamsBuilder builder, String topic) {
    return builder.stream(topic, Consumed.with(Serdes.String(), Serdes.String()));
  }

  private static final Produced<String, String> STRINGS = Produced.with(Serdes.String(), Serdes.String());
  private static final Produced<String, Long> COUNTS = Produced.with(Serdes.String(), Serdes.Long());

  private static List<String> words(String line) {
    return line == null ? List.of() : Arrays.stream(line.split(" ")).filter(w -> !w.isEmpty()).toList();
  }

  private static final Map<String, Program> PROGRAMS = new LinkedHashMap<>();

  static {
    PROGRAMS.put("word-count", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "lines").flatMapValues(TestDriverScripts::words)
          .groupBy((k, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
          .count(TestDriverScripts.<String, Long>store("counts", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream().to("word-counts", COUNTS);
      return builder.build();
    });
    // Several updates of one key while one record is processed: the cache keeps the last.
    PROGRAMS.put("count-by-key", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "lines").flatMapValues(TestDriverScripts::words)
          .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .count(TestDriverScripts.<String, Long>store("counts", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream().to("counts-by-key", COUNTS);
      return builder.build();
    });
    PROGRAMS.put("reduce", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "in").groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .reduce((a, b) -> b.equals("drop") ? null : a + "+" + b,
              TestDriverScripts.<String, String>store("reduced", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
          .toStream().to("out", STRINGS);
      return builder.build();
    });
    PROGRAMS.put("aggregate", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "in").groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .aggregate(() -> "0", (k, v, a) -> v.equals("drop") ? null : a + "," + k + v,
              TestDriverScripts.<String, String>store("aggregated", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
          .toStream().to("out", STRINGS);
      return builder.build();
    });
    PROGRAMS.put("to-table", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "in").toTable(
          TestDriverScripts.<String, String>store("table", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
          .toStream().to("out", STRINGS);
      return builder.build();
    });
    PROGRAMS.put("select-key-to-table", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "in").selectKey((k, v) -> v == null ? k : v.substring(0, 1)).toTable(
          TestDriverScripts.<String, String>store("table", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
          .toStream().to("out", STRINGS);
      return builder.build();
    });
    // A count of counts: a flush of the first store writes to the repartition topic of the second.
    PROGRAMS.put("count-of-counts", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      stream(builder, "lines").flatMapValues(TestDriverScripts::words)
          .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .count(TestDriverScripts.<String, Long>store("first", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream()
          .groupBy((key, count) -> "n" + count % 3, Grouped.with(Serdes.String(), Serdes.Long()))
          .count(TestDriverScripts.<String, Long>store("second", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream().to("out", COUNTS);
      return builder.build();
    });
    // Two stores in one task, the second fed by the flush of the first, beside plain outputs.
    PROGRAMS.put("two-stores", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      KStream<String, String> in = stream(builder, "lines");
      in.to("copy", STRINGS);
      in.flatMapValues(TestDriverScripts::words)
          .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .count(TestDriverScripts.<String, Long>store("first", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream()
          .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
          .reduce((a, b) -> a + b,
              TestDriverScripts.<String, Long>store("second", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream().to("out", COUNTS);
      in.mapValues(v -> v == null ? null : v.toUpperCase()).filter((k, v) -> k != null).to("upper", STRINGS);
      return builder.build();
    });
    // Two inputs and two repartition topics: the order between them is by time.
    PROGRAMS.put("merge-two-ways", caching -> {
      StreamsBuilder builder = new StreamsBuilder();
      KStream<String, String> both = stream(builder, "left").merge(stream(builder, "right"));
      both.flatMap((k, v) -> {
        List<KeyValue<String, String>> out = new ArrayList<>();
        for (String word : words(v)) out.add(KeyValue.pair(word, k));
        return out;
      }).groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .count(TestDriverScripts.<String, Long>store("by-word", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
          .toStream().to("by-word-out", COUNTS);
      both.filterNot((k, v) -> v == null).map((k, v) -> KeyValue.pair("l" + v.length(), v))
          .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
          .reduce((a, b) -> b, TestDriverScripts.<String, String>store("by-length", caching).withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
          .toStream().to("by-length-out", STRINGS);
      return builder.build();
    });
    // One record updates several keys, some of them twice: the order of the changelog is that of the flush.
    PROGRAMS.put("timestamped-store", caching -> storeOfWords(caching,
        Stores.timestampedKeyValueStoreBuilder(Stores.inMemoryKeyValueStore("words"), Serdes.String(), Serdes.String()),
        () -> new Processor<String, String, String, String>() {
          private TimestampedKeyValueStore<String, String> store;
          @Override public void init(ProcessorContext<String, String> context) { store = context.getStateStore("words"); }
          @Override public void process(Record<String, String> record) {
            for (String word : words(record.value())) {
              ValueAndTimestamp<String> before = store.get(word);
              if (word.equals("drop")) store.delete("be");
              else store.put(word, ValueAndTimestamp.make((before == null ? "" : before.value()) + record.key(), record.timestamp()));
            }
          }
        }));
    PROGRAMS.put("plain-store", caching -> storeOfWords(caching,
        Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("words"), Serdes.String(), Serdes.String()),
        () -> new Processor<String, String, String, String>() {
          private KeyValueStore<String, String> store;
          @Override public void init(ProcessorContext<String, String> context) { store = context.getStateStore("words"); }
          @Override public void process(Record<String, String> record) {
            for (String word : words(record.value())) {
              if (word.equals("drop")) store.delete("be");
              else if (word.equals("not")) store.putIfAbsent(word, record.key());
              else store.put(word, store.get(word) + record.key());
            }
          }
        }));
    // Calls of both kinds forward; they and the records see their timestamps.
    PROGRAMS.put("punctuation", caching -> {
      Topology topology = new Topology();
      topology.addSource("source", Serdes.String().deserializer(), Serdes.String().deserializer(), "in");
      topology.addProcessor("punctuate", () -> new Processor<String, String, String, String>() {
        private ProcessorContext<String, String> context;
        @Override public void init(ProcessorContext<String, String> context) {
          this.context = context;
          context.schedule(Duration.ofMillis(10), PunctuationType.STREAM_TIME, t -> tell("stream", t));
          context.schedule(Duration.ofMillis(7), PunctuationType.WALL_CLOCK_TIME, t -> tell("wall", t));
        }
        private void tell(String kind, long t) {
          context.forward(new Record<>(kind, "at " + t + " stream time " + context.currentStreamTimeMs(), t));
        }
        @Override public void process(Record<String, String> record) {
          context.forward(record.withValue(record.value() + " stream time " + context.currentStreamTimeMs()));
        }
      }, "source");
      topology.addSink("sink", "out", Serdes.String().serializer(), Serdes.String().serializer(), "punctuate");
      return topology;
    });
  }

  private static Topology storeOfWords(boolean caching, StoreBuilder<? extends StateStore> store, ProcessorSupplier<String, String, String, String> supplier) {
    Topology topology = new Topology();
    topology.addSource("source", Serdes.String().deserializer(), Serdes.String().deserializer(), "lines");
    topology.addProcessor("node", supplier, "source");
    if (caching) store.withCachingEnabled();
    topology.addStateStore(store, "node");
    return topology;
  }

  private static final String[] KEYS = {"a", "b", "c", "long-key-\u00e4\u20ac"};
  private static final String[] WORDS = {"to", "be", "or", "not", "gr\u00fc\u00df", "drop"};

  private static List<Step> script(long seed, String[] topics, int count, int wordsMax, boolean advance) {
    Random random = new Random(seed);
    List<Step> steps = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      if (advance && random.nextInt(3) == 0) {
        steps.add(new Step(null, null, null, null, null, (long) random.nextInt(30)));
        continue;
      }
      String key = random.nextInt(10) == 0 ? null : KEYS[random.nextInt(KEYS.length)];
      String value = null;
      if (random.nextInt(8) != 0) {
        StringBuilder line = new StringBuilder();
        int n = 1 + random.nextInt(wordsMax);
        for (int w = 0; w < n; w++) line.append(w == 0 ? "" : " ").append(WORDS[random.nextInt(WORDS.length)]);
        value = line.toString();
      }
      long timestamp = Math.max(0, i * 4L + random.nextInt(40) - 20);
      Map<String, String> headers = random.nextInt(6) == 0 ? Map.of("h", "x" + i) : null;
      steps.add(new Step(topics[random.nextInt(topics.length)], key, value, timestamp, headers, null));
    }
    return steps;
  }

  private static String hex(byte[] bytes) { return bytes == null ? null : HEX.formatHex(bytes); }

  private static Map<String, Object> run(String name, String program, boolean caching, long cacheBytes, List<Step> steps) throws Exception {
    Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, APPLICATION);
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cacheBytes);
    config.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("ttd").toString());
    Topology topology = PROGRAMS.get(program).build(caching);
    List<Map<String, Object>> results = new ArrayList<>();
    Map<String, Object> stores = new LinkedHashMap<>();
    List<ProducerRecord<byte[], byte[]>> produced = new ArrayList<>();
    try (TopologyTestDriver driver = new TopologyTestDriver(topology, config, Instant.ofEpochMilli(1000))) {
      // The driver sorts what it reads by topic; the list in which the producer gathers it has the order over all topics.
      Field field = TopologyTestDriver.class.getDeclaredField("producer");
      field.setAccessible(true);
      Field sent = MockProducer.class.getDeclaredField("sent");
      sent.setAccessible(true);
      sent.set(field.get(driver), new ArrayList<ProducerRecord<byte[], byte[]>>() {
        @Override public boolean add(ProducerRecord<byte[], byte[]> record) {
          produced.add(record);
          return super.add(record);
        }
      });
      Map<String, TestInputTopic<byte[], byte[]>> inputs = new LinkedHashMap<>();
      for (Step step : steps) {
        if (step.advance != null) {
          driver.advanceWallClockTime(Duration.ofMillis(step.advance));
        } else {
          RecordHeaders headers = new RecordHeaders();
          if (step.headers != null) step.headers.forEach((k, v) -> headers.add(k, v.getBytes(StandardCharsets.UTF_8)));
          byte[] key = step.key == null ? null : step.key.getBytes(StandardCharsets.UTF_8);
          byte[] value = step.value == null ? null : step.value.getBytes(StandardCharsets.UTF_8);
          inputs.computeIfAbsent(step.topic, t -> driver.createInputTopic(t, new ByteArraySerializer(), new ByteArraySerializer()))
              .pipeInput(new TestRecord<>(key, value, headers, step.timestamp));
        }
        Map<String, Object> result = new LinkedHashMap<>();
        if (step.advance != null) result.put("advance", step.advance);
        else {
          result.put("topic", step.topic);
          result.put("key", step.key);
          result.put("value", step.value);
          result.put("timestamp", step.timestamp);
          if (step.headers != null) result.put("headers", step.headers);
        }
        List<Object> records = new ArrayList<>();
        for (ProducerRecord<byte[], byte[]> record : produced) {
          List<Object> row = new ArrayList<>(Arrays.asList(record.topic(), hex(record.key()), hex(record.value()), record.timestamp()));
          for (Header header : record.headers()) row.add(header.key() + "=" + hex(header.value()));
          records.add(row);
        }
        produced.clear();
        result.put("produced", records);
        results.add(result);
      }
      for (String store : driver.getAllStateStores().keySet()) {
        List<Object> rows = new ArrayList<>();
        if (program.equals("plain-store")) {
          KeyValueStore<Object, Object> table = driver.getKeyValueStore(store);
          try (KeyValueIterator<Object, Object> all = table.all()) {
            all.forEachRemaining(row -> rows.add(Arrays.asList(row.key, row.value)));
          }
          stores.put(store, rows);
          continue;
        }
        KeyValueStore<Object, ValueAndTimestamp<Object>> table = driver.getTimestampedKeyValueStore(store);
        try (KeyValueIterator<Object, ValueAndTimestamp<Object>> all = table.all()) {
          while (all.hasNext()) {
            KeyValue<Object, ValueAndTimestamp<Object>> row = all.next();
            rows.add(Arrays.asList(row.key, row.value.value(), row.value.timestamp()));
          }
        }
        stores.put(store, rows);
      }
    }
    Map<String, Object> script = new LinkedHashMap<>();
    script.put("name", name);
    script.put("program", program);
    script.put("caching", caching);
    script.put("cacheBytes", cacheBytes);
    script.put("steps", results);
    script.put("stores", stores);
    return script;
  }

  public static void main(String[] args) throws Exception {
    List<Map<String, Object>> scripts = new ArrayList<>();
    long seed = 1;
    for (String program : PROGRAMS.keySet()) {
      String[] topics = program.equals("merge-two-ways") ? new String[] {"left", "right"}
          : program.startsWith("word-count") || program.startsWith("count") || program.equals("two-stores") || program.endsWith("-store") ? new String[] {"lines"}
          : new String[] {"in"};
      List<Step> steps = script(seed++, topics, 20, program.endsWith("-store") ? 6 : 3, program.equals("punctuation"));
      scripts.add(run(program + ", cached", program, true, 10 << 20, steps));
      if (program.equals("punctuation")) continue;
      scripts.add(run(program + ", without caching", program, false, 10 << 20, steps));
      scripts.add(run(program + ", with a cache of no bytes", program, true, 0, steps));
    }
    ObjectMapper mapper = new ObjectMapper();
    StringBuilder text = new StringBuilder();
    for (Map<String, Object> script : scripts) text.append(mapper.writeValueAsString(script)).append('\n');
    Files.writeString(Path.of(args[0]), text);
  }
}
