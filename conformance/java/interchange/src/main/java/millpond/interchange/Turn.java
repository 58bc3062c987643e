package millpond.interchange;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;

/**
 * One turn of Kafka Streams at an application: it processes all that there is, commits, tells the rows of its
 * stores (store, key, value, timestamp; of windows: store, key, start, end, value, and timestamp unless they
 * are sessions), and leaves the group.
 */
final class Turn {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final String bootstrap;
  private final String application;
  private final String groupProtocol;
  private final List<String> rows = new ArrayList<>();
  private List<String> windows = List.of();
  private List<String> sessions = List.of();
  private List<String> values = List.of();
  private List<String> windowValues = List.of();
  private String guarantee = StreamsConfig.AT_LEAST_ONCE;

  Turn(String groupProtocol, String bootstrap, String application) {
    this.groupProtocol = groupProtocol;
    this.bootstrap = bootstrap;
    this.application = application;
  }

  /** Tells the rows of these stores of windows, too. */
  Turn withWindows(String... stores) {
    windows = List.of(stores);
    return this;
  }

  /** Tells the rows of these stores of sessions, too. */
  Turn withSessions(String... stores) {
    sessions = List.of(stores);
    return this;
  }

  /** Tells the rows of these stores, too, whether they have timestamps or not: without them. */
  Turn withValues(String... stores) {
    values = List.of(stores);
    return this;
  }

  /** As withValues, of stores of windows. */
  Turn withWindowValues(String... stores) {
    windowValues = List.of(stores);
    return this;
  }

  /** What StreamsConfig.PROCESSING_GUARANTEE_CONFIG says. */
  Turn withGuarantee(String guarantee) {
    this.guarantee = guarantee;
    return this;
  }

  /** A store of keys that are texts. */
  static <V> Materialized<String, V, KeyValueStore<Bytes, byte[]>> store(String name, Serde<V> values) {
    return Materialized.<String, V, KeyValueStore<Bytes, byte[]>>as(name)
        .withKeySerde(Serdes.String())
        .withValueSerde(values);
  }

  /**
   * @param topics first the input, then what is made of it, and so on: a commit of topics comes after what
   *     was made of them is written. Names that begin with a hyphen belong to the application.
   * @return the rows, with tabs between.
   */
  List<String> run(
      Topology topology, List<List<String>> topics, List<String> stores, String directory, String cacheBytes)
      throws Exception {
    Properties config = new Properties();
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
    config.put(StreamsConfig.STATE_DIR_CONFIG, directory);
    config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cacheBytes);
    config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, groupProtocol);
    config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
    // By default, what has closed is looked for once a second.
    config.put("__emit.interval.ms.kstreams.windowed.aggregation__", 0L);
    config.put("__emit.interval.ms.kstreams.outer.join.spurious.results.fix__", 0L);
    // Else each look at the end of a changelog waits for half a second.
    config.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 50);
    try (KafkaStreams streams = new KafkaStreams(topology, config);
        Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      streams.start();
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (streams.state() != KafkaStreams.State.RUNNING || !areCommitted(admin, topics)) {
        boolean hasEnded = streams.state().hasStartedOrFinishedShuttingDown();
        if (hasEnded || System.nanoTime() > deadline) {
          throw new IllegalStateException(
              "Kafka Streams is " + streams.state() + " before all is processed");
        }
        Thread.sleep(20);
      }
      for (String store : stores) tell(streams, store);
      for (String store : windows) tellWindows(streams, store);
      for (String store : sessions) tellSessions(streams, store);
      for (String store : values) tellValues(streams, store);
      for (String store : windowValues) tellWindowValues(streams, store);
      // What stays in the group by default would keep others out until its session ends.
      streams.close(
          CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }
    return rows;
  }

  private void tell(KafkaStreams streams, String store) {
    var found = QueryableStoreTypes.<String, Object>timestampedKeyValueStore();
    try (var all = streams.store(StoreQueryParameters.fromNameAndType(store, found)).all()) {
      all.forEachRemaining(row -> tell(store, row.key, row.value.value(), row.value.timestamp()));
    }
  }

  private void tellValues(KafkaStreams streams, String store) {
    var found = QueryableStoreTypes.<String, Object>keyValueStore();
    try (var all = streams.store(StoreQueryParameters.fromNameAndType(store, found)).all()) {
      all.forEachRemaining(row -> tell(store, row.key, row.value));
    }
  }

  private void tellWindows(KafkaStreams streams, String store) {
    var found = QueryableStoreTypes.<String, Object>timestampedWindowStore();
    try (var all = streams.store(StoreQueryParameters.fromNameAndType(store, found)).all()) {
      all.forEachRemaining(
          row -> tellWindow(store, row.key, row.value.value() + "\t" + row.value.timestamp()));
    }
  }

  private void tellWindowValues(KafkaStreams streams, String store) {
    var found = QueryableStoreTypes.<String, Object>windowStore();
    try (var all = streams.store(StoreQueryParameters.fromNameAndType(store, found)).all()) {
      all.forEachRemaining(row -> tellWindow(store, row.key, row.value));
    }
  }

  private void tellSessions(KafkaStreams streams, String store) {
    var found = QueryableStoreTypes.<String, Object>sessionStore();
    var parameters = StoreQueryParameters.fromNameAndType(store, found);
    try (var all = streams.store(parameters).fetch(null, null)) {
      all.forEachRemaining(row -> tellWindow(store, row.key, row.value));
    }
  }

  private void tellWindow(String store, Windowed<String> row, Object value) {
    tell(store, row.key(), row.window().start(), row.window().end(), value);
  }

  private void tell(Object... columns) {
    rows.add(Arrays.stream(columns).map(String::valueOf).collect(Collectors.joining("\t")));
  }

  private boolean areCommitted(Admin admin, List<List<String>> topics) throws Exception {
    for (List<String> names : topics) if (!isCommitted(admin, names)) return false;
    return true;
  }

  private boolean isCommitted(Admin admin, List<String> names) throws Exception {
    List<String> topics = names.stream().map(name -> name.startsWith("-") ? application + name : name).toList();
    Map<TopicPartition, OffsetSpec> partitions = new HashMap<>();
    try {
      for (TopicDescription topic : admin.describeTopics(topics).allTopicNames().get().values()) {
        topic.partitions()
            .forEach(
                row ->
                    partitions.put(
                        new TopicPartition(topic.name(), row.partition()), OffsetSpec.latest()));
      }
    } catch (ExecutionException notYetThere) {
      return false;
    }
    var ends = admin.listOffsets(partitions).all().get();
    Map<TopicPartition, OffsetAndMetadata> committed =
        admin.listConsumerGroupOffsets(application).partitionsToOffsetAndMetadata().get();
    return partitions.keySet().stream()
        .allMatch(one -> position(committed, one) == ends.get(one).offset());
  }

  private static long position(
      Map<TopicPartition, OffsetAndMetadata> committed, TopicPartition partition) {
    OffsetAndMetadata found = committed.get(partition);
    return found == null ? 0 : found.offset();
  }
}
