package millpond.interchange;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What Java clients do with a broker, told in lines that are the same on every broker:
 * administration, an idempotent producer with each codec, a consumer group of two members.
 *
 * <p>Arguments: bootstrap, and a prefix for the names of topics and groups.
 */
public final class Clients {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(50);
  private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
  private static final int RECORDS = 500;

  private final String bootstrap;
  private final String prefix;

  private Clients(String bootstrap, String prefix) {
    this.bootstrap = bootstrap;
    this.prefix = prefix;
  }

  public static void main(String[] args) throws Exception {
    Clients clients = new Clients(args[0], args[1]);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      clients.topics(admin);
      clients.codecs(admin);
      clients.group(admin);
    }
  }

  private void topics(Admin admin) throws Exception {
    String topic = prefix + "topic";
    Map<String, String> compacted = Map.of("cleanup.policy", "compact");
    NewTopic wanted = new NewTopic(topic, 3, (short) 1).configs(compacted);
    admin.createTopics(List.of(wanted)).all().get();
    until(() -> admin.listTopics().names().get().contains(topic));
    say("created once more: " + failure(admin.createTopics(List.of(wanted)).all()));
    say("described: " + partitions(admin, topic) + " partitions");

    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    say("cleanup.policy: " + setting(admin, resource, "cleanup.policy"));
    ConfigEntry change = new ConfigEntry("retention.ms", "5000");
    admin.incrementalAlterConfigs(
            Map.of(resource, List.of(new AlterConfigOp(change, AlterConfigOp.OpType.SET))))
        .all()
        .get();
    until(() -> setting(admin, resource, "retention.ms").equals("5000"));
    admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all().get();
    until(() -> partitions(admin, topic) == 4);
    say("grown: 4 partitions");
    admin.deleteTopics(List.of(topic)).all().get();
    until(() -> !admin.listTopics().names().get().contains(topic));
    say("deleted; described: " + failure(admin.describeTopics(List.of(topic)).allTopicNames()));
  }

  private int partitions(Admin admin, String topic) throws Exception {
    var described = admin.describeTopics(List.of(topic)).allTopicNames().get();
    return described.get(topic).partitions().size();
  }

  private static String setting(Admin admin, ConfigResource resource, String name)
      throws Exception {
    Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
    return config.get(name).value();
  }

  /** Every codec writes to a partition of its own; one reader gets all back. */
  private void codecs(Admin admin) throws Exception {
    String topic = prefix + "codecs";
    create(admin, topic, CODECS.size());
    for (String codec : CODECS) {
      Map<String, Object> config =
          Map.of("enable.idempotence", true, "compression.type", codec, "linger.ms", 5);
      try (KafkaProducer<String, String> producer = producer(config)) {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int index = 0; index < RECORDS; index++)
          sent.add(producer.send(record(topic, codec, index)));
        long last = -1;
        for (Future<RecordMetadata> one : sent) {
          long offset = one.get().offset();
          if (offset != last + 1) throw new IllegalStateException(offset + " after " + last);
          last = offset;
        }
        say(codec + ": written up to offset " + last);
      }
    }
    Map<Integer, Integer> equal = new HashMap<>();
    try (KafkaConsumer<String, String> consumer = consumer(Map.of("check.crcs", true))) {
      List<TopicPartition> all = new ArrayList<>();
      for (int partition = 0; partition < CODECS.size(); partition++)
        all.add(new TopicPartition(topic, partition));
      consumer.assign(all);
      consumer.seekToBeginning(all);
      until(
          () -> {
            for (ConsumerRecord<String, String> got : consumer.poll(POLL)) {
              check(got, record(topic, CODECS.get(got.partition()), (int) got.offset()));
              equal.merge(got.partition(), 1, Integer::sum);
            }
            int count = equal.values().stream().mapToInt(Integer::intValue).sum();
            return count == RECORDS * CODECS.size();
          });
    }
    for (int partition = 0; partition < CODECS.size(); partition++)
      say(CODECS.get(partition) + ": " + equal.get(partition) + " records are equal");
  }

  private ProducerRecord<String, String> record(String topic, String codec, int index) {
    String key = index % 3 == 0 ? null : "key " + index;
    String value = index % 7 == 0 ? null : codec + " value ".repeat(index % 20) + index;
    var record = new ProducerRecord<>(topic, CODECS.indexOf(codec), null, key, value);
    if (index % 2 == 0) record.headers().add("index", utf8(String.valueOf(index)));
    return record;
  }

  private static void check(
      ConsumerRecord<String, String> got, ProducerRecord<String, String> sent) {
    boolean isSame =
        Objects.equals(got.key(), sent.key())
            && Objects.equals(got.value(), sent.value())
            && got.headers().equals(sent.headers());
    if (!isSame) throw new IllegalStateException(got + " is not " + sent);
  }

  private void group(Admin admin) throws Exception {
    String topic = prefix + "shared";
    String group = prefix + "group";
    create(admin, topic, 4);
    write(topic, 0, 400);
    Map<String, Object> member = Map.of("group.id", group, "auto.offset.reset", "earliest");
    Set<String> seen = new TreeSet<>();
    try (KafkaConsumer<String, String> first = consumer(member)) {
      try (KafkaConsumer<String, String> second = consumer(member)) {
        first.subscribe(List.of(topic));
        second.subscribe(List.of(topic));
        until(
            () -> {
              take(first, seen);
              take(second, seen);
              return first.assignment().size() == 2 && second.assignment().size() == 2;
            });
        say("two members share: 2 and 2 partitions");
        until(
            () -> {
              take(first, seen);
              take(second, seen);
              return seen.size() == 400;
            });
        first.commitSync();
        second.commitSync();
        ConsumerGroupDescription described = describe(admin, group);
        say("group: " + described.groupState() + ", " + described.members().size() + " members");
      }
      until(
          () -> {
            take(first, seen);
            return first.assignment().size() == 4;
          });
      say("one member left: 4 partitions");
      write(topic, 400, 500);
      until(
          () -> {
            take(first, seen);
            return seen.size() == 500;
          });
      first.commitSync();
      say("read: " + seen.size() + " different records");
    }
    Collection<OffsetAndMetadata> committed =
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values();
    say("committed: " + committed.stream().mapToLong(OffsetAndMetadata::offset).sum());
    try (KafkaConsumer<String, String> again = consumer(member)) {
      again.subscribe(List.of(topic));
      write(topic, 500, 501);
      Set<String> rest = new HashSet<>();
      until(
          () -> {
            take(again, rest);
            return !rest.isEmpty();
          });
      say("goes on with: " + rest);
    }
    offsets(admin, topic);
    until(() -> describe(admin, group).members().isEmpty());
    admin.deleteConsumerGroups(List.of(group)).all().get();
    boolean isListed =
        admin.listGroups().all().get().stream().anyMatch(one -> one.groupId().equals(group));
    say("the group is deleted: " + !isListed);
  }

  private static ConsumerGroupDescription describe(Admin admin, String group) throws Exception {
    return admin.describeConsumerGroups(List.of(group)).all().get().get(group);
  }

  private void offsets(Admin admin, String topic) throws Exception {
    TopicPartition partition = new TopicPartition(topic, 0);
    long end = offset(admin, partition, OffsetSpec.latest());
    admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(50))).all().get();
    say("earliest: " + offset(admin, partition, OffsetSpec.earliest()));
    say("latest: " + end);
    say("by time: " + offset(admin, partition, OffsetSpec.forTimestamp(1)));
  }

  private static long offset(Admin admin, TopicPartition partition, OffsetSpec spec)
      throws Exception {
    return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
  }

  private void create(Admin admin, String topic, int partitions) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
    until(() -> admin.listTopics().names().get().contains(topic));
  }

  /** Record i goes to partition i modulo 4. */
  private void write(String topic, int from, int to) {
    try (KafkaProducer<String, String> producer = producer(Map.of())) {
      for (int index = from; index < to; index++)
        producer.send(new ProducerRecord<>(topic, index % 4, null, "record " + index));
    }
  }

  private KafkaProducer<String, String> producer(Map<String, Object> more) {
    Map<String, Object> config = new HashMap<>(more);
    config.put("bootstrap.servers", bootstrap);
    return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
  }

  private KafkaConsumer<String, String> consumer(Map<String, Object> more) {
    Map<String, Object> config = new HashMap<>(more);
    config.put("bootstrap.servers", bootstrap);
    config.put("heartbeat.interval.ms", 100);
    config.put("enable.auto.commit", false);
    return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
  }

  private static void take(KafkaConsumer<String, String> consumer, Set<String> seen) {
    consumer.poll(POLL).forEach(record -> seen.add(record.value()));
  }

  private static String failure(Future<?> future) throws InterruptedException {
    try {
      future.get();
      return "no failure";
    } catch (ExecutionException failed) {
      return failed.getCause().getClass().getSimpleName();
    }
  }

  private static void until(Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    Exception reason = null;
    while (System.nanoTime() < deadline) {
      try {
        if (condition.call()) return;
      } catch (ExecutionException notYet) {
        reason = notYet;
      }
      Thread.sleep(10);
    }
    throw new IllegalStateException("waited in vain", reason);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void say(String line) {
    System.out.println(line);
  }
}
