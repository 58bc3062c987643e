package millpond.interchange;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
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
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * Counts words and sums amounts until all input is processed and committed, prints its stores (a
 * row a line: store, key, value, timestamp), and leaves the group. test/kafka/tally.ts is the same
 * topology in Millpond.
 *
 * <p>Arguments: bootstrap, application id, topic of lines, topic of amounts, state directory, bytes
 * of the record cache.
 */
public final class Tally {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final List<String> STORES = List.of("word-counts", "sums", "histories");

  private final String bootstrap;
  private final String application;
  private final String lines;
  private final String amounts;

  private Tally(String bootstrap, String application, String lines, String amounts) {
    this.bootstrap = bootstrap;
    this.application = application;
    this.lines = lines;
    this.amounts = amounts;
  }

  public static void main(String[] args) throws Exception {
    new Tally(args[0], args[1], args[2], args[3]).run(args[4], args[5]);
  }

  private Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(lines, Consumed.with(Serdes.ByteArray(), Serdes.String()))
        .flatMapValues(line -> List.of(line.split(" ")))
        .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
        .count(store("word-counts", Serdes.Long()));
    KGroupedStream<String, Long> byKey =
        builder.stream(amounts, Consumed.with(Serdes.String(), Serdes.Long())).groupByKey();
    // An amount of 0 ends an account: a tombstone.
    byKey.reduce((sum, amount) -> amount == 0 ? null : sum + amount, store("sums", Serdes.Long()));
    byKey.aggregate(
        () -> "",
        (key, amount, history) -> amount == 0 ? null : history + amount + ";",
        store("histories", Serdes.String()));
    return builder.build();
  }

  private static <V> Materialized<String, V, KeyValueStore<Bytes, byte[]>> store(
      String name, Serde<V> values) {
    return Materialized.<String, V, KeyValueStore<Bytes, byte[]>>as(name)
        .withKeySerde(Serdes.String())
        .withValueSerde(values);
  }

  private void run(String stateDirectory, String cacheBytes) throws Exception {
    Properties config = new Properties();
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
    config.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory);
    config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cacheBytes);
    config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    // Else each look at the end of a changelog waits for half a second.
    config.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 50);
    try (KafkaStreams streams = new KafkaStreams(topology(), config);
        Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      streams.start();
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (streams.state() != KafkaStreams.State.RUNNING || !isAllProcessed(admin)) {
        boolean hasEnded = streams.state().hasStartedOrFinishedShuttingDown();
        if (hasEnded || System.nanoTime() > deadline) {
          System.err.println("Kafka Streams is " + streams.state() + " before all is processed");
          System.exit(1);
        }
        Thread.sleep(20);
      }
      for (String store : STORES) print(streams, store);
      // What stays in the group by default would keep others out until its session ends.
      streams.close(
          CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }
  }

  private static void print(KafkaStreams streams, String store) {
    var rows =
        streams.store(
            StoreQueryParameters.fromNameAndType(
                store, QueryableStoreTypes.<String, Object>timestampedKeyValueStore()));
    try (KeyValueIterator<String, ValueAndTimestamp<Object>> all = rows.all()) {
      all.forEachRemaining(
          row ->
              System.out.println(
                  String.join(
                      "\t",
                      store,
                      row.key,
                      String.valueOf(row.value.value()),
                      String.valueOf(row.value.timestamp()))));
    }
  }

  /** First the input: its commit comes after what it made was written. */
  private boolean isAllProcessed(Admin admin) throws Exception {
    return isCommitted(admin, List.of(lines, amounts))
        && isCommitted(admin, List.of(application + "-word-counts-repartition"));
  }

  private boolean isCommitted(Admin admin, List<String> topics) throws Exception {
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
