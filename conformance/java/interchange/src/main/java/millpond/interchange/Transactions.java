package millpond.interchange;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What transactional Java clients do with a broker, told in lines that are the same on every broker:
 * commits, aborts, offsets within a transaction, fencing, a timeout, and what an administrator sees.
 *
 * <p>Arguments: bootstrap, and a prefix for the names of topics, groups and transactional ids.
 */
public final class Transactions {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration POLL = Duration.ofMillis(50);

  private final String bootstrap;
  private final String prefix;
  private final String input;
  private final String output;

  private Transactions(String bootstrap, String prefix) {
    this.bootstrap = bootstrap;
    this.prefix = prefix;
    this.input = prefix + "input";
    this.output = prefix + "output";
  }

  public static void main(String[] args) throws Exception {
    Transactions transactions = new Transactions(args[0], args[1]);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      transactions.create(admin);
      transactions.commitAndAbort(admin);
      transactions.copy(admin);
      transactions.fence(admin);
      transactions.timeOut(admin);
    }
  }

  private void create(Admin admin) throws Exception {
    for (String topic : List.of(input, output))
      admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get();
    until(() -> admin.listTopics().names().get().containsAll(List.of(input, output)));
  }

  private void commitAndAbort(Admin admin) throws Exception {
    String id = prefix + "writer";
    try (KafkaProducer<String, String> producer = producer(id, Map.of())) {
      producer.initTransactions();
      for (int round = 0; round < 6; round++) {
        producer.beginTransaction();
        for (int index = 0; index < 10; index++)
          producer.send(new ProducerRecord<>(input, index % 2, null, round + "." + index));
        producer.flush();
        if (round == 3) {
          TransactionDescription open = describe(admin, id);
          say("open: " + open.state() + ", " + open.topicPartitions().size() + " partitions");
          say("stable: " + (end(admin, IsolationLevel.READ_COMMITTED) < end(admin, IsolationLevel.READ_UNCOMMITTED)));
          say("listed: " + admin.listTransactions().all().get().stream()
              .filter(one -> one.transactionalId().equals(id)).map(TransactionListing::state).toList());
          say("producers: " + admin.describeProducers(List.of(new TopicPartition(input, 0))).all().get()
              .get(new TopicPartition(input, 0)).activeProducers().stream()
              .filter(one -> one.currentTransactionStartOffset().isPresent()).count());
        }
        if (round % 2 == 0) producer.commitTransaction();
        else producer.abortTransaction();
      }
    }
    until(() -> end(admin, IsolationLevel.READ_COMMITTED) == end(admin, IsolationLevel.READ_UNCOMMITTED));
    say("ended: " + describe(admin, id).state());
    say("committed: " + read(input, "read_committed", 30));
    say("all: " + read(input, "read_uncommitted", 60));
  }

  /** Reads, writes and commits what it has read in one transaction; the first attempt is aborted. */
  private void copy(Admin admin) throws Exception {
    String group = prefix + "copier";
    String id = prefix + "copier";
    Map<String, Object> member =
        Map.of("group.id", group, "auto.offset.reset", "earliest", "isolation.level", "read_committed");
    try (KafkaConsumer<String, String> consumer = consumer(member);
        KafkaProducer<String, String> producer = producer(id, Map.of())) {
      producer.initTransactions();
      consumer.subscribe(List.of(input));
      List<ConsumerRecord<String, String>> taken = new ArrayList<>();
      until(
          () -> {
            consumer.poll(POLL).forEach(taken::add);
            return taken.size() == 30;
          });
      for (boolean commits : new boolean[] {false, true}) {
        producer.beginTransaction();
        for (ConsumerRecord<String, String> one : taken)
          producer.send(new ProducerRecord<>(output, one.partition(), null, "copy of " + one.value()));
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : consumer.assignment())
          offsets.put(partition, new OffsetAndMetadata(consumer.position(partition)));
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        if (commits) producer.commitTransaction();
        else producer.abortTransaction();
        // The answer to a commit comes before its markers are written.
        until(() -> describe(admin, id).state().toString().startsWith("Complete"));
        say((commits ? "committed" : "aborted") + ", offsets: " + offsets(admin, group));
      }
    }
    say("copied: " + read(output, "read_committed", 30));
  }

  private static long offsets(Admin admin, String group) throws Exception {
    return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values().stream()
        .filter(one -> one != null)
        .mapToLong(OffsetAndMetadata::offset)
        .count();
  }

  private void fence(Admin admin) throws Exception {
    String id = prefix + "rival";
    try (KafkaProducer<String, String> first = producer(id, Map.of());
        KafkaProducer<String, String> second = producer(id, Map.of())) {
      first.initTransactions();
      first.beginTransaction();
      first.send(new ProducerRecord<>(output, 0, null, "from the first")).get();
      second.initTransactions();
      second.beginTransaction();
      second.send(new ProducerRecord<>(output, 0, null, "from the second")).get();
      say("the first: " + failure(first::commitTransaction));
      second.commitTransaction();
      second.beginTransaction();
      second.send(new ProducerRecord<>(output, 0, null, "fenced")).get();
      admin.fenceProducers(List.of(id)).all().get();
      say("the second: " + failure(second::commitTransaction));
    }
    say("rivals: " + read(output, "read_committed", 31));
  }

  private void timeOut(Admin admin) throws Exception {
    String id = prefix + "slow";
    try (KafkaProducer<String, String> slow = producer(id, Map.of("transaction.timeout.ms", 500))) {
      slow.initTransactions();
      slow.beginTransaction();
      slow.send(new ProducerRecord<>(output, 1, null, "too late")).get();
      until(() -> describe(admin, id).state().toString().equals("CompleteAbort"));
      say("the slow one: " + failure(slow::commitTransaction));
    }
    try (KafkaProducer<String, String> next = producer(id, Map.of())) {
      next.initTransactions();
      next.beginTransaction();
      next.send(new ProducerRecord<>(output, 1, null, "in time")).get();
      next.commitTransaction();
    }
    say("in time: " + read(output, "read_committed", 32));
    say("too long: " + failure(() -> {
      try (KafkaProducer<String, String> long_ = producer(prefix + "long", Map.of("transaction.timeout.ms", 900_001))) {
        long_.initTransactions();
      }
    }));
  }

  /** Reads both partitions to their ends; how many records, or what is wrong. */
  private String read(String topic, String isolation, int expected) throws Exception {
    List<TopicPartition> all = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
    List<String> values = new ArrayList<>();
    try (KafkaConsumer<String, String> consumer = consumer(Map.of("isolation.level", isolation))) {
      consumer.assign(all);
      consumer.seekToBeginning(all);
      Map<TopicPartition, Long> ends = consumer.endOffsets(all);
      until(
          () -> {
            consumer.poll(POLL).forEach(record -> values.add(record.value()));
            return all.stream().allMatch(one -> consumer.position(one) >= ends.get(one));
          });
    }
    long different = values.stream().distinct().count();
    return values.size() == expected && different == expected
        ? expected + " different records"
        : values.size() + " records, " + different + " different: " + values;
  }

  private long end(Admin admin, IsolationLevel isolation) throws Exception {
    TopicPartition partition = new TopicPartition(input, 0);
    return admin
        .listOffsets(Map.of(partition, OffsetSpec.latest()), new ListOffsetsOptions(isolation))
        .partitionResult(partition)
        .get()
        .offset();
  }

  private static TransactionDescription describe(Admin admin, String id) throws Exception {
    return admin.describeTransactions(List.of(id)).description(id).get();
  }

  private KafkaProducer<String, String> producer(String id, Map<String, Object> more) {
    Map<String, Object> config = new HashMap<>(more);
    config.put("bootstrap.servers", bootstrap);
    config.put("transactional.id", id);
    return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
  }

  private KafkaConsumer<String, String> consumer(Map<String, Object> more) {
    Map<String, Object> config = new HashMap<>(more);
    config.put("bootstrap.servers", bootstrap);
    config.put("heartbeat.interval.ms", 100);
    config.put("enable.auto.commit", false);
    return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
  }

  private interface Work {
    void run() throws Exception;
  }

  private static String failure(Work work) {
    try {
      work.run();
      return "no failure";
    } catch (Exception failed) {
      Throwable shown = failed instanceof ExecutionException ? failed.getCause() : failed;
      return shown.getClass().getSimpleName();
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

  private static void say(String line) {
    System.out.println(line);
  }
}
