package millpond.interchange;

import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;

/**
 * Counts words and sums amounts. test/kafka/tally.ts is the same topology in Millpond.
 *
 * <p>Arguments: bootstrap, application id, topic of lines, topic of amounts, state directory, bytes
 * of the record cache, processing guarantee.
 */
final class Tally {
  private static final List<String> STORES = List.of("word-counts", "sums", "histories");

  private Tally() {}

  static List<String> run(String groupProtocol, String[] args) throws Exception {
    String lines = args[2];
    String amounts = args[3];
    var topics = List.of(List.of(lines, amounts), List.of("-word-counts-repartition"));
    return new Turn(groupProtocol, args[0], args[1])
        .withGuarantee(args[6])
        .run(topology(lines, amounts), topics, STORES, args[4], args[5]);
  }

  private static Topology topology(String lines, String amounts) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(lines, Consumed.with(Serdes.ByteArray(), Serdes.String()))
        .flatMapValues(line -> List.of(line.split(" ")))
        .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
        .count(Turn.store("word-counts", Serdes.Long()));
    KGroupedStream<String, Long> byKey =
        builder.stream(amounts, Consumed.with(Serdes.String(), Serdes.Long())).groupByKey();
    // An amount of 0 ends an account: a tombstone.
    byKey.reduce(
        (sum, amount) -> amount == 0 ? null : sum + amount, Turn.store("sums", Serdes.Long()));
    byKey.aggregate(
        () -> "",
        (key, amount, history) -> amount == 0 ? null : history + amount + ";",
        Turn.store("histories", Serdes.String()));
    return builder.build();
  }
}
