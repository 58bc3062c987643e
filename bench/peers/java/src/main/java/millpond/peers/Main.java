package millpond.peers;

import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * Runs one job until its standard input closes, and tells the runner what happens: a line of JSON
 * for each event. bench/peers/millpond/main.ts is its counterpart.
 */
public final class Main {
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  public static void main(String[] args) throws Exception {
    Settings settings = Settings.of(args);
    Properties config = config(settings);
    HttpService http = null;
    if (settings.get("job").equals("point-reads")) {
      http = new HttpService();
      config.put(StreamsConfig.APPLICATION_SERVER_CONFIG, http.address());
    }
    KafkaStreams streams = new KafkaStreams(topology(settings), config);
    Restores restores = new Restores();
    streams.setGlobalStateRestoreListener(restores);
    streams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.RUNNING) tell("running", restores.records());
          if (now == KafkaStreams.State.ERROR) Runtime.getRuntime().halt(1);
        });
    streams.start();
    if (http != null) tell("listening", http.serve(streams));
    while (System.in.read() != -1) {}
    streams.close(CLOSE_TIMEOUT);
    System.exit(0);
  }

  private static Topology topology(Settings settings) {
    return switch (settings.get("job")) {
      case "stateless" -> Stateless.topology(settings);
      case "word-count" -> WordCount.topology(settings);
      case "exactly-once" -> ExactlyOnce.topology(settings);
      case "windowed-count" -> WindowedCount.topology(settings);
      case "join" -> Join.topology(settings);
      case "restore" -> Restore.topology(settings);
      case "point-reads" -> PointReads.topology(settings);
      default -> throw new IllegalArgumentException("there is no job " + settings.get("job"));
    };
  }

  private static Properties config(Settings settings) {
    Properties config = new Properties();
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.get("bootstrap"));
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, settings.get("applicationId"));
    config.put(StreamsConfig.STATE_DIR_CONFIG, settings.get("stateDir"));
    config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, settings.get("commitIntervalMs"));
    config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, settings.get("cacheBytes"));
    if (settings.get("guarantee").equals("exactly-once"))
      config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    config.put(producer(ProducerConfig.LINGER_MS_CONFIG), settings.get("lingerMs"));
    config.put(producer(ProducerConfig.BATCH_SIZE_CONFIG), settings.get("batchBytes"));
    config.put(producer(ProducerConfig.COMPRESSION_TYPE_CONFIG), settings.get("compression"));
    return config;
  }

  private static String producer(String name) {
    return StreamsConfig.producerPrefix(name);
  }

  /** No detail needs escapes. */
  static void tell(String event, String detail) {
    System.out.println(
        "{\"event\":\"%s\",\"at\":%d,\"detail\":\"%s\"}"
            .formatted(event, System.currentTimeMillis(), detail));
  }

  /** Tells when the first store begins to be restored, and counts what is restored. */
  private static final class Restores implements StateRestoreListener {
    private final AtomicBoolean isTold = new AtomicBoolean();
    private final AtomicLong records = new AtomicLong();

    String records() {
      return records.toString();
    }

    @Override
    public void onRestoreStart(TopicPartition partition, String store, long start, long end) {
      if (isTold.compareAndSet(false, true)) tell("restoring", "");
    }

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long end, long restored) {
      records.addAndGet(restored);
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long restored) {}
  }
}
