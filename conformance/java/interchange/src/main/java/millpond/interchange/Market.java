package millpond.interchange;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/**
 * A market with a store of nearly every kind: bids and asks that meet, prices that wait for late ones, lots
 * with their sellers, windows that close, and a ledger that writes its own stores. test/kafka/market.ts is the
 * same topology in Millpond.
 *
 * <p>Arguments: bootstrap, application id, state directory, processing guarantee, prefix of the topics.
 */
final class Market {
  private static final Serde<String> TEXT = Serdes.String();
  private static final Duration LATE = Duration.ofHours(1);
  private static final Duration TEN_SECONDS = Duration.ofSeconds(10);

  private final String prefix;
  private final StreamsBuilder builder = new StreamsBuilder();

  private Market(String prefix) {
    this.prefix = prefix;
  }

  static List<String> run(String groupProtocol, String[] args) throws Exception {
    String prefix = args[4];
    var inputs =
        List.of("bids", "asks", "prices", "lots").stream().map(name -> prefix + name).toList();
    var topics =
        List.of(
            inputs,
            List.of(
                prefix + "sellers", "-selling-subscription-registration-topic", "-by-word-repartition"),
            List.of("-selling-subscription-response-topic"));
    return new Turn(groupProtocol, args[0], args[1])
        .withGuarantee(args[3])
        .withValues("lots", "sellers", "sold-by", "people", "last", "best")
        .withWindowValues("sliding", "tumbling", "closing", "each", "hourly")
        .withSessions("visits", "spans")
        .run(new Market(prefix).topology(), topics, List.of(), args[2], "0");
  }

  private Topology topology() {
    KStream<String, String> bids = builder.stream(prefix + "bids", Consumed.with(TEXT, TEXT));
    KStream<String, String> asks = builder.stream(prefix + "asks", Consumed.with(TEXT, TEXT));
    joins(bids, asks);
    lots();
    windows(bids);
    bids.process(new Ledger(), Named.as("ledger")).to(prefix + "ledger", Produced.with(TEXT, TEXT));
    Properties optimized = new Properties();
    optimized.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE);
    return builder.build(optimized);
  }

  private void joins(KStream<String, String> bids, KStream<String, String> asks) {
    KTable<String, String> prices =
        builder.table(
            prefix + "prices",
            Consumed.with(TEXT, TEXT),
            Materialized.<String, String>as(versioned("prices")).withKeySerde(TEXT).withValueSerde(TEXT));
    bids.join(
            prices,
            (bid, price) -> bid + " of " + price,
            Joined.with(TEXT, TEXT, TEXT).withName("priced").withGracePeriod(Duration.ofSeconds(3)))
        .to(prefix + "priced", Produced.with(TEXT, TEXT));
    GlobalKTable<String, String> people =
        builder.globalTable(
            prefix + "people", Consumed.with(TEXT, TEXT), Turn.store("people", TEXT));
    bids.join(people, (who, bid) -> who, (bid, name) -> bid + " by " + name, Named.as("known"))
        .to(prefix + "known", Produced.with(TEXT, TEXT));
    JoinWindows near =
        JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(3), Duration.ofSeconds(2));
    StreamJoined<String, String, String> stores =
        StreamJoined.with(TEXT, TEXT, TEXT).withName("met").withStoreName("met");
    bids.outerJoin(asks, (bid, ask) -> bid + " and " + ask, near, stores)
        .to(prefix + "met", Produced.with(TEXT, TEXT));
    StreamJoined<String, String, String> inMemory =
        StreamJoined.with(TEXT, TEXT, TEXT)
            .withName("quick")
            .withStoreName("quick")
            .withDslStoreSuppliers(new BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers());
    bids.leftJoin(asks, (bid, ask) -> bid + " or " + ask, near, inMemory)
        .to(prefix + "quick", Produced.with(TEXT, TEXT));
  }

  /** Tables whose topics are their changelogs, a foreign-key join, and changes that are held back. */
  private void lots() {
    KTable<String, String> lots =
        builder.table(prefix + "lots", Consumed.with(TEXT, TEXT), Turn.store("lots", TEXT));
    KTable<String, String> sellers =
        builder.table(
            prefix + "sellers",
            Consumed.with(TEXT, TEXT),
            Materialized.<String, String>as(inMemory("sellers")).withKeySerde(TEXT).withValueSerde(TEXT));
    lots.join(
        sellers,
        lot -> lot.split(" ")[0],
        (lot, name) -> lot + " of " + name,
        TableJoined.as("selling"),
        Turn.store("sold-by", TEXT));
    lots.suppress(
            Suppressed.<String>untilTimeLimit(Duration.ofSeconds(5), Suppressed.BufferConfig.unbounded())
                .withName("settling"))
        .toStream()
        .to(prefix + "settled", Produced.with(TEXT, TEXT));
  }

  private void windows(KStream<String, String> bids) {
    KGroupedStream<String, String> byWord =
        bids.map((who, bid) -> KeyValue.pair(bid.split(" ")[0] + " " + who, bid))
            .repartition(
                Repartitioned.with(TEXT, TEXT).withName("by-word").withNumberOfPartitions(3))
            .groupByKey(Grouped.with(TEXT, TEXT));
    byWord
        .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(5), LATE))
        .count(
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("sliding")
                .withKeySerde(TEXT)
                .withValueSerde(Serdes.Long()));
    byWord
        .windowedBy(TimeWindows.ofSizeAndGrace(TEN_SECONDS, LATE))
        .reduce(
            (one, other) -> one + ", " + other,
            Materialized.<String, String>as(inMemoryWindows("tumbling"))
                .withKeySerde(TEXT)
                .withValueSerde(TEXT));
    byWord
        .windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(3), LATE))
        .aggregate(
            () -> "",
            (word, bid, seen) -> seen + bid + ";",
            (word, one, other) -> one + other,
            Materialized.<String, String>as(inMemorySessions("visits"))
                .withKeySerde(TEXT)
                .withValueSerde(TEXT));
    bids.groupByKey(Grouped.with(TEXT, TEXT))
        .windowedBy(TimeWindows.ofSizeAndGrace(TEN_SECONDS, Duration.ofSeconds(2)))
        .count(
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("closing")
                .withKeySerde(TEXT)
                .withValueSerde(Serdes.Long())
                // The last tick of the clocks would else be the end of all other windows.
                .withRetention(LATE))
        .suppress(
            Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName("final"))
        .toStream((window, count) -> window.key())
        .mapValues(String::valueOf)
        .to(prefix + "finals", Produced.with(TEXT, TEXT));
  }

  static VersionedBytesStoreSupplier versioned(String name) {
    return Stores.persistentVersionedKeyValueStore(name, LATE);
  }

  static KeyValueBytesStoreSupplier inMemory(String name) {
    return Stores.inMemoryKeyValueStore(name);
  }

  private static WindowBytesStoreSupplier inMemoryWindows(String name) {
    return Stores.inMemoryWindowStore(name, LATE.plus(TEN_SECONDS), TEN_SECONDS, false);
  }

  private static SessionBytesStoreSupplier inMemorySessions(String name) {
    return Stores.inMemorySessionStore(name, LATE.plus(TEN_SECONDS));
  }
}
