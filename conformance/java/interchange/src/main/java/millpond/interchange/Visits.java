package millpond.interchange;

import java.time.Duration;
import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Counts visits in windows, gathers them in sessions, tells of windows that have closed, and joins visits
 * with purchases. test/kafka/visits.ts is the same topology in Millpond.
 *
 * <p>Arguments: bootstrap, application id, topic of visits, topic of purchases, topic of counts, topic of
 * pairs, state directory, bytes of the record cache.
 */
final class Visits {
  private static final Duration LATE = Duration.ofHours(1);

  private Visits() {}

  static List<String> run(String groupProtocol, String[] args) throws Exception {
    var topics = List.of(List.of(args[2], args[3]));
    return new Turn(groupProtocol, args[0], args[1])
        .withWindows("in-window")
        .withSessions("in-session")
        .run(topology(args[2], args[3], args[4], args[5]), topics, List.of(), args[6], args[7]);
  }

  private static Topology topology(String visits, String purchases, String counts, String pairs) {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, String> pages =
        builder.stream(visits, Consumed.with(Serdes.String(), Serdes.String()));
    KGroupedStream<String, String> byVisitor = pages.groupByKey();
    byVisitor
        .windowedBy(
            TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), LATE)
                .advanceBy(Duration.ofSeconds(5)))
        .count(
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("in-window")
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.Long()));
    byVisitor
        .windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(3), LATE))
        .aggregate(
            () -> "",
            (visitor, page, seen) -> seen + page + ";",
            (visitor, one, other) -> one + other,
            Materialized.<String, String, SessionStore<Bytes, byte[]>>as("in-session")
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.String()));
    byVisitor
        .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), Duration.ofSeconds(2)))
        .emitStrategy(EmitStrategy.onWindowClose())
        .count(
            // With a cache, Kafka Streams begins to look for what has closed at the year 1970, minute by
            // minute: that takes many seconds.
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("closed")
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.Long())
                .withCachingDisabled()
                // Else time that makes a leap loses what has closed.
                .withRetention(LATE))
        .toStream((window, count) -> window.key() + "@" + window.window().start())
        .mapValues(String::valueOf)
        .to(counts, Produced.with(Serdes.String(), Serdes.String()));
    pages
        .leftJoin(
            builder.stream(purchases, Consumed.with(Serdes.String(), Serdes.String())),
            (page, article) -> page + " " + article,
            JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(2), Duration.ofSeconds(50)),
            StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String())
                .withName("bought")
                .withStoreName("bought"))
        .to(pairs, Produced.with(Serdes.String(), Serdes.String()));
    return builder.build();
  }
}
