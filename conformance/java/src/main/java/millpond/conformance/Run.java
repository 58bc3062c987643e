package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.internals.InternalTopicConfig;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.test.TestRecord;

/** One case through TopologyTestDriver. */
final class Run {
  private static final long CHANGELOG_ADDITIONAL_RETENTION_MS = Duration.ofDays(1).toMillis();

  /** Ops that read topics. */
  private static final Set<String> SOURCE_OPS =
      Set.of("stream", "table", "source", "globalTable", "globalStore", "addGlobalStore", "readOnlyStore");

  private final JsonNode topology;
  private final JsonNode script;
  private final JsonNode options;
  private final ObjectNode result;
  private final Path stateDirectory;
  /** Where the driver's clock stands. */
  private long wallClock;
  /** What the step that runs has shown to peek and forEach, and what it has produced. */
  private ArrayNode peeked;
  private ArrayNode produced;

  /** The state directory is this case's own: a driver that could not be made leaves open stores in it. */
  Run(JsonNode oneCase, ObjectNode result, Path stateDirectory) {
    this.topology = oneCase.path("topology");
    this.script = oneCase.path("script");
    this.options = oneCase.path("config");
    this.result = result;
    this.stateDirectory = stateDirectory;
  }

  /** Fills the result. */
  void run() throws Exception {
    Properties config = config();
    wallClock = options.path("wallClock").asLong(0);
    TopologyTestDriver driver;
    try {
      Topology built = ProcessorProgram.isOne(topology)
          ? ProcessorProgram.build(topology)
          : new Program(this::peeked).build(topology, config);
      result.put("describe", built.describe().toString());
      driver = new TopologyTestDriver(built, config, Instant.ofEpochMilli(wallClock));
      writeInternalTopics(built);
    } catch (InvalidCase wrong) {
      throw wrong;
    } catch (RuntimeException refused) {
      result.removeAll();
      fail("build", refused);
      return;
    }
    try (driver) {
      listenToProducer(driver);
      runScript(driver);
      if (result.has("failure")) return;
      writeStores(driver);
      result.put("dropped", dropped(driver));
    } catch (InvalidCase wrong) {
      throw wrong;
    } catch (RuntimeException refused) {
      // A driver that failed may fail again when it is closed.
      if (!result.has("failure")) throw refused;
    }
  }

  private Properties config() {
    Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    config.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
    config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, options.path("cacheBytes").asLong(10 << 20));
    config.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, options.path("maxTaskIdle").asLong(0));
    config.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, options.path("optimization").asText("none"));
    if (options.path("guarantee").asText().equals("exactly-once")) {
      config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    }
    Failing.configure(config, options);
    return config;
  }

  private void fail(String where, Exception reason) {
    Throwable cause = reason;
    while (cause.getCause() != null) cause = cause.getCause();
    result.put("failure", where);
    result.put("message", cause.getClass().getSimpleName() + ": " + cause.getMessage());
  }

  private void runScript(TopologyTestDriver driver) {
    ArrayNode steps = result.putArray("steps");
    for (JsonNode step : script) {
      peeked = result.arrayNode();
      produced = result.arrayNode();
      try {
        if (step.has("advanceWallClock")) {
          long advance = step.get("advanceWallClock").asLong();
          wallClock += advance;
          driver.advanceWallClockTime(Duration.ofMillis(advance));
        } else {
          pipe(driver, step);
        }
      } catch (InvalidCase wrong) {
        throw wrong;
      } catch (RuntimeException failed) {
        fail("step " + steps.size(), failed);
        return;
      }
      steps.add(peeked.addAll(produced));
    }
  }

  private void pipe(TopologyTestDriver driver, JsonNode record) {
    String topic = record.path("topic").asText();
    JsonNode source = sourceOf(topic);
    byte[] key = Formats.bytes(record.get("key"), topic, Formats.name(source, "key"));
    byte[] value = Formats.bytes(record.get("value"), topic, Formats.name(source, "value"));
    RecordHeaders headers = new RecordHeaders();
    for (JsonNode header : record.path("headers")) {
      JsonNode text = header.get(1);
      headers.add(header.get(0).asText(), text.isNull() ? null : Formats.utf8(text.asText()));
    }
    driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer())
        .pipeInput(new TestRecord<>(key, value, headers, record.path("timestamp").asLong()));
  }

  private JsonNode sourceOf(String topic) {
    for (JsonNode step : topology) {
      String op = step.path("op").asText();
      boolean reads = SOURCE_OPS.contains(op);
      if (reads && Call.topicsOf(step).contains(topic)) return step;
      if (step.has("pattern") && topic.matches(step.get("pattern").asText())) return step;
    }
    throw new InvalidCase("no step reads the topic " + topic);
  }

  /** The driver sorts what was produced by topic; the producer's own list has the order over all. */
  private void listenToProducer(TopologyTestDriver driver) throws ReflectiveOperationException {
    Object producer = field(TopologyTestDriver.class, "producer").get(driver);
    field(MockProducer.class, "sent").set(producer, new ArrayList<ProducerRecord<byte[], byte[]>>() {
      @Override public void clear() {
        // After each commit the driver takes what is there and clears it.
        forEach(Run.this::produced);
        super.clear();
      }
    });
  }

  private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** Topic, key, value, timestamp, then a `name=hex` for each header, without `=` when it is null. */
  private void produced(ProducerRecord<byte[], byte[]> record) {
    ArrayNode row = produced.addArray();
    row.add(record.topic()).add(Formats.hex(record.key())).add(Formats.hex(record.value()));
    // Who states no time has that of the producer.
    row.add(record.timestamp() == null ? wallClock : record.timestamp());
    addHeaders(row, record.headers());
  }

  private static void addHeaders(ArrayNode row, Headers headers) {
    for (Header header : headers) row.add(Failing.shown(header));
  }

  private void peeked(String step, String key, String value) {
    peeked.addArray().add("(" + step + ")").add(key).add(value);
  }

  /** Full names and configs, by name. */
  private void writeInternalTopics(Topology built) throws ReflectiveOperationException {
    var internals = (InternalTopologyBuilder) field(Topology.class, "internalTopologyBuilder").get(built);
    Map<String, InternalTopicConfig> topics = new TreeMap<>();
    internals.subtopologyToTopicsInfo().values().forEach(info -> {
      info.repartitionSourceTopics.values().forEach(topic -> topics.put(topic.name(), topic));
      info.nonSourceChangelogTopics().forEach(topic -> topics.put(topic.name(), topic));
    });
    ObjectNode written = result.putObject("internalTopics");
    topics.forEach((name, topic) -> {
      var properties = topic.properties(new HashMap<>(), CHANGELOG_ADDITIONAL_RETENTION_MS);
      ObjectNode configs = written.putObject(name);
      new TreeMap<>(properties).forEach(configs::put);
    });
  }

  private void writeStores(TopologyTestDriver driver) {
    ObjectNode stores = result.putObject("stores");
    new TreeMap<>(driver.getAllStateStores()).forEach((name, store) -> {
      // Null: it was added, and nobody uses it.
      if (store != null) StoreRows.write(store, stores.putArray(name));
    });
  }

  private static long dropped(TopologyTestDriver driver) {
    return driver.metrics().values().stream()
        .filter(metric -> metric.metricName().name().equals("dropped-records-total"))
        .mapToLong(metric -> ((Number) metric.metricValue()).longValue())
        .sum();
  }
}
